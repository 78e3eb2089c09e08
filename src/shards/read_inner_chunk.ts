import { DamageError, describe } from "../errors/mod.ts";
import type { ByteRange } from "../stores/mod.ts";
import {
  assertEntries,
  assertExtents,
  decodeShardIndex,
  ofShard,
  type ShardIndex,
  shardIndexSize,
} from "./shard_index.ts";
import type { ShardLayout } from "./shard_layout.ts";

/**
 * A function that reads a range of a shard. It returns fewer bytes where the shard
 * ends before the range, and `undefined` if there is no shard.
 *
 * @example A shard in a store
 * ```ts
 * import { MemoryStore, type ReadShardRange } from "@zarr-parts/zarr-parts";
 *
 * const store = new MemoryStore();
 * const read: ReadShardRange = (range) => store.getRange("/c/0/0", range);
 * ```
 */
export type ReadShardRange = (
  range: ByteRange,
) => Promise<Uint8Array | undefined>;

/**
 * Reads a shard's index with one request.
 *
 * @param read Reads a range of the shard.
 * @param layout The layout of the shard.
 * @param key The shard's key, for messages.
 * @returns The index, or `undefined` if there is no shard.
 * @throws {DamageError} If the shard is shorter than its index, or the index is not
 * valid.
 * @throws {ChecksumError} If the checksum at the end of the index is wrong.
 *
 * @example
 * ```ts
 * import { encodeShard, readShardIndex } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const layout = {
 *   chunksPerShard: [2],
 *   indexLocation: "start",
 *   indexEndian: "little",
 *   indexHasChecksum: false,
 * } as const;
 * const shard = encodeShard([undefined, new Uint8Array([7])], layout);
 * const read = () => Promise.resolve(shard.slice(0, 32));
 * assertEquals(await readShardIndex(read, layout), [undefined, { offset: 32, length: 1 }]);
 * ```
 */
export async function readShardIndex(
  read: ReadShardRange,
  layout: ShardLayout,
  key = "",
): Promise<ShardIndex | undefined> {
  const bytes = await read(indexRange(layout));
  if (bytes === undefined) return undefined;
  const index = decodeShardIndex(bytes, layout, key);
  assertExtents(index, layout, undefined, key);
  return index;
}

/** Where the index lies in a shard. */
export function indexRange(layout: ShardLayout): ByteRange {
  const size = shardIndexSize(layout);
  return layout.indexLocation === "start"
    ? { offset: 0, length: size }
    : { suffixLength: size };
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

/**
 * Refuses bytes of an inner chunk that are not as many as its index entry says.
 *
 * @param name The inner chunk, for the message.
 * @param key The shard's key, for the error.
 * @throws {DamageError} If there are more bytes, fewer or none.
 */
export function assertComplete(
  bytes: Uint8Array | undefined,
  entry: { readonly offset: number; readonly length: number },
  name: () => string,
  key: string,
): Uint8Array {
  if (bytes?.length === entry.length) return bytes;
  throw new DamageError(
    `The index says that ${name()} takes ${entry.length} bytes from ${entry.offset} on, where ${
      bytes?.length ?? "none"
    } could be read`,
    { key },
  );
}

/** The place of an inner chunk in the index of its shard. */
export function placeInShard(
  coordinates: readonly number[],
  { chunksPerShard }: ShardLayout,
): number {
  let place = 0;
  let isInside = coordinates.length === chunksPerShard.length;
  for (let i = 0; isInside && i < chunksPerShard.length; i++) {
    const [coordinate, count] = [coordinates[i]!, chunksPerShard[i]!];
    isInside = Number.isInteger(coordinate) && coordinate >= 0 &&
      coordinate < count;
    if (isInside) place = place * count + coordinate;
  }
  if (isInside) return place;
  throw new RangeError(
    `Expected the coordinates of one of ${
      describe(chunksPerShard)
    } inner chunks, found ${describe(coordinates)}`,
  );
}
