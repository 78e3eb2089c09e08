import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { ChecksumError } from "../../mod.ts";
import { engineOf } from "../../src/checksum/engine.ts";
import { PartTally } from "../../src/splitter/part_tally.ts";
import {
  inPieces,
  joined,
  lengths,
  sum,
  withChecksum,
} from "./stream_support.ts";
import { ENGINES } from "../checksum/checksum_ways.ts";
import { crc32cBitByBit } from "../checksum/crc32c_oracle.ts";
import { noise } from "../checksum/noise.ts";

/** A tally of parts, each of which came in pieces. */
function tallyOf(
  parts: Uint8Array<ArrayBuffer>[],
  lengths = [3],
  engine = engineOf("native"),
): PartTally {
  const tally = new PartTally(parts.length, engine);
  for (const [part, bytes] of parts.entries()) {
    for (const piece of inPieces(bytes, lengths)) {
      tally.add(part, piece);
      piece.fill(0xee); // The memory may be used again.
    }
  }
  return tally;
}

const parts = fc.array(fc.nat(20), { maxLength: 5 }).map((sizes) =>
  sizes.map((size, part) => noise(size, part + 1))
);

for (const engine of ENGINES) {
  Deno.test(`PartTally has the sizes and CRC32Cs of the parts and of all joined, by engine ${engine}`, () => {
    const some = parts.filter((parts) => parts.length > 0);
    fc.assert(
      fc.property(some, lengths, (parts, lengths) => {
        const tally = tallyOf(parts, lengths, engineOf(engine));
        const whole = joined(parts);
        assertEquals(tally.sizes, parts.map(({ length }) => length));
        assertEquals(tally.size, whole.length);
        assertEquals(tally.checksums, parts.map(crc32cBitByBit));
        assertEquals(tally.checksum, crc32cBitByBit(whole));
      }),
      { numRuns: 500 },
    );
  });

  Deno.test(`PartTally has the CRC32Cs of parts of megabytes, by engine ${engine}`, () => {
    const large = [noise(1_100_000), noise(70_000, 2), noise(1, 3)];
    const tally = tallyOf(large, [300_000, 255, 256, 257], engineOf(engine));
    assertEquals(tally.checksums, large.map(crc32cBitByBit));
    assertEquals(tally.checksum, crc32cBitByBit(joined(large)));
  });
}

Deno.test("PartTally without an engine counts bytes and no checksums", () => {
  const tally = new PartTally(2, undefined);
  tally.add(0, noise(5));
  tally.add(1, noise(4));
  tally.add(1, noise(3));
  assertEquals(tally.sizes, [5, 7]);
  assertEquals(tally.size, 12);
  assertEquals([...tally.checksums, tally.checksum], [0, 0, 0]);
});

/** Cuts bytes at random places, into one part more than there are places. */
const places = fc.array(fc.nat(30), { maxLength: 4 });

function cutAt(
  bytes: Uint8Array<ArrayBuffer>,
  places: number[],
): Uint8Array<ArrayBuffer>[] {
  const sorted = places.toSorted((a, b) => a - b);
  return [0, ...sorted].map((from, i) => bytes.slice(from, sorted[i]));
}

Deno.test("PartTally.verify takes a chunk that ends with its CRC32C, wherever it is cut", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 25 }),
      places,
      lengths,
      (data, places, lengths) =>
        tallyOf(cutAt(withChecksum(data), places), lengths).verify(""),
    ),
    { numRuns: 1000 },
  );
});

for (let count = 1; count <= 4; count++) {
  Deno.test(`PartTally.verify knows last bytes that come ${count} at a time, or the rest of 4`, () => {
    const chunk = withChecksum(noise(8));
    for (const lengths of [[8, count, 4 - count || 4], [count]]) {
      tallyOf([chunk], lengths).verify("");
      const wrong = chunk.slice();
      wrong[11]! ^= 1;
      assertThrows(
        () => tallyOf([wrong], lengths).verify(""),
        ChecksumError,
      );
    }
  });
}

Deno.test("PartTally.verify finds every bit that is another", () => {
  for (const length of [0, 1, 3, 4, 5, 20]) {
    const chunk = withChecksum(noise(length));
    for (let bit = 0; bit < 8 * chunk.length; bit++) {
      const wrong = chunk.slice();
      wrong[bit >> 3]! ^= 1 << (bit & 7);
      const error = assertThrows(
        () => tallyOf(cutAt(wrong, [length, 2])).verify("/c/0"),
        ChecksumError,
      );
      const stored = new DataView(wrong.buffer).getUint32(length, true);
      assertEquals([error.key, error.expected, error.actual], [
        "/c/0",
        stored,
        crc32cBitByBit(wrong.slice(0, length)),
      ]);
    }
  }
});

Deno.test("PartTally.verify says which chunk is wrong, and both checksums in eight digits", () => {
  const data = Uint8Array.of(0x25, 0x1f);
  const chunk = joined([data, Uint8Array.of(0xef, 0xbe, 0xad, 0x0e)]);
  const tally = tallyOf([chunk]);
  const digits = crc32cBitByBit(data).toString(16).padStart(8, "0");
  const rest =
    ` has the CRC32C 0x${digits}, where 0x0eadbeef is stored in its last 4 bytes`;
  for (
    const [key, name] of [["", "Chunk"], ["/c/0", 'Chunk "/c/0"']] as const
  ) {
    const error = assertThrows(() => tally.verify(key), ChecksumError);
    assertEquals(error.message, name + rest);
    assertEquals(error.key, key);
  }
  assertEquals(sum(tally.sizes), 6);
});
