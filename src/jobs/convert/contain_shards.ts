import type { ParsedArray } from "../../arrays/mod.ts";
import {
  appendChecksum,
  CHECKSUM_SIZE,
  verifyChecksum,
} from "../../checksum/mod.ts";
import { DamageError, describe } from "../../errors/mod.ts";
import {
  assertFirstBytes,
  assertShardIndex,
  decodeShardIndex,
  encodeShard,
  type ShardContainer,
  shardIndexSize,
} from "../../shards/mod.ts";
import { chunkLevel, type ShardLevel } from "../chunk_checks.ts";

/** Puts a container around a shard, given its bytes, its coordinates, and its key for messages. */
export type ContainShard = (
  shard: Uint8Array,
  coordinates: readonly number[],
  key: string,
) => Uint8Array;

/**
 * Returns a function that puts the bytes of a file format around the inner chunks of a
 * shard. The inner chunks stay as they are encoded.
 *
 * @throws {RangeError} If the array has no shards whose inner chunks can be found, or
 * their index is at the start.
 */
export function containShards(
  { chunk }: ParsedArray,
  containerOf: (shard: readonly number[]) => ShardContainer,
): ContainShard {
  const { shards } = chunkLevel(chunk, "");
  if (shards === undefined) {
    throw new RangeError(
      "Expected shards to put a container around their inner chunks, found an array without shards, or with shards that are encoded again",
    );
  }
  assertFirstBytes(shards.layout, { container: containerOf });
  return (bytes, coordinates, key) => {
    const inner = innerChunks(bytes, shards, key);
    const container = containerOf(coordinates);
    const shard = encodeShard(inner, shards.layout, { container });
    let contained = shard;
    for (let left = shards.checksumsSize; left > 0; left -= CHECKSUM_SIZE) {
      contained = appendChecksum(contained);
    }
    return contained;
  };
}

/** The inner chunks of a shard, after verifying its checksums and its index. */
function innerChunks(
  bytes: Uint8Array,
  { layout, checksumsSize }: ShardLevel,
  key: string,
): (Uint8Array | undefined)[] {
  const size = shardIndexSize(layout);
  if (bytes.length < size + checksumsSize) {
    throw new DamageError(
      `Shard ${
        describe(key)
      } is ${bytes.length} bytes long, where its index and checksums take ${
        size + checksumsSize
      }`,
      { key },
    );
  }
  let shard = bytes;
  for (let left = checksumsSize; left > 0; left -= CHECKSUM_SIZE) {
    shard = verifyChecksum(shard, `Chunk ${describe(key)}`, key);
  }
  const start = layout.indexLocation === "start" ? 0 : shard.length - size;
  const stored = shard.subarray(start, start + size);
  const index = decodeShardIndex(stored, layout, key);
  assertShardIndex(index, layout, shard.length, key);
  return index.map((entry) =>
    entry && shard.subarray(entry.offset, entry.offset + entry.length)
  );
}
