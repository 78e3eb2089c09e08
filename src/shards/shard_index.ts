import { CHECKSUM_SIZE, crc32c, verifyChecksum } from "../checksum/mod.ts";
import { DamageError, describe, sentence } from "../errors/mod.ts";
import type { ByteRange } from "../stores/mod.ts";
import { MOST_CHUNKS, type ShardLayout } from "./shard_layout.ts";

/** The length of an index entry in bytes: an offset and a length of 8 bytes each. */
const ENTRY_SIZE = 16;
/** The offset and the length of an absent chunk. */
const ABSENT = 2n ** 64n - 1n;

/**
 * The index of a shard: for each inner chunk, in C order, its offset in the shard and
 * its length in bytes, or `undefined` for an absent one.
 *
 * @example The first of two chunks is absent
 * ```ts
 * import type { ShardIndex } from "@zarr-parts/zarr-parts";
 *
 * const index: ShardIndex = [undefined, { offset: 0, length: 100 }];
 * ```
 */
export type ShardIndex = readonly (
  | { readonly offset: number; readonly length: number }
  | undefined
)[];

/** A range of bytes in a stored shard. */
export type Extent = Extract<ByteRange, { offset: number }>;

/**
 * The length of a shard's index.
 *
 * @param layout The layout of the shard.
 * @returns The number of bytes: 16 for each inner chunk, and 4 for a checksum.
 *
 * @example
 * ```ts
 * import { shardIndexSize } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const layout = {
 *   chunksPerShard: [10, 10],
 *   indexLocation: "end",
 *   indexEndian: "little",
 *   indexHasChecksum: true,
 * } as const;
 * assertEquals(shardIndexSize(layout), 1604);
 * ```
 */
export function shardIndexSize(layout: ShardLayout): number {
  return ENTRY_SIZE * chunkCount(layout) +
    (layout.indexHasChecksum ? CHECKSUM_SIZE : 0);
}

/** Returns the number of inner chunks in a shard. */
export function chunkCount({ chunksPerShard }: ShardLayout): number {
  const count = chunksPerShard.reduce((product, n) => product * n, 1);
  const isCount = Array.from(chunksPerShard)
    .every((n) => Number.isSafeInteger(n) && n >= 1) && count <= MOST_CHUNKS;
  if (isCount) return count;
  throw new RangeError(
    sentence`Expected whole numbers of inner chunks from 1, and an index of no more than 2^53−1 bytes for all of them, found ${chunksPerShard}`,
  );
}

/**
 * Decodes the index of a shard, and verifies its checksum if it has one.
 *
 * @param bytes The index, as long as {@linkcode shardIndexSize} says.
 * @param layout The layout of the shard.
 * @param key The shard's key, for messages.
 * @returns The index. {@linkcode assertShardIndex} checks it against the length of
 * the shard.
 * @throws {DamageError} If the bytes have another length, or an offset or a length
 * exceeds 2^53−1.
 * @throws {ChecksumError} If the checksum is wrong.
 * @throws {RangeError} If the numbers of inner chunks in the layout are not whole
 * numbers from 1.
 *
 * @example
 * ```ts
 * import { decodeShardIndex } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const layout = {
 *   chunksPerShard: [1],
 *   indexLocation: "end",
 *   indexEndian: "big",
 *   indexHasChecksum: false,
 * } as const;
 * const bytes = new Uint8Array([0, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 1, 0]);
 * assertEquals(decodeShardIndex(bytes, layout), [{ offset: 64, length: 256 }]);
 * ```
 */
export function decodeShardIndex(
  bytes: Uint8Array,
  layout: ShardLayout,
  key = "",
): ShardIndex {
  const size = shardIndexSize(layout);
  if (bytes.length !== size) {
    throw new DamageError(
      `The index${ofShard(key)} is ${bytes.length} bytes long, where ${
        describe(layout.chunksPerShard)
      } inner chunks take ${size}`,
      { key },
    );
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (layout.indexHasChecksum) {
    verifyChecksum(bytes, () => `The index${ofShard(key)}`, key);
  }
  const isLittle = layout.indexEndian === "little";
  const count = chunkCount(layout);
  // A loop, since `Array.from` takes twice as long.
  const index = new Array<Extent | undefined>(count);
  for (let i = 0; i < count; i++) {
    const offset = readNumber(view, i * ENTRY_SIZE, isLittle);
    const length = readNumber(view, i * ENTRY_SIZE + 8, isLittle);
    index[i] = offset + length <= Number.MAX_SAFE_INTEGER
      ? { offset, length }
      : absentEntry(view, i, isLittle, key);
  }
  return index;
}

/** Returns the place of an inner chunk in the index of its shard. */
export function placeInShard(
  coordinates: readonly number[],
  { chunksPerShard }: Pick<ShardLayout, "chunksPerShard">,
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
    sentence`Expected the coordinates of one of ${chunksPerShard} inner chunks, found ${coordinates}`,
  );
}

/** Returns the grid coordinates of an index entry: the inverse of {@linkcode placeInShard}. */
export function coordinatesInShard(
  place: number,
  { chunksPerShard }: Pick<ShardLayout, "chunksPerShard">,
): number[] {
  return chunksPerShard.toReversed().map((count) => {
    const coordinate = place % count;
    place = (place - coordinate) / count;
    return coordinate;
  }).reverse();
}

/** Returns the text ` of "/c/0"` for messages, or an empty text without a key. */
export function ofShard(key: string): string {
  return key === "" ? "" : sentence` of ${key}`;
}

/** Returns `undefined` for the entry of an absent inner chunk, and refuses any other entry beyond 2^53−1. */
function absentEntry(
  view: DataView,
  place: number,
  isLittle: boolean,
  key: string,
): undefined {
  const [offset, length] = [0, 8].map((at) =>
    view.getBigUint64(place * ENTRY_SIZE + at, isLittle)
  );
  if (offset === ABSENT && length === ABSENT) return undefined;
  throw new DamageError(
    `Inner chunk ${place}${
      ofShard(key)
    } has ${length} bytes from ${offset} on, where 2^53−1 is the most that can be read`,
    { key },
  );
}

/** Reads 64 bits without a `bigint`, which takes longer; exact up to 2^53−1. */
function readNumber(view: DataView, at: number, isLittle: boolean): number {
  const high = view.getUint32(isLittle ? at + 4 : at, isLittle);
  const low = view.getUint32(isLittle ? at : at + 4, isLittle);
  return high * 2 ** 32 + low;
}

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

/**
 * Returns the range of the index in a shard.
 *
 * @param before The number of bytes before an index at the end that are read with it.
 */
export function indexRange(layout: ShardLayout, before = 0): ByteRange {
  const size = shardIndexSize(layout);
  return layout.indexLocation === "start"
    ? { offset: 0, length: size }
    : { suffixLength: before + size };
}

/** Returns where the index lies in a shard, and refuses a shard that is shorter than it. */
export function indexExtent(
  layout: ShardLayout,
  size: number,
  key: string,
  of: () => string = () => ofShard(key),
): Extent {
  const length = shardIndexSize(layout);
  if (!(size >= length)) {
    throw new DamageError(
      `The shard${of()} is ${size} bytes long, where its index takes ${length}`,
      { key },
    );
  }
  const isAtStart = layout.indexLocation === "start";
  return { offset: isAtStart ? 0 : size - length, length };
}

/**
 * Encodes the index of a shard: the inverse of {@linkcode decodeShardIndex}.
 *
 * @param index The index, with an entry for each inner chunk.
 * @param layout The layout of the shard.
 * @returns The bytes. Their number is that of {@linkcode shardIndexSize}.
 * @throws {RangeError} If the number of entries is not that of the inner chunks, or
 * an offset or a length is not a whole number from 0 to 2^53−1.
 *
 * @example
 * ```ts
 * import { decodeShardIndex, encodeShardIndex } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const layout = {
 *   chunksPerShard: [2, 1],
 *   indexLocation: "end",
 *   indexEndian: "little",
 *   indexHasChecksum: true,
 * } as const;
 * const index = [{ offset: 64, length: 256 }, undefined];
 * const bytes = encodeShardIndex(index, layout);
 * assertEquals(bytes.length, 36);
 * assertEquals(decodeShardIndex(bytes, layout), index);
 * ```
 */
export function encodeShardIndex(
  index: ShardIndex,
  layout: ShardLayout,
): Uint8Array {
  assertEntries(index, layout);
  const bytes = new Uint8Array(shardIndexSize(layout));
  const view = new DataView(bytes.buffer);
  const isLittle = layout.indexEndian === "little";
  for (let i = 0; i < index.length; i++) {
    const entry = index[i];
    const [offset, length] = entry
      ? [BigInt(entry.offset), BigInt(entry.length)]
      : [ABSENT, ABSENT];
    view.setBigUint64(i * ENTRY_SIZE, offset, isLittle);
    view.setBigUint64(i * ENTRY_SIZE + 8, length, isLittle);
  }
  if (layout.indexHasChecksum) {
    const end = bytes.length - CHECKSUM_SIZE;
    view.setUint32(end, crc32c(bytes.subarray(0, end)), true);
  }
  return bytes;
}

/** Refuses an index with a wrong number of entries, or with an invalid entry. */
export function assertEntries(
  index: ShardIndex,
  layout: ShardLayout,
  key = "",
): void {
  const count = chunkCount(layout);
  if (index.length !== count) {
    throw new RangeError(
      `Expected an index${
        ofShard(key)
      } of ${count} entries, one for each inner chunk, found ${index.length}`,
    );
  }
  index.forEach((entry, place) => {
    if (entry === undefined || isRange(entry)) return;
    throw new RangeError(
      `Expected the offset and the length of inner chunk ${place}${
        ofShard(key)
      } to be whole numbers of bytes of no more than 2^53−1 together, found ${
        describe(entry.offset)
      } and ${describe(entry.length)}`,
    );
  });
}

function isRange({ offset, length }: Extent): boolean {
  return [offset, length].every((number) =>
    Number.isSafeInteger(number) && number >= 0
  ) && Number.isSafeInteger(offset + length);
}

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
  indexExtent(layout, shardSize, key); // Throws if the index does not fit.
  assertExtents(index, layout, shardSize, key);
}

/**
 * Checks the entries of a decoded index as {@linkcode assertShardIndex} does, also if the
 * length of the shard is not known.
 *
 * @param shardSize The length of the shard in bytes. If it is `undefined`, inner chunks
 * behind the end of the shard or in an index at its end are not noticed.
 * @param of Makes the text that names the shard after an inner chunk in messages.
 * @throws {DamageError} If inner chunks lie outside the shard or in its index, or overlap.
 */
export function assertExtents(
  index: ShardIndex,
  layout: ShardLayout,
  shardSize: number | undefined,
  key: string,
  of: () => string = () => ofShard(key),
): void {
  const indexSize = shardIndexSize(layout);
  const isAtStart = layout.indexLocation === "start";
  const from = isAtStart ? indexSize : 0;
  const to = shardSize === undefined
    ? Infinity
    : isAtStart
    ? shardSize
    : shardSize - indexSize;
  let end = 0;
  let isInOrder = true;
  for (let place = 0; place < index.length; place++) {
    const entry = index[place];
    if (entry === undefined) continue;
    const { offset, length } = entry;
    if (offset < from || offset + length > to) {
      throw new DamageError(
        `Inner chunk ${place}${of()} has ${length} bytes from ${offset} on, where the shard has inner chunks from ${from} ${
          to === Infinity ? "on" : `to ${to}`
        }`,
        { key },
      );
    }
    if (length === 0) continue; // Empty inner chunks overlap nothing.
    isInOrder &&= offset >= end;
    end = offset + length;
  }
  if (!isInOrder) assertApart(index, key, of);
}

/** Refuses inner chunks that overlap and are not the same bytes. */
function assertApart(
  index: ShardIndex,
  key: string,
  of: () => string,
): void {
  // The entries themselves, since copies of them would take longer than to sort.
  const inOrder = index.filter((entry) => entry !== undefined)
    .filter(({ length }) => length > 0)
    .sort((a, b) => a.offset - b.offset || a.length - b.length);
  for (let i = 1; i < inOrder.length; i++) {
    const [a, b] = [inOrder[i - 1]!, inOrder[i]!];
    const isSame = a.offset === b.offset && a.length === b.length;
    if (isSame || a.offset + a.length <= b.offset) continue;
    const places = [a, b].map((entry) => index.indexOf(entry))
      .sort((a, b) => a - b);
    throw new DamageError(
      `Inner chunks ${places.join(" and ")}${of()} overlap at byte ${b.offset}`,
      { key },
    );
  }
}

/**
 * Refuses bytes of an inner chunk if their number is not that of the index entry.
 *
 * @param name Names the inner chunk in the message.
 * @param key The shard's key, for the error.
 * @throws {DamageError} If there are more bytes, fewer or none.
 */
export function assertComplete(
  bytes: Uint8Array | undefined,
  entry: Extent,
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
