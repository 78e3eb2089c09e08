/** Splitting and joining by every engine, from every source to every sink, beside the slow oracle. */
import fc from "fast-check";
import { noise } from "../checksum/noise.ts";
import { runs, stride } from "../support/runs.ts";
import { checkJoin, checkSplit, CHECKSUMS } from "./checks.ts";
import {
  arbitraryLengths,
  arbitrarySizes,
  cutSlowly,
  errorOf,
  type Sizes,
  sum,
  withChecksum,
} from "./oracle.ts";
import { SINKS, SOURCES } from "./ways.ts";

const crc32c = fc.constantFrom(...CHECKSUMS);

for (const from of SOURCES) {
  Deno.test(`splitStream from a ${from} gives the parts, the report or the error of the oracle`, async () => {
    await fc.assert(
      fc.asyncProperty(
        arbitrarySizes,
        fc.nat(30),
        fc.record({
          lengths: arbitraryLengths,
          to: fc.constantFrom(...SINKS),
          crc32c,
        }),
        fc.constantFrom("unknown", "known", "one less", "one more"),
        fc.constantFrom(0, 0, 0, -1, 1),
        fc.boolean(),
        async (sizes, rest, given, told, offBy, isRight) => {
          const isOpen = sizes.includes(undefined);
          const least = sum(sizes);
          const length = Math.max(0, least + (isOpen ? rest : 0) + offBy);
          const chunk = isRight && length >= 4
            ? withChecksum(noise(length - 4))
            : noise(length);
          const chunkSize = told === "unknown" ? undefined : Math.max(
            0,
            length + { "known": 0, "one less": -1, "one more": 1 }[told]!,
          );
          await checkSplit({ ...given, chunk, sizes, from, chunkSize });
        },
      ),
      { numRuns: runs(80) },
    );
  });
}

Deno.test("concatStream gives the chunk, the report or the error of the oracle, from any sources", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        parts: fc.array(
          fc.record({
            length: fc.oneof(fc.constant(0), fc.nat(12)),
            isSized: fc.boolean(),
          }),
          { minLength: 1, maxLength: 6 },
        ),
        lengths: arbitraryLengths,
        from: fc.array(fc.constantFrom(...SOURCES), { minLength: 1 }),
        isKnown: fc.boolean(),
        isStored: fc.boolean(),
        crc32c,
      }),
      checkJoin,
    ),
    { numRuns: runs(300) },
  );
});

/** Numbers of parts around the sizes of tables and buffers. */
const COUNTS = [1, 2, 31, 32, 33, 255, 256, 257, 1023, 1024];

for (let i = 0; i < COUNTS.length; i += stride(3)) {
  const count = COUNTS[i]!;
  Deno.test(`splitStream and concatStream take ${count} parts, some of them empty`, async () => {
    const random = noise(count, count);
    const sized = Array.from(random, (byte) => byte % 3 === 0 ? 0 : byte % 40);
    const places = count > 1000 ? [] : [0, count - 1];
    for (const unsized of [undefined, count >> 1, ...places]) {
      const sizes = unsized === undefined
        ? sized
        : (sized as Sizes).with(unsized, undefined);
      const least = sum(sizes);
      const chunk = withChecksum(
        noise(Math.max(0, (unsized === undefined ? least : least + 77) - 4)),
      );
      if (errorOf(chunk, sizes, {}) !== undefined) continue;
      const ways = CHECKSUMS.flatMap((crc32c) =>
        (["stream", "reader"] as const).map((from) => ({ crc32c, from }))
      );
      for (let i = 0; i < ways.length; i += stride(5)) {
        const lengths = [1000, 1, 17];
        const to = "writer";
        await checkSplit({ chunk, sizes, lengths, to, ...ways[i]! });
      }
      const parts = cutSlowly(chunk, sizes).map(({ length }, i) => ({
        length,
        isSized: i % 2 === 0,
      }));
      for (const isStored of [false, true]) {
        await checkJoin({
          parts,
          lengths: [1000, 1, 17],
          from: ["reader"],
          isKnown: false,
          isStored,
          crc32c: "verify",
        });
      }
    }
  });
}

Deno.test("splitStream and concatStream run twenty at once without mixing bytes or checksums", async () => {
  await Promise.all(Array.from({ length: 20 }, async (_, i) => {
    const crc32c = CHECKSUMS[i % 3]!;
    const data = noise(140_000 + 1000 * i, i + 1);
    const chunk = withChecksum(data);
    const from = SOURCES[i % SOURCES.length]!;
    const lengths = [100_000, 65_537];
    const to = SINKS[i % SINKS.length]!;
    const sizes = [100, undefined, 70_000, 4];
    await checkSplit({ chunk, sizes, lengths, from, to, crc32c });
    await checkJoin({
      parts: cutSlowly(chunk, sizes)
        .map(({ length }, i) => ({ length, isSized: i % 3 === 0 })),
      lengths,
      from: [from],
      isKnown: i % 2 === 0,
      isStored: i % 4 < 2,
      crc32c,
    });
  }));
});
