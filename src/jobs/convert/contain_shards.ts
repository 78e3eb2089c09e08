import type { ParsedArray } from "../../arrays/mod.ts";
import {
  appendChecksum,
  CHECKSUM_SIZE,
  verifyChecksum,
} from "../../checksum/mod.ts";
import { DamageError, describe } from "../../errors/mod.ts";
import {
  assertFirstBytes,
  decodeShard,
  encodeShard,
  type ShardContainer,
} from "../../shards/mod.ts";
import { chunkLevel } from "../chunk_checks.ts";

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
  const { layout, checksumsSize } = shards;
  assertFirstBytes(layout, { container: containerOf });
  return (bytes, coordinates, key) => {
    let shard = bytes;
    for (let left = checksumsSize; left > 0; left -= CHECKSUM_SIZE) {
      if (shard.length < CHECKSUM_SIZE) {
        throw new DamageError(
          `Shard ${
            describe(key)
          } is ${bytes.length} bytes long, where its checksums take ${checksumsSize}`,
          { key },
        );
      }
      shard = verifyChecksum(shard, () => `Chunk ${describe(key)}`, key);
    }
    let contained = encodeShard(decodeShard(shard, layout, key), layout, {
      container: containerOf(coordinates),
    });
    for (let left = checksumsSize; left > 0; left -= CHECKSUM_SIZE) {
      contained = appendChecksum(contained);
    }
    return contained;
  };
}
