import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import * as fc from "fast-check";
import { createCRC32 } from "hash-wasm";
import { crc32, crc32ByTables, Crc32c } from "../../src/checksum/crc32c.ts";
import { CHECKSUM_WAYS } from "./checksum_ways.ts";
import { prefixCrcs } from "./crc32c_oracle.ts";
import { noise } from "./noise.ts";

const bytes = noise(2 * 1024 * 1024, 2);
const crcs = prefixCrcs(bytes);

/** Lengths of all ways of computing a CRC32C, none among them. */
const length = fc.oneof(
  fc.constant(0),
  fc.nat(40),
  fc.nat(1000),
  fc.nat(40_000),
  fc.nat(600_000),
);

/** Pieces that follow one another: where each starts and ends. */
const pieces = fc.array(length, { maxLength: 20 }).map((lengths) => {
  let end = 0;
  return lengths.map((length) => {
    const start = end;
    end = Math.min(bytes.length, start + length);
    return [start, end] as const;
  });
});

Deno.test("Crc32c.digest after each piece is the checksum of all so far, however they are cut", () => {
  let sum = 0;
  fc.assert(
    fc.property(pieces, (pieces) => {
      const checksum = new Crc32c();
      for (const [start, end] of pieces) {
        checksum.update(bytes.subarray(start, end));
        assertStrictEquals(checksum.digest(), crcs[end]);
        sum += end - start;
      }
    }),
    { numRuns: 300 },
  );
  assert(sum > 20 * bytes.length, `only ${sum} bytes were cut`);
});

Deno.test("every way of computing a CRC32C continues what another one gave", () => {
  const way = fc.constantFrom(...CHECKSUM_WAYS);
  const property = fc.property(
    pieces,
    fc.infiniteStream(way),
    (pieces, ways) => {
      let crc = 0;
      for (const [start, end] of pieces) {
        const [, checksum] = ways.next().value;
        crc = checksum(bytes.subarray(start, end), crc);
        assertStrictEquals(crc, crcs[end]);
      }
    },
  );
  fc.assert(property, { numRuns: 300 });
});

const hasher = await createCRC32();

Deno.test("crc32 is the CRC-32 of zip, of bytes of every length up to 1000, natively and by tables", () => {
  const text = new TextEncoder().encode("123456789");
  assertEquals(crc32(text), 0xcbf43926);
  const bytes = noise(1007);
  for (let length = 0; length <= 1000; length++) {
    const some = bytes.subarray(length % 8, length % 8 + length);
    const expected = parseInt(hasher.init().update(some).digest(), 16);
    assertEquals(crc32(some), expected, `${length} bytes`);
    assertEquals(crc32ByTables(some), expected, `${length} bytes by tables`);
  }
});
