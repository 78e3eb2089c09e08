import { describe } from "../errors/mod.ts";
import {
  assertComplete,
  assertEntries,
  ofShard,
  placeInShard,
  readShardIndex,
  type ReadShardRange,
  type ShardIndex,
} from "./shard_index.ts";
import type { ShardLayout } from "./shard_layout.ts";

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
