import { assert, assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import {
  type ArrayMetadata,
  encodeShard,
  MemoryStore,
  parseShardLayout,
  type ShardLayout,
  type Store,
  type StoreKey,
} from "../../mod.ts";
import { registerCodecs, withZarrParts } from "../../zarrita.ts";
import { slowCoordinates } from "../shards/slow_shard.ts";
import { encodeJson } from "../support/documents.ts";
import { arrayMetadata } from "../support/metadata.ts";
import { anyElements, chunkOf, type DataType } from "./elements.ts";
import { sharding } from "./sharded_array.ts";

registerCodecs(zarr);

/** An array to store: chunks in any number of levels of shards. */
export interface Stored {
  shape: number[];
  dataType: string;
  /** The shapes of shards, of shards in them, and last of the chunks. */
  chunkShapes: number[][];
  codecs: unknown[];
  /** The location of the index at each level. */
  locations?: readonly ("start" | "end")[];
  /** The text of the fill value in the document. */
  fill?: string;
}

/** The document of an array. */
export function documentOf(
  { shape, dataType, chunkShapes, codecs, locations = [], fill = "0" }: Stored,
): Uint8Array {
  const inner = chunkShapes.slice(1).reduceRight<unknown[]>(
    (codecs, chunkShape, level) => [
      sharding({
        inner: chunkShape,
        location: locations[level] ?? "end",
        codecs,
      }),
    ],
    codecs,
  );
  const metadata: ArrayMetadata = arrayMetadata({
    shape,
    data_type: dataType,
    chunk_grid: {
      name: "regular",
      configuration: { chunk_shape: chunkShapes[0] },
    },
    codecs: inner,
    fill_value: "FILL",
  });
  const text = new TextDecoder().decode(encodeJson(metadata));
  assert(text.includes('"FILL"'));
  return new TextEncoder().encode(text.replace('"FILL"', fill));
}

type Opened = zarr.Array<zarr.DataType, zarr.Readable>;

/** Opens an array in a new wrapper. */
export async function openArray(
  store: object,
  path = "",
  wrap: (store: Store) => object = withZarrParts,
): Promise<Opened> {
  const root = zarr.root(wrap(store as Store) as zarr.Readable).resolve(path);
  return await zarr.open(root, { kind: "array" }) as Opened;
}

/** Stores an array of random elements; with `isAbsent`, without some of its chunks. */
export async function storeArray(
  stored: Stored,
  {
    path = "",
    seed = 1,
    isAbsent = () => false,
    store = new MemoryStore(),
  }: {
    path?: string;
    seed?: number;
    isAbsent?: (coordinates: readonly number[]) => boolean;
    store?: MemoryStore;
  } = {},
): Promise<MemoryStore> {
  const base = path === "" ? "" : `/${path}`;
  await store.set(`${base}/zarr.json` as StoreKey, documentOf(stored));
  const chunks = await encodedChunks(stored, seed);
  for (const coordinates of coordinatesIn(stored)) {
    if (isAbsent(coordinates)) chunks.delete(coordinates.join("/"));
  }
  const layouts = layoutsOf(stored);
  const counts = stored.shape
    .map((length, i) => Math.ceil(length / stored.chunkShapes[0]![i]!));
  for (const coordinates of slowCoordinates(counts)) {
    const bytes = shardOf(coordinates, layouts, chunks);
    const key = `${base}/${["c", ...coordinates].join("/")}` as StoreKey;
    if (bytes !== undefined) await store.set(key, bytes);
  }
  return store;
}

/** The bytes of all chunks, as zarrita writes them into an array without shards. */
async function encodedChunks(
  stored: Stored,
  seed: number,
): Promise<Map<string, Uint8Array>> {
  const store = new MemoryStore();
  const { chunkShapes } = stored;
  const plain = { ...stored, chunkShapes: chunkShapes.slice(-1) };
  await store.set("/zarr.json", documentOf(plain));
  const array = await openArray(store);
  const elements = randomChunk(stored, seed) as never;
  await zarr.set(array as never, null, elements);
  const chunks = new Map<string, Uint8Array>();
  for await (const key of store.list("/c")) {
    chunks.set(key.slice("/c/".length), (await store.get(key))!);
  }
  return chunks;
}

function layoutsOf({ chunkShapes, locations = [] }: Stored): ShardLayout[] {
  return chunkShapes.slice(1).map((inner, level) =>
    parseShardLayout(
      sharding({ inner, location: locations[level] ?? "end" }),
      chunkShapes[level]!,
    )
  );
}

/** The bytes of a shard, or of a chunk. */
function shardOf(
  coordinates: readonly number[],
  [layout, ...layouts]: readonly ShardLayout[],
  chunks: ReadonlyMap<string, Uint8Array>,
): Uint8Array | undefined {
  if (layout === undefined) return chunks.get(coordinates.join("/"));
  const { chunksPerShard } = layout;
  const inner = slowCoordinates(chunksPerShard).map((within) =>
    shardOf(
      within.map((n, i) => coordinates[i]! * chunksPerShard[i]! + n),
      layouts,
      chunks,
    )
  );
  return inner.every((chunk) => chunk === undefined)
    ? undefined
    : encodeShard(inner, layout);
}

/** The grid coordinates of all chunks. */
export function coordinatesIn({ shape, chunkShapes }: Stored): number[][] {
  return shape.reduce<number[][]>(
    (all, length, i) =>
      all.flatMap((coordinates) =>
        Array.from(
          { length: Math.ceil(length / chunkShapes.at(-1)![i]!) },
          (_, n) => [...coordinates, n],
        )
      ),
    [[]],
  );
}

function randomChunk({ shape, dataType }: Stored, seed: number): unknown {
  const count = shape.reduce((product, n) => product * n, 1);
  if (dataType === "float16") {
    const bits = anyElements("uint16", count, seed);
    const { data, stride } = chunkOf(bits, "uint16", shape);
    const { buffer } = data as unknown as Uint16Array<ArrayBuffer>;
    return { data: new Float16Array(buffer), shape, stride };
  }
  const type = dataType as DataType;
  const elements = anyElements(type, count, seed);
  return shape.length === 0 ? elements[0] : chunkOf(elements, type, shape);
}

/** A chunk of a typed array, or of an array of zarrita's own. */
export interface ReadChunk {
  readonly data: {
    readonly buffer: ArrayBufferLike;
    readonly byteOffset: number;
    readonly byteLength: number;
    readonly length: number;
    get?(place: number): unknown;
  };
  readonly shape: number[];
  readonly stride: number[];
}

/** Asserts that two reads have the same elements, bit for bit, in arrays of one class. */
export function assertSameRead(
  found: unknown,
  expected: unknown,
  message?: string,
): void {
  if (typeof expected !== "object" || expected === null) {
    return assertEquals(found, expected, message);
  }
  const [a, b] = [found, expected] as ReadChunk[];
  assertEquals(Object.keys(a!).sort(), Object.keys(b!).sort(), message);
  assertEquals(a!.shape, b!.shape, message);
  assertEquals(a!.stride, b!.stride, message);
  assertEquals(a!.data.constructor, b!.data.constructor, message);
  if (Array.isArray(b!.data)) return assertEquals(a!.data, b!.data, message);
  assertEquals(bitsOf(a!), bitsOf(b!), message);
}

function bitsOf({ data }: ReadChunk): Uint8Array {
  const { buffer, byteOffset, byteLength } = data;
  return new Uint8Array(new Uint8Array(buffer, byteOffset, byteLength));
}

/** A codec in metadata. */
export function named(
  name: string,
  configuration: object = {},
): { name: string; configuration: object } {
  return { name, configuration };
}
