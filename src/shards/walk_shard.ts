import { DamageError } from "../errors/mod.ts";
import {
  assertExtents,
  coordinatesInShard,
  decodeShardIndex,
  type Extent,
  ofShard,
  type ShardIndex,
  shardIndexSize,
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

/** Returns where the index lies in a shard, and refuses a shard that is shorter than it. */
function indexExtent(
  layout: ShardLayout,
  size: number,
  key: string,
  of: () => string = () => ofShard(key),
): Extent {
  const length = shardIndexSize(layout);
  if (size < length) {
    throw new DamageError(
      `The shard${of()} is ${size} bytes long, where its index takes ${length}`,
      { key },
    );
  }
  const isAtStart = layout.indexLocation === "start";
  return { offset: isAtStart ? 0 : size - length, length };
}
