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
 * shard, and none may overlap the index or another one. Several inner chunks may be the
 * same bytes, as tiles of a TIFF may be.
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
  const indexSize = shardIndexSize(layout);
  const shard = key === "" ? "shard" : `shard ${describe(key)}`;
  if (!(shardSize >= indexSize)) {
    throw new DamageError(
      `The ${shard} is ${shardSize} bytes long, where its index takes ${indexSize}`,
      { key },
    );
  }
  assertExtents(index, layout, shardSize, key);
}

/**
 * Checks an index that was decoded, as {@linkcode assertShardIndex} does, as soon as it is
 * read. Takes little time beside the decoding.
 *
 * @param shardSize The length of the shard in bytes; `undefined` if it is not known, so
 * that inner chunks in an index at the end are not noticed.
 * @param of The text that names the shard after an inner chunk in messages.
 * @throws {DamageError} If inner chunks lie outside the shard or in its index, or overlap.
 */
export function assertExtents(
  index: ShardIndex,
  layout: ShardLayout,
  shardSize: number | undefined,
  key: string,
  of = ofShard(key),
): void {
  const indexSize = shardIndexSize(layout);
  const isAtStart = layout.indexLocation === "start";
  const from = isAtStart ? indexSize : 0;
  const to = shardSize === undefined
    ? Infinity
    : isAtStart
    ? shardSize
    : shardSize - indexSize;
  let count = 0;
  let [first, last, end] = [Infinity, 0, 0];
  let isInOrder = true;
  for (let place = 0; place < index.length; place++) {
    const entry = index[place];
    if (entry === undefined) continue;
    const { offset, length } = entry;
    if (offset < from || offset + length > to) {
      throw new DamageError(
        `Inner chunk ${place}${of} has ${length} bytes from ${offset} on, where the shard has inner chunks from ${from} ${
          to === Infinity ? "on" : `to ${to}`
        }`,
        { key },
      );
    }
    if (length === 0) continue; // Empty inner chunks overlap nothing.
    count++;
    isInOrder &&= offset >= end;
    end = offset + length;
    if (offset < first) first = offset;
    if (end > last) last = end;
  }
  if (!isInOrder && !areApart(index, count, first, last)) {
    throw overlap(index, key, of);
  }
}

/**
 * Whether inner chunks are apart or equal, in any order. They are sorted into as many
 * buckets as there are inner chunks, which takes linear time for the usual lengths.
 *
 * @param count The number of inner chunks that have bytes.
 * @param from The first byte of all of them.
 * @param to The end of all of them.
 */
function areApart(
  index: ShardIndex,
  count: number,
  from: number,
  to: number,
): boolean {
  const bucketsPerByte = (count - 1) / (to - from);
  const places = new Uint32Array(count + 1);
  for (const entry of index) {
    if (!entry?.length) continue;
    places[Math.floor((entry.offset - from) * bucketsPerByte) + 1]!++;
  }
  for (let i = 1; i <= count; i++) places[i]! += places[i - 1]!;
  const starts = new Float64Array(count);
  const ends = new Float64Array(count);
  for (const entry of index) {
    if (!entry?.length) continue;
    const { offset, length } = entry;
    const i = places[Math.floor((offset - from) * bucketsPerByte)]!++;
    starts[i] = offset;
    ends[i] = offset + length;
  }
  if (!sortByStart(starts, ends)) {
    starts.sort();
    ends.sort();
  }
  // Also if both are sorted for themselves: the inner chunks are apart if starts and ends
  // come in turns, each as often as the inner chunk that begins or ends there.
  for (let i = 0; i < count;) {
    const [start, end] = [starts[i]!, ends[i]!];
    const first = i;
    while (i < count && starts[i] === start && ends[i] === end) i++;
    const isNextApart = i === count || starts[i]! >= end && ends[i]! > end;
    if (end <= start || i === first || !isNextApart) return false;
  }
  return true;
}

/** Sorts pairs that are nearly sorted, by insertion. Returns `false` once it has taken too many steps. */
function sortByStart(starts: Float64Array, ends: Float64Array): boolean {
  let steps = 8 * starts.length;
  for (let i = 1; i < starts.length; i++) {
    const [start, end] = [starts[i]!, ends[i]!];
    let to = i;
    while (
      to > 0 &&
      (starts[to - 1]! > start ||
        starts[to - 1] === start && ends[to - 1]! > end)
    ) {
      starts[to] = starts[to - 1]!;
      ends[to] = ends[to - 1]!;
      to--;
    }
    starts[to] = start;
    ends[to] = end;
    steps -= i - to;
    if (steps < 0) return false;
  }
  return true;
}

/** The error for the first two inner chunks that overlap. */
function overlap(index: ShardIndex, key: string, of: string): DamageError {
  const inOrder = index
    .flatMap((entry, place) => entry?.length ? [{ ...entry, place }] : [])
    .sort((a, b) => a.offset - b.offset || a.length - b.length);
  const i = inOrder.findIndex(({ offset, length }, i) => {
    const before = inOrder[i - 1];
    if (before === undefined) return false;
    const isSame = before.offset === offset && before.length === length;
    return !isSame && before.offset + before.length > offset;
  });
  const [a, b] = [inOrder[i - 1]!, inOrder[i]!];
  const places = [a.place, b.place].sort((a, b) => a - b);
  return new DamageError(
    `Inner chunks ${places.join(" and ")}${of} overlap at byte ${b.offset}`,
    { key },
  );
}
