import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { ConcatParts, type SplitReport } from "../../mod.ts";
import { crc32cBitByBit } from "../checksum/crc32c_oracle.ts";

export const WINDOW = 1024 * 1024;

/** The sizes of parts; `undefined` for the unsized one. */
export type Sizes = (number | undefined)[];

/** Sizes of which at most one is `undefined`, many of them zero. */
export const sizes: fc.Arbitrary<Sizes> = fc.tuple(
  fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 9 })), {
    maxLength: 5,
  }),
  fc.option(fc.nat(5)),
).map(([sized, unsized]) =>
  unsized === null ? sized : (sized as Sizes).toSpliced(unsized, 0, undefined)
).filter((sizes) => sizes.length > 0);

/** How long the pieces are in which bytes come, again and again; not all are empty. */
export const lengths: fc.Arbitrary<number[]> = fc.array(fc.nat(9), {
  minLength: 1,
  maxLength: 6,
}).filter((lengths) => lengths.some((length) => length > 0));

/** Parts of sizes, with the key suffixes `.0`, `.1` and so on. */
export function partsOf(sizes: Sizes): ConcatParts {
  return new ConcatParts(
    sizes.map((size, i) => ({ keySuffix: `.${i}`, size })),
  );
}

export function sum(numbers: Sizes): number {
  return numbers.reduce<number>((sum, number) => sum + (number ?? 0), 0);
}

export function joined(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(sum(pieces.map(({ length }) => length)));
  let offset = 0;
  for (const piece of pieces) {
    whole.set(piece, offset);
    offset += piece.length;
  }
  return whole;
}

/** Copies of bytes in pieces of the given lengths, again and again. */
export function inPieces(
  bytes: Uint8Array<ArrayBuffer>,
  lengths: readonly number[],
): Uint8Array<ArrayBuffer>[] {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  for (let i = 0, offset = 0; offset < bytes.length; i++) {
    const length = lengths[i % lengths.length]!;
    pieces.push(bytes.slice(offset, offset += length));
  }
  return pieces;
}

/** What the parts of a chunk are. */
export function cutSlowly(
  chunk: Uint8Array,
  sizes: Sizes,
): Uint8Array[] {
  const rest = chunk.length - sum(sizes);
  let offset = 0;
  return sizes.map((size = rest) => chunk.slice(offset, offset += size));
}

/** Bytes with their CRC32C after them, the lowest byte first. */
export function withChecksum(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const checksum = new DataView(new ArrayBuffer(4));
  checksum.setUint32(0, crc32cBitByBit(bytes), true);
  return joined([bytes, new Uint8Array(checksum.buffer)]);
}

/** What the report of parts is, named as `partsOf` names them. */
export function slowReport(
  parts: readonly Uint8Array[],
  hasChecksums: boolean,
): SplitReport {
  const report = (bytes: Uint8Array) => ({
    size: bytes.length,
    ...hasChecksums && { crc32c: crc32cBitByBit(bytes) },
  });
  return {
    ...report(joined(parts)),
    parts: parts.map((part, i) => ({ keySuffix: `.${i}`, ...report(part) })),
  };
}

/** As `assertEquals`, but fast for megabytes. */
export function assertSameBytes(
  actual: Uint8Array,
  expected: Uint8Array,
  message = "",
): void {
  assertEquals(actual.length, expected.length, message);
  let same = 0;
  while (same < actual.length && actual[same] === expected[same]) same++;
  assertEquals(same, expected.length, message);
}
