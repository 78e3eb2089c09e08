import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { type SplitOptions, splitStream } from "../../mod.ts";
import { ENGINES } from "../checksum/checksum_ways.ts";
import { noise } from "../checksum/noise.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { collector, SINKS, sourceOf, SOURCES } from "./stream_kinds.ts";
import {
  assertSameBytes,
  cutSlowly,
  lengths,
  partsOf,
  type Sizes,
  sizes,
  slowReport,
  sum,
  WINDOW,
  withChecksum,
} from "./stream_support.ts";

const sourceKind = fc.constantFrom(...SOURCES);
const sinkKind = fc.constantFrom(...SINKS);

/** One way of splitting a chunk. */
interface Case {
  chunk: Uint8Array<ArrayBuffer>;
  sizes: Sizes;
  lengths: number[];
  from: typeof SOURCES[number];
  to: typeof SINKS[number];
  isKnown: boolean;
  crc32c: SplitOptions["crc32c"];
}

/** Splits a chunk with each engine, and compares parts and report with the oracle. */
async function check(given: Case): Promise<void> {
  const { chunk, sizes, lengths, from, to, isKnown, crc32c } = given;
  const expected = cutSlowly(chunk, sizes);
  const report = slowReport(expected, crc32c !== "none");
  await inTempDir(async (folder) => {
    for (const engine of ENGINES) {
      const source = await sourceOf(from, chunk, lengths, folder);
      const sinks = collector(to, folder);
      const chunkSize = isKnown ? chunk.length : undefined;
      const progress: number[] = [];
      const found = await splitStream(source, partsOf(sizes), sinks.open, {
        engine,
        crc32c,
        chunkSize,
        onProgress: (size) => progress.push(size),
      });
      assertEquals(found, report, engine);
      const parts = await sinks.parts();
      assertEquals(parts.length, expected.length);
      for (const [i, part] of parts.entries()) {
        assertSameBytes(part, expected[i]!, `part ${i}, ${engine}`);
      }
      assertEquals(progress.at(-1) ?? 0, chunk.length);
      assertEquals(progress, [...new Set(progress)].sort((a, b) => a - b));
    }
  });
}

for (const from of SOURCES) {
  Deno.test(`splitStream cuts any bytes in any pieces from a ${from} as slices of the whole are`, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          sizes,
          rest: fc.nat(30),
          lengths,
          to: sinkKind,
          isKnown: fc.boolean(),
          crc32c: fc.constantFrom("none", "compute"),
        }),
        async ({ rest, ...given }) => {
          const isOpen = given.sizes.includes(undefined);
          const chunk = noise(sum(given.sizes) + (isOpen ? rest : 0));
          await check({ ...given, chunk, from });
        },
      ),
      { numRuns: 60 },
    );
  });
}

Deno.test("splitStream takes any chunk that ends with its CRC32C", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        sizes: sizes.filter((sizes) =>
          sizes.includes(undefined) || sum(sizes) >= 4
        ),
        rest: fc.nat(30),
        lengths,
        from: sourceKind,
        to: sinkKind,
        isKnown: fc.boolean(),
      }),
      async ({ rest, ...given }) => {
        const isOpen = given.sizes.includes(undefined);
        const length = sum(given.sizes) + (isOpen ? rest : 0);
        const chunk = withChecksum(noise(Math.max(0, length - 4)));
        await check({ ...given, chunk, crc32c: "verify" });
      },
    ),
    { numRuns: 100 },
  );
});

/** More than all windows of a passage together, and not a multiple. */
const LARGE = withChecksum(noise(4.5 * WINDOW));

const largeLengths = fc.array(
  fc.constantFrom(1, 65_536, WINDOW - 1, WINDOW, WINDOW + 1, 3 * WINDOW),
  { minLength: 1, maxLength: 3 },
).filter((lengths) => sum(lengths) > WINDOW / 4);

const largeSizes = fc.tuple(
  fc.constantFrom(0, 1, 64, WINDOW - 1, WINDOW, WINDOW + 1),
  fc.constantFrom(undefined, 0, 65_537),
  fc.constantFrom(0, 4, 65_537, 2 * WINDOW + 1),
).map((sizes): Sizes =>
  sizes[1] === undefined ? sizes : [...sizes, LARGE.length - sum(sizes)]
);

for (const from of SOURCES) {
  Deno.test(`splitStream cuts megabytes from a ${from} as slices of the whole are`, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          sizes: largeSizes,
          lengths: largeLengths,
          to: sinkKind,
          isKnown: fc.boolean(),
          crc32c: fc.constantFrom("none", "compute", "verify"),
        }),
        (given) => check({ ...given, chunk: LARGE, from }),
      ),
      { numRuns: 3 },
    );
  });
}
