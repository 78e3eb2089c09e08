import { assertStrictEquals } from "@std/assert";
import * as fc from "fast-check";
import { type Checksum, CHECKSUM_WAYS } from "./checksum_ways.ts";
import { crc32cOfPeer, prefixCrcs } from "./crc32c_oracle.ts";
import { noise } from "./noise.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
const SHORT = 12_000;

const bytes = noise(3 * MIB);
const crcs = prefixCrcs(bytes);

/** Asserts what bytes continue the checksum of those before them to. */
function assertContinues(
  [way, checksum]: readonly [string, Checksum],
  start: number,
  length: number,
): void {
  const end = start + length;
  const actual = checksum(bytes.subarray(start, end), crcs[start]!);
  // No message is made where none is needed: there are many lengths.
  if (actual === crcs[end]) return;
  assertStrictEquals(actual, crcs[end], `${way}, ${length} bytes at ${start}`);
}

for (const [way, checksum] of CHECKSUM_WAYS) {
  Deno.test(`${way} is right for every length from 0 to 12,000`, () => {
    for (let length = 0; length <= SHORT; length++) {
      assertContinues([way, checksum], 0, length);
    }
  });

  Deno.test(`${way} continues any checksum by every length from 0 to 12,000`, () => {
    for (let length = 0; length <= SHORT; length++) {
      // Every alignment, and another checksum to start with each time.
      assertContinues([way, checksum], 1 + length % 64, length);
    }
    for (const crc of [1, 0x80000000, 0xffffffff]) {
      const expected = prefixCrcs(bytes.subarray(0, SHORT), crc);
      for (let length = 0; length <= SHORT; length += 13) {
        const piece = bytes.subarray(0, length);
        assertStrictEquals(checksum(piece, crc), expected[length]);
      }
    }
  });

  Deno.test(`${way} is right around every length at which the way changes`, () => {
    // The lengths that are taken at once, and the limits within them.
    const pieces = [0, 256 * KIB, 512 * KIB, 1 * MIB, 2 * MIB];
    const limits = [0, 256, 704, 30 * KIB, 64 * KIB, 128 * KIB, 192 * KIB];
    for (const limit of pieces.flatMap((size) => limits.map((l) => l + size))) {
      for (const beside of [-17, -16, -15, -1, 0, 1, 15, 16, 17]) {
        for (const start of [0, 1, 4096 + 13]) {
          assertContinues([way, checksum], start, Math.max(0, limit + beside));
        }
      }
    }
  });

  Deno.test(`${way} is right for any length at any place`, () => {
    fc.assert(
      fc.property(slices, ([start, length]) => {
        assertContinues([way, checksum], start, length);
      }),
      { numRuns: 500 },
    );
  });
}

/** Start and length of a slice of the bytes; lengths of all magnitudes. */
const slices = fc.nat(8).chain((halvings) =>
  fc.tuple(fc.nat(bytes.length), fc.nat(bytes.length >> 2 * halvings))
).map(([start, length]) => {
  return [start, Math.min(length, bytes.length - start)] as const;
});

Deno.test("every way of computing a CRC32C is right for bytes with a pattern", () => {
  // Relations cancel bytes: the patterns at which they cancel most.
  for (const period of [1, 2, 3, 16, 32, 154, 290, 767, 2524, 5275]) {
    for (const length of [700, 5000, 27 * KIB, 100 * KIB, 700 * KIB + 5]) {
      const pattern = new Uint8Array(length).fill(period === 1 ? 255 : 0);
      for (let i = 0; i < length; i += period) pattern[i] = 1 + i / period;
      const expected = crc32cOfPeer(pattern);
      for (const [way, checksum] of CHECKSUM_WAYS) {
        assertStrictEquals(checksum(pattern, 0), expected, way);
      }
    }
  }
});
