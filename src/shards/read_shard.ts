import { describe } from "../errors/mod.ts";
import {
  assertComplete,
  assertEntries,
  assertExtents,
  coordinatesInShard,
  decodeShardIndex,
  type Extent,
  indexExtent,
  ofShard,
  placeInShard,
  readShardIndex,
  type ReadShardRange,
  type ShardIndex,
} from "./shard_index.ts";
import type { ShardLayout } from "./shard_layout.ts";

/** The bytes of a chunk or of an inner chunk, which are read by ranges. */
export interface ChunkBytes {
  readonly size: number;
  /** Reads a range that lies in the bytes; resolves to `undefined` if the chunk is absent by now. */
  read(range: Extent): Promise<Uint8Array | undefined>;
}

/** An inner chunk that is present. Where it is a shard itself, it is walked likewise. */
export interface InnerChunk extends ChunkBytes {
  /** The place of the inner chunk in the index. */
  readonly place: number;
  /** The grid coordinates of the inner chunk in its shard. */
  readonly coordinates: readonly number[];
  /** Where the inner chunk begins in its shard. */
  readonly offset: number;
}

/**
 * Reads the index of a shard, or of a shard nested in one, and checks it against the length
 * of the shard.
 *
 * @param shard The shard, without checksums behind it.
 * @param key The key of the outermost shard, for errors.
 * @param of Makes the text that names the shard in messages.
 * @returns The index; `undefined` if the shard is absent by now.
 * @throws {DamageError} If the shard is shorter than its index, or the index is not valid.
 */
export async function readIndex(
  shard: ChunkBytes,
  layout: ShardLayout,
  key: string,
  of: () => string = () => ofShard(key),
): Promise<ShardIndex | undefined> {
  const bytes = await shard.read(indexExtent(layout, shard.size, key, of));
  if (bytes === undefined) return undefined;
  const index = decodeShardIndex(bytes, layout, key);
  assertExtents(index, layout, shard.size, key, of);
  return index;
}

/** The inner chunks of a shard that are present, in C order. */
export function* innerChunksOf(
  shard: ChunkBytes,
  index: ShardIndex,
  layout: ShardLayout,
): Generator<InnerChunk> {
  for (const [place, entry] of index.entries()) {
    if (entry === undefined) continue;
    const { offset, length } = entry;
    yield {
      place,
      coordinates: coordinatesInShard(place, layout),
      offset,
      size: length,
      read: (range) =>
        shard.read({ offset: offset + range.offset, length: range.length }),
    };
  }
}

/**
 * Takes a whole shard apart: the inverse of `encodeShard`.
 *
 * @returns The inner chunks in C order, as views of the shard; `undefined` for absent ones.
 * @throws {DamageError} If the shard is shorter than its index, or the index is not valid.
 */
export function decodeShard(
  shard: Uint8Array,
  layout: ShardLayout,
  key: string,
): (Uint8Array | undefined)[] {
  const { offset, length } = indexExtent(layout, shard.length, key);
  const bytes = shard.subarray(offset, offset + length);
  const index = decodeShardIndex(bytes, layout, key);
  assertExtents(index, layout, shard.length, key);
  return index.map((entry) =>
    entry && shard.subarray(entry.offset, entry.offset + entry.length)
  );
}

/**
 * Reads one inner chunk of a shard with two requests, for the index and for the
 * chunk.
 *
 * @param read Reads a range of the shard.
 * @param layout The layout of the shard.
 * @param coordinates The grid coordinates of the inner chunk in the shard.
 * @param options `index`: the shard's index, if it has been read before; `key`: the
 * shard's key, for messages.
 * @returns The chunk, encoded, or `undefined` if it or the shard is absent.
 * @throws {RangeError} If the coordinates are outside the shard, or the given index
 * does not have the entries of the layout.
 * @throws {DamageError} If the stored index is not valid, or the chunk does not lie in
 * the shard.
 * @throws {ChecksumError} If the checksum at the end of the index is wrong.
 *
 * @example
 * ```ts
 * import { encodeShard, MemoryStore, readInnerChunk } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const layout = {
 *   chunksPerShard: [1, 2],
 *   indexLocation: "end",
 *   indexEndian: "little",
 *   indexHasChecksum: true,
 * } as const;
 * const store = new MemoryStore();
 * const chunks = [new Uint8Array([1, 2]), new Uint8Array([3])];
 * await store.set("/c/0/0", encodeShard(chunks, layout));
 *
 * const chunk = await readInnerChunk(
 *   (range) => store.getRange("/c/0/0", range),
 *   layout,
 *   [0, 1],
 * );
 * assertEquals(chunk, new Uint8Array([3]));
 * ```
 */
export async function readInnerChunk(
  read: ReadShardRange,
  layout: ShardLayout,
  coordinates: readonly number[],
  { index, key = "" }: {
    index?: ShardIndex | undefined;
    key?: string | undefined;
  } = {},
): Promise<Uint8Array | undefined> {
  const place = placeInShard(coordinates, layout);
  if (index === undefined) index = await readShardIndex(read, layout, key);
  else assertEntries(index, layout, key);
  const entry = index?.[place];
  if (entry === undefined) return undefined;
  const bytes = entry.length === 0 ? new Uint8Array() : await read(entry);
  return assertComplete(
    bytes,
    entry,
    () => `inner chunk ${describe(coordinates)}${ofShard(key)}`,
    key,
  );
}
