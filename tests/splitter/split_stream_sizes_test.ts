import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { PartSizeError, type SplitOptions, splitStream } from "../../mod.ts";
import { ENGINES } from "../checksum/checksum_ways.ts";
import { noise } from "../checksum/noise.ts";
import { KINDS, probedSource, Sinks } from "./stream_probes.ts";
import { inPieces, partsOf, type Sizes } from "./stream_support.ts";

/** Lengths one off, or more, and what is said of them. */
const WRONG: {
  sizes: Sizes;
  length: number;
  options?: SplitOptions;
  expected: number;
  message: string;
}[] = [
  {
    sizes: [3, undefined, 4],
    length: 6,
    expected: 7,
    message: "Chunk is 6 bytes long, where its sized parts take at least 7",
  },
  {
    sizes: [3, undefined],
    length: 2,
    expected: 3,
    message: "Chunk is 2 bytes long, where its sized parts take at least 3",
  },
  {
    sizes: [undefined, 4],
    length: 0,
    options: { key: "/c/0" },
    expected: 4,
    message:
      'Chunk "/c/0" is 0 bytes long, where its sized parts take at least 4',
  },
  {
    sizes: [3, 4],
    length: 6,
    expected: 7,
    message: "Chunk is 6 bytes long, where its sized parts take exactly 7",
  },
  {
    sizes: [0],
    length: 1,
    options: { key: "/c/0" },
    expected: 0,
    message:
      'Chunk "/c/0" is at least 1 bytes long, where its sized parts take exactly 0',
  },
  {
    sizes: [3, 4],
    length: 8,
    expected: 7,
    message:
      "Chunk is at least 8 bytes long, where its sized parts take exactly 7",
  },
  {
    sizes: [3, 4],
    length: 6,
    options: { chunkSize: 7 },
    expected: 7,
    message: "Chunk is 6 bytes long, where its sized parts take exactly 7",
  },
  {
    sizes: [3, undefined, 4],
    length: 9,
    options: { chunkSize: 10 },
    expected: 10,
    message: "Chunk is 9 bytes long, where chunkSize says 10",
  },
  {
    sizes: [3, undefined, 4],
    length: 11,
    options: { chunkSize: 10, key: "/c/1" },
    expected: 10,
    message: 'Chunk "/c/1" is at least 11 bytes long, where chunkSize says 10',
  },
  {
    sizes: [undefined],
    length: 1,
    options: { chunkSize: 0 },
    expected: 0,
    message: "Chunk is at least 1 bytes long, where chunkSize says 0",
  },
];

for (const { sizes, length, options = {}, expected, message } of WRONG) {
  const { chunkSize, key = "" } = options;
  Deno.test(
    `splitStream refuses ${length} bytes for parts of sizes ${
      sizes.map(String)
    } and chunkSize ${chunkSize}, and closes nothing`,
    async () => {
      for (const from of KINDS) {
        for (const to of ["stream", "writer"] as const) {
          for (const engine of ENGINES) {
            const source = probedSource(from, inPieces(noise(length), [1]));
            const sinks = new Sinks(to);
            const error = await assertRejects(
              () =>
                splitStream(source.source, partsOf(sizes), sinks.open, {
                  ...options,
                  engine,
                }),
              PartSizeError,
            );
            assertEquals(error.message, message);
            assertEquals([error.key, error.expected, error.actual], [
              key,
              expected,
              length,
            ]);
            assertAborted(sinks, error);
            // A chunk that is too long is refused before its end is read.
            const isLong = length > expected;
            const cancelled = isLong ? [error] : [];
            assertEquals(
              source.ends,
              from === "reader" ? ["closed"] : cancelled,
            );
          }
        }
      }
    },
  );
}

/** All that was opened was aborted with the error, and nothing was closed. */
function assertAborted(sinks: Sinks, error: Error): void {
  const opened = sinks.log.filter((entry) => entry.startsWith("open"));
  const rest = sinks.log.slice(opened.length);
  assertEquals(rest, opened.map((entry) => entry.replace("open", "abort")));
  for (const reason of sinks.reasons) assertStrictEquals(reason, error);
}

Deno.test("splitStream refuses a chunk too long without reading it to its end", async () => {
  const source = probedSource("stream", inPieces(noise(50), [1]));
  const sinks = new Sinks("writer");
  const error = await assertRejects(
    () => splitStream(source.source, partsOf([2, 3]), sinks.open),
    PartSizeError,
    "Chunk is at least 6 bytes long",
  );
  assertAborted(sinks, error);
  assertEquals(sinks.log.length > 0, true);
  assertStrictEquals(source.ends[0], error);
  assertEquals(source.pulls < 12, true);
  // No byte too many was written.
  assertEquals(Object.values(sinks.written).flat().length <= 5, true);
});

for (
  const [sizes, chunkSize, message] of [
    [[3, 4], 6, "Chunk is 6 bytes long, where its sized parts take exactly 7"],
    [[3, 4], 8, "Chunk is 8 bytes long, where its sized parts take exactly 7"],
    [
      [3, undefined, 4],
      6,
      "Chunk is 6 bytes long, where its sized parts take at least 7",
    ],
  ] as [Sizes, number, string][]
) {
  Deno.test(
    `splitStream refuses chunkSize ${chunkSize} for parts of sizes ${
      sizes.map(String)
    } before it reads anything`,
    async () => {
      const source = probedSource("stream", [noise(7)]);
      const sinks = new Sinks("writer");
      const error = await assertRejects(
        () =>
          splitStream(source.source, partsOf(sizes), sinks.open, { chunkSize }),
        PartSizeError,
      );
      assertEquals(error.message, message);
      assertEquals([error.expected, error.actual], [7, chunkSize]);
      assertEquals([source.pulls, sinks.log], [0, []]);
      assertStrictEquals(source.ends[0], error);
    },
  );
}
