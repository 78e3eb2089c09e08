/** The expected results of splitting and joining, computed slowly and obviously. */
import { Buffer } from "node:buffer";
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  ChecksumError,
  ConcatParts,
  PartSizeError,
  type SplitOptions,
  type SplitReport,
} from "../../mod.ts";
import { crc32cBitByBit, crc32cOfPeer } from "../checksum/crc32c_oracle.ts";

/** The sizes of parts in bytes; `undefined` for an unsized part. */
export type Sizes = readonly (number | undefined)[];

/** The size of the memory that the engines give to readers at once. */
export const WINDOW = 30 * 64 * 1024;
/** The most bytes that are held back in front of a window. */
export const MOST_HELD = 64 * 1024;

/** Parts with the given sizes and the key suffixes `.0`, `.1` and so on. */
export function partsOf(sizes: Sizes): ConcatParts {
  return new ConcatParts(
    sizes.map((size, i) => ({ keySuffix: `.${i}`, size })),
  );
}

/** The place of a part by its key suffix. */
export function placeOf({ keySuffix }: { keySuffix: string }): number {
  return Number(keySuffix.slice(1));
}

/** The sum of all numbers; `undefined` counts as 0. */
export function sum(numbers: Sizes): number {
  return numbers.reduce<number>((sum, number) => sum + (number ?? 0), 0);
}

/** All pieces one after another, in new memory. */
export function joined(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(sum(pieces.map(({ length }) => length)));
  let offset = 0;
  for (const piece of pieces) {
    whole.set(piece, offset);
    offset += piece.length;
  }
  return whole;
}

/** Copies of the bytes in pieces, whose lengths repeat. */
export function inPieces(
  bytes: Uint8Array,
  lengths: readonly number[],
): Uint8Array<ArrayBuffer>[] {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  for (let i = 0, offset = 0; offset < bytes.length; i++) {
    const length = lengths[i % lengths.length]!;
    pieces.push(new Uint8Array(bytes.subarray(offset, offset += length)));
  }
  return pieces;
}

/** Copies of the parts of a chunk. At most one part is unsized. */
export function cutSlowly(
  chunk: Uint8Array,
  sizes: Sizes,
): Uint8Array<ArrayBuffer>[] {
  const rest = chunk.length - sum(sizes);
  let offset = 0;
  return sizes.map((size = rest) =>
    new Uint8Array(chunk.subarray(offset, offset += size))
  );
}

/** The bytes with their CRC32C after them, the lowest byte first. */
export function withChecksum(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const checksum = new DataView(new ArrayBuffer(4));
  checksum.setUint32(0, crc32cSlowly(bytes), true);
  return joined([bytes, new Uint8Array(checksum.buffer)]);
}

/** The CRC32C bit by bit; of megabytes, by another library. */
function crc32cSlowly(bytes: Uint8Array): number {
  return bytes.length < 1e5 ? crc32cBitByBit(bytes) : crc32cOfPeer(bytes);
}

/** The report for parts named as `partsOf` names them. */
export function slowReport(
  parts: readonly Uint8Array[],
  crc32c: SplitOptions["crc32c"],
): SplitReport {
  const report = (bytes: Uint8Array) => ({
    size: bytes.length,
    ...crc32c !== "none" && { crc32c: crc32cSlowly(bytes) },
  });
  return {
    ...report(joined(parts)),
    parts: parts.map((part, i) => ({ keySuffix: `.${i}`, ...report(part) })),
  };
}

/** The class of the error for a chunk, or `undefined` for a chunk that is right. */
export function errorOf(
  chunk: Uint8Array,
  sizes: Sizes,
  { crc32c, chunkSize = chunk.length }: SplitOptions,
): typeof PartSizeError | typeof ChecksumError | undefined {
  const { length } = chunk;
  const least = sum(sizes);
  const fits = sizes.includes(undefined) ? length >= least : length === least;
  if (!fits || length !== chunkSize) return PartSizeError;
  if (crc32c !== "verify") return undefined;
  if (length < 4) return PartSizeError;
  const right = withChecksum(chunk.subarray(0, -4));
  return Buffer.compare(right, chunk) === 0 ? undefined : ChecksumError;
}

/** Compares bytes as `assertEquals` does, but fast for megabytes. */
export function assertSameBytes(
  actual: Uint8Array,
  expected: Uint8Array,
  message = "",
): void {
  if (Buffer.compare(actual, expected) === 0) return;
  assertEquals(actual.length, expected.length, message);
  const place = actual.findIndex((byte, i) => byte !== expected[i]);
  assertEquals(actual[place], expected[place], `${message} at byte ${place}`);
}

/** Asserts that bytes are the first of the expected bytes, or all of them. */
export function assertStartOf(
  actual: Uint8Array,
  expected: Uint8Array,
  message = "",
): void {
  assert(actual.length <= expected.length, `${message} is too long`);
  assertSameBytes(actual, expected.subarray(0, actual.length), message);
}

/** Sizes with at most one `undefined` and many zeros. */
export const arbitrarySizes: fc.Arbitrary<Sizes> = fc.tuple(
  fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 9 })), {
    maxLength: 5,
  }),
  fc.option(fc.nat(5)),
).map(([sized, unsized]): Sizes =>
  unsized === null ? sized : (sized as Sizes).toSpliced(unsized, 0, undefined)
).filter((sizes) => sizes.length > 0);

/** Lengths of pieces, which repeat; some pieces are empty. */
export const arbitraryLengths: fc.Arbitrary<number[]> = fc.array(fc.nat(9), {
  minLength: 1,
  maxLength: 6,
}).filter((lengths) => lengths.some((length) => length > 0));
