import {
  ArrayChunks,
  type ChunkLevel,
  chunksOfGrid,
  type ParsedArray,
} from "../arrays/mod.ts";
import { checkFileRecord, isAdopted } from "../adopt/mod.ts";
import { CHECKSUM_SIZE } from "../checksum/mod.ts";
import {
  checkOptions,
  FUNCTION,
  inDocument,
  MetadataError,
  type OptionRules,
  sentence,
  SIGNAL,
  TEXT,
} from "../errors/mod.ts";
import { formatZarrJson, isWhole, type Members } from "../metadata/mod.ts";
import { encodeBase64 } from "../runtime/mod.ts";
import { type ChunkBytes, innerChunksOf, readIndex } from "../shards/mod.ts";
import {
  describeStore,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";
import { partsOfChunk, type StoredPart } from "./stored_chunks.ts";
import {
  documentKey,
  NODE_OPTIONS,
  type NodeLocation,
  type NodeSelection,
  pathIn,
  type Place,
  placeOf,
  readNodes,
} from "../hierarchy/mod.ts";

/**
 * Options of {@linkcode references}.
 *
 * @example
 * ```ts
 * import type { ReferencesOptions } from "@zarr-parts/zarr-parts/jobs";
 *
 * const options: ReferencesOptions = { urlPrefix: "https://example.com/dem.zarr/" };
 * ```
 */
export interface ReferencesOptions extends NodeSelection, StoreOptions {
  /**
   * The prefix that makes a URL of each key of the store, such as
   * `https://example.com/dem.zarr/` or `file:///data/dem.zarr/`.
   */
  readonly urlPrefix: string;
  /**
   * The greatest length in bytes of a chunk or inner chunk that is written into the
   * references where it lies in several objects. Default: 4096.
   */
  readonly inlineLimit?: number | undefined;
  /** Called with the number of references to chunks, as it grows. */
  readonly onProgress?: ((references: number) => void) | undefined;
}

const OPTIONS: OptionRules<ReferencesOptions> = {
  urlPrefix: TEXT,
  inlineLimit: {
    expected: "a whole number of bytes",
    isValid: (value) => isWhole(value),
  },
  ...NODE_OPTIONS,
  onProgress: FUNCTION,
  signal: SIGNAL,
};

/** The number of chunks that are looked up at once. */
const AT_ONCE = 16;

/**
 * Writes references to the chunks of an array or a group, in the format of kerchunk, version
 * 1: a JSON document by which other programs read the data where it is, such as zarr-python
 * through fsspec, xarray, GDAL and VirtualiZarr.
 *
 * The inner chunks of shards become chunks. Absent ones have no reference, and those that lie
 * outside the array are left out. Bytes that lie in several objects are written into the
 * document. The references are those of the moment: who reads a chunk that is written later
 * may get wrong bytes.
 *
 * @param location The store or a path in it.
 * @param options `urlPrefix`: what comes before keys in URLs; `inlineLimit`; `only` and
 * `exclude`: the nodes of a group; `onProgress`; `signal`.
 * @returns The document, in UTF-8. It is made as it is read, in constant memory.
 * @throws {TypeError | RangeError} If an option has a wrong value.
 *
 * The stream fails with a `MetadataError` for an array that has no references, with a
 * `RangeError` for a chunk in several objects that is too long, and with the errors of
 * `ArrayChunks` for damaged chunks.
 *
 * @example
 * ```ts
 * import { FileSystemStore } from "@zarr-parts/zarr-parts";
 * import { references } from "@zarr-parts/zarr-parts/jobs";
 * import { assertEquals } from "@std/assert";
 *
 * const store = new FileSystemStore("tests/fixtures/dem.zarr");
 * const stream = references(store, { urlPrefix: "https://example.com/dem.zarr/" });
 * const { version, refs } = await new Response(stream).json();
 * assertEquals(version, 1);
 * assertEquals(refs["c/0/0"][0], "https://example.com/dem.zarr/c/0/0");
 * ```
 */
export function references(
  location: Store | NodeLocation,
  options: ReferencesOptions,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const place = placeOf(location);
  checkOptions(options, OPTIONS, "references");
  if (typeof options.urlPrefix !== "string") {
    throw new TypeError(
      sentence`Expected the option "urlPrefix", such as "https://example.com/dem.zarr/", found ${options.urlPrefix}`,
    );
  }
  return ReadableStream.from(documentOf(place, options))
    .pipeThrough(new TextEncoderStream());
}

async function* documentOf(
  place: Place,
  options: ReferencesOptions,
): AsyncGenerator<string> {
  const { nodes } = await readNodes(place, options);
  // Nothing is written of a group of which an array has no references.
  const arrays = nodes.map(({ path, document, array }) =>
    array && inDocument(
      documentKey(place, path),
      describeStore(place.store),
      () => referArray(place, path, document as Members, array),
    )
  );
  yield '{"version":1,"refs":{';
  let separator = "\n";
  let count = 0;
  for (const [i, node] of nodes.entries()) {
    const array = arrays[i];
    const folder = node.path === "" ? "" : `${node.path}/`;
    const text = new TextDecoder().decode(
      formatZarrJson(array?.document ?? plainGroup(node.document), {
        nonFinite: "strings",
      }),
    );
    yield `${separator}${JSON.stringify(`${folder}zarr.json`)}:${
      JSON.stringify(text)
    }`;
    separator = ",\n";
    if (array === undefined) continue;
    for await (const found of referencesOf(array, options)) {
      for (const [coordinates, reference] of found) {
        const key = `${folder}${["c", ...coordinates].join("/")}`;
        yield `${separator}${JSON.stringify(key)}:${JSON.stringify(reference)}`;
      }
      count += found.length;
      options.onProgress?.(count);
    }
  }
  yield "\n}}\n";
}

/** A URL with the place of the bytes, or the bytes in Base64. */
type Reference =
  | readonly [url: string, offset: number, length: number]
  | string;

/** The grid coordinates of a chunk, and where it is. */
type ChunkReference = readonly [coordinates: readonly number[], Reference];

/** Consolidated metadata would repeat the documents of all arrays. */
function plainGroup(document: unknown): unknown {
  const { consolidated_metadata: _, ...group } = document as Members;
  return group;
}

/** An array whose chunks are referred to: its innermost chunks. */
interface ReferredArray {
  readonly store: Store;
  readonly chunks: ArrayChunks;
  readonly array: ParsedArray;
  /** The document of an array whose chunks are the innermost chunks of this one. */
  readonly document: Members;
  /** The shape of the innermost chunks, by the dimensions of the array. */
  readonly innerShape: readonly number[];
}

/** @throws {MetadataError} If inner chunks cannot be decoded one by one. */
function referArray(
  { store, root }: Place,
  path: string,
  document: Members,
  array: ParsedArray,
): ReferredArray {
  const { levels, innermost } = array;
  let shape = innermost.shape;
  for (const { shard, path } of levels.toReversed()) {
    if (shard === undefined) continue;
    assertSeparable(shard.before, ["transpose"], path);
    assertSeparable(shard.after, ["crc32c"], path);
    shape = inOuterOrder(shape, shard.order);
  }
  const { storage_transformers: _, ...rest } = document;
  return {
    ...{ store, array, innerShape: shape },
    chunks: new ArrayChunks(store, pathIn({ store, root }, path), array),
    document: {
      ...rest,
      chunk_grid: { name: "regular", configuration: { chunk_shape: shape } },
      chunk_key_encoding: {
        name: "default",
        configuration: { separator: "/" },
      },
      codecs: levels.length === 1
        ? rest.codecs
        : levels.flatMap(({ shard, codecs }) => shard?.before ?? codecs),
    },
  };
}

/** The references of all chunks, some at a time. */
async function* referencesOf(
  array: ReferredArray,
  options: ReferencesOptions,
): AsyncGenerator<ChunkReference[]> {
  const { store, chunks } = array;
  const stored = typeof store.list === "function"
    ? chunks.list(options)
    : chunksOfGrid(chunks.gridShape);
  let batch: Promise<ChunkReference[]>[] = [];
  for await (const coordinates of stored) {
    batch.push(referencesOfChunk(array, coordinates, options));
    if (batch.length < AT_ONCE) continue;
    yield (await Promise.all(batch)).flat();
    batch = [];
  }
  yield (await Promise.all(batch)).flat();
}

/** The references of a stored chunk, or of the inner chunks of a shard. */
async function referencesOfChunk(
  { store, chunks, array, innerShape }: ReferredArray,
  coordinates: readonly number[],
  options: ReferencesOptions,
): Promise<ChunkReference[]> {
  const size = await chunks.size(coordinates, options);
  if (size === undefined) return [];
  const { parts, chunk } = array;
  const key = chunks.key(coordinates);
  if (chunk.shard && isAdopted(parts, chunk.shard.layout)) {
    await checkFileRecord({ store, key }, options);
  }
  const objects = await partsOfChunk(store, key, parts, size, options);
  const value: ChunkBytes = {
    size,
    read: (range) => chunks.getRange(coordinates, range, options),
  };
  const found: ChunkReference[] = [];
  for await (const inner of innermostOf(value, chunk, key)) {
    const start = inner.first.map((at, i) =>
      coordinates[i]! * chunk.shape[i]! + at
    );
    if (start.some((at, i) => at >= array.shape[i]!)) continue;
    found.push([
      start.map((at, i) => at / innerShape[i]!),
      await referenceTo(inner, key, value, objects, options),
    ]);
  }
  return found;
}

/** The reference to a range of a chunk. */
async function referenceTo(
  { offset, length }: InnermostChunk,
  key: StoreKey,
  chunk: ChunkBytes,
  objects: readonly StoredPart[],
  { urlPrefix, inlineLimit = 4096 }: ReferencesOptions,
): Promise<Reference> {
  const object = objects.find((each) =>
    length > 0 && offset >= each.offset &&
    offset + length <= each.offset + each.length
  );
  if (object) {
    const path = object.key.slice(1);
    const url = /^https?:/.test(urlPrefix)
      ? path.split("/").map(encodeURIComponent).join("/")
      : path;
    return [urlPrefix + url, offset - object.offset, length];
  }
  if (length > inlineLimit) {
    throw new RangeError(
      sentence`${length} bytes at ${offset} of chunk ${key} lie in several objects, where at most ${inlineLimit} are written into references; expected a greater inlineLimit, or an array by zarr-parts convert --plain`,
    );
  }
  const bytes = await chunk.read({ offset, length });
  return `base64:${encodeBase64(bytes ?? new Uint8Array())}`;
}

/** An innermost chunk, and where it is in a stored chunk: its bytes, and its first element. */
interface InnermostChunk {
  readonly offset: number;
  readonly length: number;
  readonly first: readonly number[];
}

/** The innermost chunks that are present in a chunk; the chunk itself if it is no shard. */
async function* innermostOf(
  chunk: ChunkBytes,
  { shape, shard }: ChunkLevel,
  key: string,
): AsyncGenerator<InnermostChunk> {
  if (shard === undefined) {
    yield { offset: 0, length: chunk.size, first: shape.map(() => 0) };
    return;
  }
  const size = chunk.size - CHECKSUM_SIZE * shard.after.length;
  const value = { size, read: chunk.read };
  const index = await readIndex(value, shard.layout, key);
  if (index === undefined) return;
  for (const inner of innerChunksOf(value, index, shard.layout)) {
    for await (const innermost of innermostOf(inner, shard.inner, key)) {
      const first = inner.coordinates.map((c, i) =>
        c * shard.inner.shape[i]! + innermost.first[i]!
      );
      yield {
        offset: inner.offset + innermost.offset,
        length: innermost.length,
        first: inOuterOrder(first, shard.order),
      };
    }
  }
}

/** Returns numbers by the dimensions of a chunk, from those by the dimensions of its shard. */
function inOuterOrder(
  numbers: readonly number[],
  order: readonly number[],
): number[] {
  const outer = new Array<number>(numbers.length);
  for (const [i, number] of numbers.entries()) outer[order[i]!] = number;
  return outer;
}

/** Refuses codecs around shards by which inner chunks cannot be decoded one by one. */
function assertSeparable(
  codecs: readonly { readonly name: string }[],
  known: readonly string[],
  path: string,
): void {
  const other = codecs.find(({ name }) => !known.includes(name));
  if (other === undefined) return;
  throw new MetadataError(
    sentence`References lead to inner chunks, which the codec ${other.name} around the shards does not leave as they are; expected ${
      known[0]
    } alone, or an array by zarr-parts convert --plain --shards none`,
    path,
  );
}
