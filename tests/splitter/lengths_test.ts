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
  SINK_KINDS,
  Sinks,
  type Source,
  SOURCE_KINDS,
} from "./probes.ts";

/** A chunk of `length` bytes, the error that splitting it gives, and its message after "Chunk". */
interface WrongChunk {
  sizes: Sizes;
  length: number;
  options?: SplitOptions;
  expected: number;
  message: string;
}

const WRONG_CHUNKS: WrongChunk[] = [
  {
    sizes: [3, undefined, 4],
    length: 6,
    expected: 7,
    message: " is 6 bytes long, where its sized parts take at least 7",
  },
  {
    sizes: [3, undefined],
    length: 2,
    expected: 3,
    message: " is 2 bytes long, where its sized parts take at least 3",
  },
  {
    sizes: [undefined, 4],
    length: 0,
    options: { key: "/c/0" },
    expected: 4,
    message: ' "/c/0" is 0 bytes long, where its sized parts take at least 4',
  },
  {
    sizes: [3, 4],
    length: 6,
    expected: 7,
    message: " is 6 bytes long, where its sized parts take exactly 7",
  },
  {
    sizes: [0],
    length: 1,
    options: { key: "/c/0" },
    expected: 0,
    message:
      ' "/c/0" is at least 1 bytes long, where its sized parts take exactly 0',
  },
  {
    sizes: [3, 4],
    length: 8,
    expected: 7,
    message: " is at least 8 bytes long, where its sized parts take exactly 7",
  },
  {
    sizes: [3, 4],
    length: 6,
    options: { chunkSize: 7 },
    expected: 7,
    message: " is 6 bytes long, where its sized parts take exactly 7",
  },
  {
    sizes: [3, undefined, 4],
    length: 9,
    options: { chunkSize: 10 },
    expected: 10,
    message: " is 9 bytes long, where chunkSize says 10",
  },
  {
    sizes: [3, undefined, 4],
    length: 11,
    options: { chunkSize: 10, key: "/c/1" },
    expected: 10,
    message: ' "/c/1" is at least 11 bytes long, where chunkSize says 10',
  },
  {
    sizes: [undefined],
    length: 1,
    options: { chunkSize: 0 },
    expected: 0,
    message: " is at least 1 bytes long, where chunkSize says 0",
  },
  ...[0, 1, 2, 3].flatMap((length) =>
    [[undefined], [length]].map((sizes): WrongChunk => ({
      sizes,
      length,
      options: { crc32c: "verify" },
      expected: 4,
      message:
        ` is ${length} bytes long, where the checksum at its end takes 4`,
    }))
  ),
];

for (const { sizes, length, options = {}, expected, message } of WRONG_CHUNKS) {
  const { key = "" } = options;
  Deno.test(`splitStream refuses ${length} bytes for parts of sizes ${sizes.map(String)} and options ${Deno.inspect(options)}`, async () => {
    for (const from of SOURCE_KINDS) {
      for (const to of SINK_KINDS) {
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
          assertEquals(error.message, `Chunk${message}`);
          assertEquals(
            [error.key, error.expected, error.actual],
            [key, expected, length],
          );
          sinks.assertAborted(error);
          // A stream of bytes that are too many may not have ended yet.
          const hasEnded = from === "stream" && source.ends.length === 0;
          if (!hasEnded) assertGivenUp(source, error);
          else assert(source.pulls > length, `${source.pulls} pieces`);
        }
      }
    }
  });
}

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

const WRONG_CHUNK_SIZES: [Sizes, number, string][] = [
  [[3, 4], 6, "Chunk is 6 bytes long, where its sized parts take exactly 7"],
  [[3, 4], 8, "Chunk is 8 bytes long, where its sized parts take exactly 7"],
  [
    [3, undefined, 4],
    6,
    "Chunk is 6 bytes long, where its sized parts take at least 7",
  ],
];

for (const [sizes, chunkSize, message] of WRONG_CHUNK_SIZES) {
  Deno.test(`splitStream refuses chunkSize ${chunkSize} for parts of sizes ${sizes.map(String)} before it reads`, async () => {
    for (const engine of ENGINES) {
      const source = probedSource("stream", [noise(7)]);
      const sinks = new Sinks("writer");
      const options = { chunkSize, engine };
      const error = await assertRejects(
        () => splitStream(source.source, partsOf(sizes), sinks.open, options),
        PartSizeError,
      );
      assertEquals(error.message, message);
      assertEquals([error.expected, error.actual], [7, chunkSize]);
      assertEquals([source.pulls, sinks.log], [0, []]);
      assertGivenUp(source, error);
    }
  });
}

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

for (const [chunkSize, found] of [[8, "at least 9"], [10, "9"]] as const) {
  Deno.test(`concatStream fails if 9 bytes come and chunkSize says ${chunkSize}`, async () => {
    for (const from of SOURCE_KINDS) {
      for (const crc32c of ["none", "compute"] as const) {
        for (const engine of ENGINES) {
          const { error, received } = await failingJoin(
            from,
            [3, undefined],
            [noise(3), noise(6, 2)],
            [1],
            { chunkSize, crc32c, engine, key: "/c/0" },
          );
          assertEquals(
            error.message,
            `Chunk "/c/0" is ${found} bytes long, where chunkSize says ${chunkSize}`,
          );
          assertEquals(
            [error.key, error.expected, error.actual],
            ["/c/0", chunkSize, 9],
          );
          assert(received.length <= chunkSize);
        }
      }
    }
  });
}

for (let length = 0; length < 4; length++) {
  Deno.test(`concatStream fails if ${length} bytes come, too few for a checksum`, async () => {
    for (const from of SOURCE_KINDS) {
      for (const engine of ENGINES) {
        const { error } = await failingJoin(
          from,
          [undefined, undefined],
          [noise(0), noise(length)],
          [1],
          { crc32c: "verify", engine },
        );
        assertEquals(
          error.message,
          `Chunk is ${length} bytes long, where the checksum at its end takes 4`,
        );
        assertEquals([error.expected, error.actual], [4, length]);
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

Deno.test("concatStream of a part whose size is 2^53−1 fails where the part ends", async () => {
  for (const engine of ENGINES) {
    const { error, received } = await failingJoin(
      "reader",
      [HUGE, undefined],
      [noise(100)],
      [30],
      { engine },
    );
    assertEquals([error.expected, error.actual], [HUGE, 100]);
    assertEquals(received, noise(100));
  }
});
