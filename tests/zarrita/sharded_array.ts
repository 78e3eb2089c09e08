import * as zarr from "zarrita";
import {
  type ArrayMetadata,
  createArrayChunks,
  encodeShard,
  type EncodeShardOptions,
  MemoryStore,
  parseShardLayout,
  type ShardLayout,
  type Store,
  type StoreKey,
} from "../../mod.ts";
import { withZarrParts } from "../../zarrita.ts";
import { countingBytes } from "../support/bytes.ts";
import { encodeJson } from "../support/documents.ts";
import { arrayMetadata } from "../support/metadata.ts";

/** The metadata of shards of two inner chunks of two elements each. */
export interface Sharding {
  location?: "start" | "end";
  hasChecksum?: boolean;
  /** The codecs of the inner chunks. */
  codecs?: unknown[];
  inner?: number[];
}

export function sharding(
  { location = "end", hasChecksum = true, codecs = ["bytes"], inner = [2] }:
    Sharding = {},
): { name: string; configuration: Record<string, unknown> } {
  return {
    name: "sharding_indexed",
    configuration: {
      chunk_shape: inner,
      codecs,
      index_codecs: [
        { name: "bytes", configuration: { endian: "little" } },
        ...hasChecksum ? [{ name: "crc32c" }] : [],
      ],
      index_location: location,
    },
  };
}

/** An array of 12 elements in three shards, of two inner chunks of two elements each. */
export function shardedMetadata(
  changes: Record<string, unknown> = {},
  options: Sharding = {},
): ArrayMetadata {
  return arrayMetadata({
    shape: [12],
    chunk_grid: { name: "regular", configuration: { chunk_shape: [4] } },
    codecs: [sharding(options)],
    ...changes,
  });
}

/** The layout of the shards of an array. */
export function layoutOf(metadata: ArrayMetadata): ShardLayout {
  const { chunk_shape } = metadata.chunk_grid.configuration!;
  return parseShardLayout(metadata.codecs[0], chunk_shape as number[]);
}

/** A store with an array in three shards; element `i` is `i + 1`. */
export async function shardedStore(
  metadata: ArrayMetadata = shardedMetadata(),
  options: EncodeShardOptions = {},
): Promise<MemoryStore> {
  const stored = new MemoryStore();
  await stored.set("/zarr.json", encodeJson(metadata));
  for (const shard of [0, 1, 2]) {
    const chunks = [1, 3].map((first) => countingBytes(2, 4 * shard + first));
    await stored.set(
      `/c/${shard}`,
      encodeShard(chunks, layoutOf(metadata), options),
    );
  }
  return stored;
}

export type Writable = Store & Required<Pick<Store, "set">>;

/** Opens an array through a new wrapper. */
export async function openIn(
  store: Store,
  path = "",
): Promise<zarr.Array<"uint8", ReturnType<typeof withZarrParts<Writable>>>> {
  const root = zarr.root(withZarrParts(store as Writable)).resolve(path);
  const array = await zarr.open(root, { kind: "array" });
  if (!array.is("uint8")) throw new TypeError(`Found ${array.dtype}`);
  return array;
}

/** The elements of an array, read through a new wrapper. */
export async function readAnew(store: Store): Promise<number[]> {
  return Array.from((await zarr.get(await openIn(store))).data);
}

/** Numbers from 1 on, as the arrays of these tests hold them, some of them changed. */
export function numbers(
  length: number,
  changes: Record<number, number> = {},
): number[] {
  return Array.from({ length }, (_, i) => changes[i] ?? i + 1);
}

/** Elements along one dimension, as zarrita's `set` takes them. */
export function row(...elements: number[]): zarr.Chunk<"uint8"> {
  return {
    data: new Uint8Array(elements),
    shape: [elements.length],
    stride: [1],
  };
}

/** The log without the requests for the array's document. */
export function chunkRequests(log: readonly string[]): string[] {
  return log.filter((request) => !request.endsWith("/zarr.json"));
}

/** All values of a store but the array's document. */
export async function chunksOf(
  store: MemoryStore,
): Promise<Record<StoreKey, number[]>> {
  const values: Record<StoreKey, number[]> = {};
  for (const key of (await Array.fromAsync(store.list())).sort()) {
    if (key.endsWith("/zarr.json")) continue;
    values[key] = Array.from((await store.get(key))!);
  }
  return values;
}

/** An empty array of 4 × 6 elements, in shards of 4 × 4 and inner chunks of 2 × 2. */
export async function squareShards() {
  const stored = new MemoryStore();
  const metadata = arrayMetadata({
    shape: [4, 6],
    chunk_grid: { name: "regular", configuration: { chunk_shape: [4, 4] } },
    codecs: [sharding({ inner: [2, 2] })],
  });
  await createArrayChunks(stored, "", metadata);
  return { stored, array: await openIn(stored) };
}
