import { DamageError } from "../errors/damage_error.ts";
import { describe } from "../metadata/describe.ts";
import {
  assertEntries,
  ofShard,
  type ShardIndex,
  shardIndexSize,
} from "./shard_index.ts";
import type { ShardLayout } from "./shard_layout.ts";

/**
 * Checks an index against the length of its shard: every inner chunk must lie in the
 * shard, and none may overlap another one or the index.
 *
 * @param index The index.
 * @param layout The layout of the shard.
 * @param shardSize The length of the shard in bytes, index included.
 * @param key The shard's key, for messages.
 * @throws {DamageError} If the shard is shorter than its index, or if inner chunks lie
 * outside the shard or overlap; the message has the numbers.
 * @throws {RangeError} If the number of entries is not that of the layout, or an offset
 * or a length is not a whole number from 0 to 2^53−1.
 *
 * @example
 * ```ts
 * import { assertShardIndex, DamageError } from "@zarr-parts/zarr-parts";
 * import { assertThrows } from "@std/assert";
 *
 * const layout = {
 *   chunksPerShard: [2],
 *   indexLocation: "end",
 *   indexEndian: "little",
 *   indexHasChecksum: false,
 * } as const;
 * const index = [{ offset: 0, length: 100 }, { offset: 99, length: 1 }];
 * assertThrows(
 *   () => assertShardIndex(index, layout, 132),
 *   DamageError,
 *   "Inner chunks 0 and 1 overlap",
 * );
 * ```
 */
export function assertShardIndex(
  index: ShardIndex,
  layout: ShardLayout,
  shardSize: number,
  key = "",
): void {
  assertEntries(index, layout, key);
  const of = ofShard(key);
  const indexSize = shardIndexSize(layout);
  const shard = key === "" ? "shard" : `shard ${describe(key)}`;
  if (!(shardSize >= indexSize)) {
    throw new DamageError(
      `The ${shard} is ${shardSize} bytes long, where its index takes ${indexSize}`,
      { key },
    );
  }
  const isAtStart = layout.indexLocation === "start";
  const from = isAtStart ? indexSize : 0;
  const to = isAtStart ? shardSize : shardSize - indexSize;
  const entries = index.flatMap((entry, place) =>
    entry ? [{ ...entry, place }] : []
  );
  for (const { offset, length, place } of entries) {
    if (offset >= from && offset + length <= to) continue;
    throw new DamageError(
      `Inner chunk ${place}${of} has ${length} bytes from ${offset} on, where the shard has inner chunks from ${from} to ${to}`,
      { key },
    );
  }
  // Empty inner chunks overlap nothing.
  const inOrder = entries.filter(({ length }) => length > 0)
    .sort((a, b) => a.offset - b.offset);
  inOrder.forEach((entry, i) => {
    const before = inOrder[i - 1];
    if (!before || before.offset + before.length <= entry.offset) return;
    const places = [before.place, entry.place].sort((a, b) => a - b);
    throw new DamageError(
      `Inner chunks ${
        places.join(" and ")
      }${of} overlap at byte ${entry.offset}`,
      { key },
    );
  });
}
