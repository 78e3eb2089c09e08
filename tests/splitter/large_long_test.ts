import fc from "fast-check";
import { noise } from "../checksum/noise.ts";
import { checkJoin, checkSplit, CHECKSUMS } from "./checks.ts";
import { MOST_HELD, type Sizes, sum, WINDOW, withChecksum } from "./oracle.ts";
import { SINKS, SOURCES } from "./ways.ts";

const crc32c = fc.constantFrom(...CHECKSUMS);

/** More than all windows of a split together, and not a multiple of anything. */
const LARGE = withChecksum(noise(7.3 * WINDOW));

/** More than all windows, for tails that fit into a window or two. */
const SHORTER = withChecksum(noise(4.3 * WINDOW));

/** Bytes after the unsized part, up to more than all windows together. */
const TAILS = [
  ...[0, 1, 4, 65_535, 65_536, 65_537],
  ...[MOST_HELD - 1, MOST_HELD, MOST_HELD + 1],
  ...[WINDOW - 1, WINDOW, WINDOW + 1, 4 * WINDOW, 7 * WINDOW],
];

/** Large and small pieces, and pieces that leave windows partly filled. */
const PIECES = [[65_536, 1, 3 * WINDOW, WINDOW - 1], [10_000]];

for (const tail of TAILS) {
  Deno.test(`splitStream holds back ${tail} bytes while the length is unknown`, async () => {
    const chunk = tail <= WINDOW + 1 ? SHORTER : LARGE;
    for (const lengths of Object.values(PIECES)) {
      for (const from of ["stream", "reader"] as const) {
        for (const to of ["stream", "writer"] as const) {
          for (const crc32c of ["none", "verify"] as const) {
            const half = tail >> 1;
            const sizes = [100, undefined, half, 0, tail - half];
            await checkSplit({ chunk, sizes, lengths, from, to, crc32c });
          }
        }
      }
    }
  });
}

for (const from of SOURCES) {
  const large = fc.constantFrom(
    ...[0, 1, 4, 65_537, WINDOW - 1, WINDOW, 2 * WINDOW + 1],
  );
  const lengths = fc.array(
    fc.constantFrom(1, 65_536, WINDOW - 1, WINDOW, WINDOW + 1, 3 * WINDOW),
    { minLength: 1, maxLength: 3 },
  ).filter((lengths) => sum(lengths) > MOST_HELD);

  Deno.test(`splitStream cuts megabytes from a ${from} as the oracle does`, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.tuple(large, fc.constantFrom(undefined, 0, 65_537), large),
        fc.record({ lengths, to: fc.constantFrom(...SINKS), crc32c }),
        fc.boolean(),
        async (three, given, isKnown) => {
          const sizes: Sizes = three.includes(undefined)
            ? three
            : [...three, LARGE.length - sum(three)];
          const chunkSize = isKnown ? LARGE.length : undefined;
          await checkSplit({ ...given, chunk: LARGE, sizes, from, chunkSize });
        },
      ),
      { numRuns: 3 },
    );
  });

  Deno.test(`concatStream joins megabytes from a ${from} as the oracle does`, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          parts: fc.array(
            fc.record({ length: large, isSized: fc.boolean() }),
            { minLength: 2, maxLength: 4 },
          ),
          lengths,
          isKnown: fc.boolean(),
          isStored: fc.boolean(),
          crc32c,
        }),
        (given) => checkJoin({ ...given, from: [from] }),
      ),
      { numRuns: 3 },
    );
  });
}
