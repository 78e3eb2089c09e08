import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { type ConcatOptions, concatStream, splitStream } from "../../mod.ts";
import { ENGINES } from "../checksum/checksum_ways.ts";
import { noise } from "../checksum/noise.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { collector, sourceOf, SOURCES } from "./stream_kinds.ts";
import {
  assertSameBytes,
  cutSlowly,
  inPieces,
  joined,
  lengths,
  partsOf,
  type Sizes,
  sizes,
  slowReport,
  sum,
  WINDOW,
  withChecksum,
} from "./stream_support.ts";

/** One way of joining parts. */
interface Case {
  /** How long each part is, and whether its size is declared. */
  parts: { length: number; isSized: boolean }[];
  lengths: number[];
  from: typeof SOURCES[number];
  isKnown: boolean;
  crc32c: ConcatOptions["crc32c"];
}

/** Joins parts with each engine, and compares the stream and the report with the oracle. */
async function check(given: Case): Promise<void> {
  const { lengths, from, isKnown, crc32c } = given;
  const length = sum(given.parts.map(({ length }) => length));
  const chunk = crc32c === "verify"
    ? withChecksum(noise(length - 4))
    : noise(length);
  const parts = cutSlowly(chunk, given.parts.map(({ length }) => length));
  const sizes: Sizes = given.parts.map((part) =>
    part.isSized ? part.length : undefined
  );
  await inTempDir(async (folder) => {
    for (const engine of ENGINES) {
      const reports: unknown[] = [];
      const progress: number[] = [];
      const stream = concatStream(
        partsOf(sizes),
        ({ keySuffix }) => {
          const part = parts[Number(keySuffix.slice(1))]!.slice();
          return sourceOf(from, part, lengths, folder);
        },
        {
          engine,
          crc32c,
          chunkSize: isKnown ? length : undefined,
          onReport: (report) => reports.push(report),
          onProgress: (size) => progress.push(size),
        },
      );
      // Pieces are kept as they are, and looked at after the end.
      const pieces = await Array.fromAsync(stream);
      assertSameBytes(joined(pieces), chunk, engine);
      assert(pieces.every((piece) => piece.length > 0));
      assertEquals(reports, [slowReport(parts, crc32c !== "none")], engine);
      assertEquals(progress.at(-1) ?? 0, length);
      assertEquals(progress, [...new Set(progress)].sort((a, b) => a - b));
    }
  });
}

const part = fc.record({
  length: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 12 })),
  isSized: fc.boolean(),
});

for (const from of SOURCES) {
  Deno.test(`concatStream joins any parts, some without sizes, in any pieces from a ${from}`, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          parts: fc.array(part, { minLength: 1, maxLength: 5 }),
          lengths,
          isKnown: fc.boolean(),
          crc32c: fc.constantFrom("none", "compute"),
        }),
        (given) => check({ ...given, from }),
      ),
      { numRuns: 40 },
    );
  });
}

Deno.test("concatStream takes any chunk that ends with its CRC32C", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        parts: fc.array(part, { minLength: 1, maxLength: 5 })
          .filter((parts) => sum(parts.map(({ length }) => length)) >= 4),
        lengths,
        from: fc.constantFrom(...SOURCES),
        isKnown: fc.boolean(),
        crc32c: fc.constant("verify"),
      }),
      check,
    ),
    { numRuns: 100 },
  );
});

for (const from of SOURCES) {
  Deno.test(`concatStream joins megabytes from a ${from}`, async () => {
    const large = fc.constantFrom(
      0,
      4,
      65_537,
      WINDOW - 1,
      WINDOW,
      2 * WINDOW + 1,
    );
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          parts: fc.array(
            fc.record({ length: large, isSized: fc.boolean() }),
            { minLength: 2, maxLength: 4 },
          ).filter((parts) => parts.some(({ length }) => length > WINDOW)),
          lengths: fc.array(
            fc.constantFrom(1, 65_536, WINDOW, WINDOW + 1, 3 * WINDOW),
            { minLength: 1, maxLength: 3 },
          ).filter((lengths) => sum(lengths) > WINDOW / 4),
          isKnown: fc.boolean(),
          crc32c: fc.constantFrom("none", "compute", "verify"),
        }),
        (given) => check({ ...given, from }),
      ),
      { numRuns: 3 },
    );
  });
}

Deno.test("splitStream of concatStream gives the same parts, and concatStream of splitStream the same chunk", async () => {
  await fc.assert(
    fc.asyncProperty(
      sizes,
      fc.nat(30),
      lengths,
      fc.constantFrom(...ENGINES),
      async (sizes, rest, lengths, engine) => {
        const isOpen = sizes.includes(undefined);
        const chunk = noise(sum(sizes) + (isOpen ? rest : 0));
        const parts = partsOf(sizes);
        const options = { engine, crc32c: "compute" } as const;

        const first = collector("stream", "");
        const source = ReadableStream.from(inPieces(chunk, lengths));
        const report = await splitStream(source, parts, first.open, options);
        const open = async (part: { keySuffix: string }) => {
          const all = await first.parts();
          const bytes = all[Number(part.keySuffix.slice(1))]!.slice();
          return ReadableStream.from(inPieces(bytes.slice(), lengths));
        };
        const whole = await Array.fromAsync(concatStream(parts, open, options));
        assertSameBytes(joined(whole), chunk);

        const second = collector("writer", "");
        const again = concatStream(parts, open, options);
        assertEquals(
          await splitStream(again, parts, second.open, options),
          report,
        );
        assertEquals(await second.parts(), await first.parts());
      },
    ),
    { numRuns: 200 },
  );
});
