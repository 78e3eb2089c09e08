/** Chunks whose trailing checksum is right or wrong. */
import { assertEquals, assertRejects } from "@std/assert";
import {
  ChecksumError,
  concatStream,
  type SplitOptions,
  splitStream,
} from "../../mod.ts";
import { ENGINES } from "../checksum/checksum_ways.ts";
import { crc32cBitByBit } from "../checksum/crc32c_oracle.ts";
import { noise } from "../checksum/noise.ts";
import {
  assertStartOf,
  cutSlowly,
  inPieces,
  joined,
  partsOf,
  placeOf,
  type Sizes,
  sum,
  withChecksum,
} from "./oracle.ts";
import { probedSource, Sinks, SOURCE_KINDS } from "./probes.ts";

/** Chunks of 10 bytes that differ in one bit from a chunk that ends with its checksum. */
const WRONG = Array.from({ length: 80 }, (_, bit) => {
  const wrong = withChecksum(noise(6));
  wrong[bit >> 3]! ^= 1 << (bit & 7);
  return wrong;
});

function assertChecksumError(error: ChecksumError, chunk: Uint8Array): void {
  const stored = new DataView(chunk.buffer).getUint32(6, true);
  const computed = crc32cBitByBit(chunk.slice(0, 6));
  assertEquals(
    [error.key, error.expected, error.actual],
    ["/c/0", stored, computed],
  );
  const digits = (crc: number) => crc.toString(16).padStart(8, "0");
  assertEquals(
    error.message,
    `Chunk "/c/0" has the CRC32C 0x${digits(computed)}, where 0x${
      digits(stored)
    } is stored in its last 4 bytes`,
  );
}

const LAYOUTS: Sizes[] = [
  ...[[undefined], [undefined, 4], [undefined, 5], [2, undefined, 1]],
  ...[[1, undefined, 1, 2], [0, undefined, 0]],
  ...[[10], [3, 7], [8, 2], [6, 4], [6, 1, 1, 2], [10, 0]],
];

for (const sizes of LAYOUTS) {
  Deno.test(`splitStream finds each wrong bit with parts of sizes ${sizes.map(String)}, and does not write the last four bytes`, async () => {
    for (const [bit, wrong] of WRONG.entries()) {
      for (const engine of ENGINES) {
        const isKnown = bit % 2 === 0;
        const options: SplitOptions = {
          crc32c: "verify",
          engine,
          chunkSize: isKnown ? 10 : undefined,
          key: "/c/0",
        };
        const from = SOURCE_KINDS[bit % 5 % 2]!;
        const source = probedSource(from, inPieces(wrong, [1 + bit % 11]));
        const sinks = new Sinks(bit % 7 < 3 ? "stream" : "writer");
        const error = await assertRejects(
          () => splitStream(source.source, partsOf(sizes), sinks.open, options),
          ChecksumError,
        );
        assertChecksumError(error, wrong);
        const unsized = sizes.indexOf(undefined);
        const tail = isKnown || unsized < 0 ? 0 : sum(sizes.slice(unsized));
        const withheld = Math.max(4, tail);
        assertEquals(sinks.all, [...wrong.slice(0, 10 - withheld)]);
        sinks.assertAborted(error);
      }
    }
  });
}

for (const sizes of [[10], [6, 4], [2, 3, 4, 1], [0, 8, 2, 0]]) {
  Deno.test(`concatStream finds each wrong bit with parts of ${sizes} bytes, and fails instead of giving the last bytes`, async () => {
    for (const [bit, wrong] of WRONG.entries()) {
      for (const engine of ENGINES) {
        const parts = cutSlowly(wrong, sizes);
        const declared = sizes.map((size, i) => i % 2 === 0 ? size : undefined);
        const stream = concatStream(
          partsOf(declared),
          (part) => {
            const pieces = inPieces(parts[placeOf(part)]!, [1 + bit % 7]);
            return probedSource(SOURCE_KINDS[bit % 2]!, pieces).source;
          },
          { crc32c: "verify", engine, key: "/c/0" },
        );
        const pieces: Uint8Array[] = [];
        const error = await assertRejects(async () => {
          for await (const piece of stream) pieces.push(piece);
        }, ChecksumError);
        assertChecksumError(error, wrong);
        const received = joined(pieces);
        assertStartOf(received, wrong.subarray(0, 6));
      }
    }
  });
}
