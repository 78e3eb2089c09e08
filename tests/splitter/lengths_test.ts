/** Chunks and parts of a wrong length, with the messages. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  concatStream,
  PartSizeError,
  type SplitOptions,
  splitStream,
} from "../../mod.ts";
import { ENGINES } from "../checksum/checksum_ways.ts";
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
} from "./oracle.ts";
import {
  assertGivenUp,
  each,
  probedSource,
  Sinks,
  type Source,
  SOURCE_KINDS,
} from "./probes.ts";

Deno.test("splitStream refuses a chunk that is too long without reading it to its end", async () => {
  for (const engine of ENGINES) {
    const source = probedSource("stream", inPieces(noise(50), [1]));
    const sinks = new Sinks("writer");
    const error = await assertRejects(
      () => splitStream(source.source, partsOf([2, 3]), sinks.open, { engine }),
      PartSizeError,
      "Chunk is at least 6 bytes long",
    );
    sinks.assertAborted(error);
    assertGivenUp(source, error);
    assert(source.pulls < 12, `${source.pulls} pieces`);
    assertStartOf(Uint8Array.from(sinks.all), noise(5));
  }
});

/** Joins parts that are wrong, and returns the error and what came before it. */
async function failingJoin(
  from: typeof SOURCE_KINDS[number],
  declared: Sizes,
  parts: readonly Uint8Array[],
  lengths: readonly number[],
  options: SplitOptions,
): Promise<
  { error: PartSizeError; received: Uint8Array; sources: Source[] }
> {
  const sources: Source[] = [];
  let reports = 0;
  const stream = concatStream(partsOf(declared), (part) => {
    const pieces = inPieces(parts[placeOf(part)]!, lengths);
    sources.push(probedSource(from, pieces));
    return sources.at(-1)!.source;
  }, { ...options, onReport: () => reports++ });
  const pieces: Uint8Array[] = [];
  const error = await assertRejects(async () => {
    for await (const piece of stream) pieces.push(piece);
  }, PartSizeError);
  assertEquals(reports, 0);
  return { error, received: joined(pieces), sources };
}

const DECLARED = [3, undefined, 4, undefined, 0];

for (
  const [part, length] of [[0, 2], [0, 4], [2, 3], [2, 5], [4, 1]] as const
) {
  Deno.test(`concatStream fails if part ${part} of sizes ${DECLARED.map(String)} has ${length} bytes, and gives no byte too many`, async () => {
    const real = DECLARED.map((size = 5) => size).with(part, length);
    const right = sum(real.slice(0, part + 1));
    const chunk = noise(sum(real));
    const size = DECLARED[part]!;
    for (const from of SOURCE_KINDS) {
      for (const lengths of [[1], [2], [9]]) {
        for (const crc32c of ["none", "compute", "verify"] as const) {
          for (const engine of ENGINES) {
            const key = lengths[0] === 1 ? undefined : "/c/0";
            const { error, received, sources } = await failingJoin(
              from,
              DECLARED,
              cutSlowly(chunk, real),
              lengths,
              { crc32c, engine, key },
            );
            const suffix = `${key ?? ""}.${part}`;
            assertEquals(
              error.message,
              `Part "${suffix}" is ${error.actual} bytes long, where its size is ${size}`,
            );
            assertEquals([error.key, error.expected], [suffix, size]);
            // A part that is too long is refused before it has ended.
            const isShort = length < size;
            assert(isShort ? error.actual === length : error.actual > size);
            assertStartOf(received, chunk.subarray(0, right));
            assertEquals(sources.length, part + 1);
            if (from === "reader" || !isShort) {
              assertGivenUp(sources[part]!, error);
            } else assertEquals(sources[part]!.ends, []);
          }
        }
      }
    }
  });
}

/** The length of a joined chunk, options, and the message after "Chunk". */
const WRONG_JOINS: [number, SplitOptions, string][] = [
  [
    9,
    { chunkSize: 8, key: "/c/0" },
    ' "/c/0" is at least 9 bytes long, where chunkSize says 8',
  ],
  [
    9,
    { chunkSize: 10, crc32c: "compute" },
    " is 9 bytes long, where chunkSize says 10",
  ],
  ...[0, 1, 2, 3].map((length): typeof WRONG_JOINS[number] => [
    length,
    { crc32c: "verify" },
    ` is ${length} bytes long, where the checksum at its end takes 4`,
  ]),
];

for (const [length, options, message] of WRONG_JOINS) {
  Deno.test(`concatStream fails if ${length} bytes come, with ${Deno.inspect(options)}`, async () => {
    const { chunkSize = 4, key = "" } = options;
    for (const from of SOURCE_KINDS) {
      for (const engine of ENGINES) {
        const { error, received } = await failingJoin(
          from,
          [undefined, undefined],
          [noise(length >> 1), noise(length - (length >> 1), 2)],
          [1],
          { ...options, engine },
        );
        assertEquals(error.message, `Chunk${message}`);
        assertEquals(
          [error.key, error.expected, error.actual],
          [key, chunkSize, length],
        );
        assert(received.length <= chunkSize);
      }
    }
  });
}

const HUGE = 2 ** 53 - 1;

each(
  (name) => `splitStream takes memory only for bytes that come, for ${name}`,
  {
    "a huge part after the unsized one": [undefined, HUGE],
    "a huge part before the unsized one": [HUGE, undefined],
    "one huge part": [HUGE],
    "a huge part after a small one": [1, HUGE],
  } as Record<string, Sizes>,
  async (sizes) => {
    const size = 2 * 1024 * 1024;
    for (const crc32c of ["none", "verify"] as const) {
      for (const engine of ENGINES) {
        const pieces = inPieces(noise(size), [50_000]);
        const { source } = probedSource("stream", pieces);
        const before = Deno.memoryUsage();
        const options = { crc32c, engine };
        const error = await assertRejects(
          () =>
            splitStream(
              source,
              partsOf(sizes),
              () => new WritableStream(),
              options,
            ),
          PartSizeError,
          `Chunk is ${size} bytes long, where its sized parts take `,
        );
        assertEquals(error.actual, size);
        // The memory of this test, not of the process, in which other tests run.
        const grown = Deno.memoryUsage().external - before.external;
        assert(grown < 32 * 1024 * 1024, `${grown} more bytes`);
      }
    }
  },
);
