import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  type Job,
  type JobResult,
  memoryOfJobs,
  memoryOfResults,
} from "../../src/threads/chunk_jobs.ts";
import { jobRunner } from "../../src/threads/run_chunk_worker.ts";
import { stridesOf } from "../../src/codecs/mod.ts";
import type { ChunkElements, ChunkFormat } from "../../src/threads/mod.ts";
import { runs } from "../support/runs.ts";

const CODECS: Record<string, ChunkFormat["codecs"]> = {
  bytes: [{ name: "bytes", configuration: { endian: "little" } }],
  big: [{ name: "bytes", configuration: { endian: "big" } }],
  zstd: [{ name: "bytes", configuration: { endian: "little" } }, {
    name: "zstd",
  }],
  gzip: [
    { name: "bytes", configuration: { endian: "little" } },
    { name: "gzip", configuration: { level: 1 } },
  ],
  transposed: [
    { name: "transpose", configuration: { order: [1, 0] } },
    { name: "bytes", configuration: { endian: "big" } },
    { name: "crc32c" },
  ],
  blosc: [{ name: "bytes", configuration: { endian: "little" } }, {
    name: "blosc",
    configuration: {
      cname: "lz4",
      clevel: 5,
      shuffle: "shuffle",
      typesize: 4,
      blocksize: 0,
    },
  }],
};

const SHAPE = [3, 5];
const FORMAT = { dataType: "uint32", elementSize: 4, shape: SHAPE };

function runJobs(
  jobs: readonly Job[],
  format: ChunkFormat,
  run = jobRunner(),
): Promise<JobResult[]> {
  return run({ format, jobs });
}

/** The stored bytes of a chunk of raw elements: rows one after another, or columns. */
function storedRaw(
  rows: readonly number[][],
  isColumns: boolean,
  isBig: boolean,
) {
  const flat = isColumns
    ? rows[0]!.flatMap((_, x) => rows.map((row) => row[x]!))
    : rows.flat();
  const view = new DataView(new ArrayBuffer(4 * flat.length));
  flat.forEach((n, i) => view.setUint32(4 * i, n, !isBig));
  return new Uint8Array(view.buffer);
}

/** The rows of a decoded chunk. */
function rowsOf(result: JobResult | undefined): number[][] {
  const { bytes, strides } = result as ChunkElements;
  const numbers = new Uint32Array(new Uint8Array(bytes).buffer);
  return Array.from(
    { length: 3 },
    (_, y) =>
      Array.from({ length: 5 }, (_, x) => {
        const place = y * strides[0]! + x * strides[1]!;
        return numbers[place]!;
      }),
  );
}

const anyNumber = fc.oneof(fc.constant(7), fc.nat(2 ** 32 - 1));
const anyRows = fc.array(
  fc.array(anyNumber, { minLength: 5, maxLength: 5 }),
  { minLength: 3, maxLength: 3 },
);

const bytesOf = (...numbers: number[]) =>
  new Uint8Array(new Uint32Array(numbers).buffer);
const filled = (rows: readonly number[][], [h, w]: number[], fill: number) =>
  rows.map((row, y) => row.map((n, x) => y < h! && x < w! ? n : fill));

Deno.test("jobs encode, decode and recode chunks, whole ones and those at the end of an array", async () => {
  await fc.assert(
    fc.asyncProperty(
      anyRows,
      fc.tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 5 })),
      fc.constantFrom(...Object.keys(CODECS)),
      fc.constantFrom(...Object.keys(CODECS)),
      fc.boolean(),
      async (rows, counts, name, recodedName, isShared) => {
        const runner = jobRunner();
        const format = {
          ...FORMAT,
          codecs: CODECS[name]!,
          recoded: CODECS[recodedName]!,
        };
        const Memory = isShared ? SharedArrayBuffer : ArrayBuffer;
        const value = new Uint8Array(new Memory(60));
        value.set(bytesOf(...rows.flat()));
        const isTransposed = name === "transposed";
        const block = {
          bytes: value,
          offset: 0,
          strides: [5, 1],
          counts,
          starts: [0, 0],
          steps: [1, 1],
        };
        const expected = filled(rows, counts, 7);
        const isFill = expected.flat().every((n) => n === 7);
        const job = {
          kind: "encode",
          elements: block,
          strides: stridesOf(SHAPE, isTransposed ? [1, 0] : "C"),
          fill: bytesOf(7),
        } as const;
        const leaveOut = bytesOf(7);
        const [encoded, left] = await runJobs(
          [job, { ...job, leaveOut }],
          format,
          runner,
        );
        assert(encoded instanceof Uint8Array);
        assertEquals(left, isFill ? true : encoded);
        if (["bytes", "big"].includes(name)) {
          assertEquals(encoded, storedRaw(expected, false, name === "big"));
        } else if (isTransposed) {
          assertEquals(
            encoded.subarray(0, 60),
            storedRaw(expected, true, true),
          );
        }
        // `transpose` takes elements in any order.
        for (const isColumns of isTransposed ? [true, false] : [false]) {
          const elements = storedRaw(expected, isColumns, false);
          const strides = isColumns ? [1, 3] : [5, 1];
          const again = { kind: "encode", elements, strides } as const;
          assertEquals(await runJobs([again], format, runner), [encoded]);
        }

        const target = new Uint8Array(60).fill(255);
        const [all, copied, checked] = await runJobs(
          [
            { kind: "decode", bytes: new Uint8Array(encoded) },
            {
              kind: "decode",
              bytes: new Uint8Array(encoded),
              block: { ...block, bytes: target },
            },
            { kind: "check", bytes: new Uint8Array(encoded) },
          ],
          format,
          runner,
        );
        assertEquals([copied, checked], [true, true]);
        assertEquals(rowsOf(all), expected);
        const [h, w] = counts;
        const part = rows.map((row, y) =>
          row.map((n, x) => y < h && x < w ? n : 2 ** 32 - 1)
        );
        assertEquals(target, bytesOf(...part.flat()));

        const [recoded, leftOut] = await runJobs(
          [undefined, bytesOf(9)].map((leaveOut) => ({
            kind: "recode",
            bytes: new Uint8Array(encoded),
            counts,
            strides: stridesOf(
              SHAPE,
              recodedName === "transposed" ? [1, 0] : "C",
            ),
            fill: bytesOf(9),
            leaveOut,
          })),
          format,
          runner,
        );
        const filledAnew = filled(rows, counts, 9);
        const isLeftOut = filledAnew.flat().every((n) => n === 9);
        assertEquals(leftOut, isLeftOut ? true : recoded);
        const [back] = await runJobs(
          [{ kind: "decode", bytes: recoded as Uint8Array }],
          { ...format, codecs: CODECS[recodedName]! },
          runner,
        );
        assertEquals(rowsOf(back), filledAnew);
      },
    ),
    { numRuns: runs(150) },
  );
});

Deno.test("results of jobs stay as they are when the next chunk is decoded or encoded", async () => {
  const runner = jobRunner();
  for (const name of ["bytes", "zstd", "gzip", "blosc"]) {
    const format = { ...FORMAT, codecs: CODECS[name]! };
    const jobs = [1, 2].map((n) => ({
      kind: "encode",
      elements: {
        bytes: bytesOf(n),
        offset: 0,
        strides: [0, 0],
        counts: SHAPE,
        starts: [0, 0],
        steps: [1, 1],
      },
      strides: [5, 1],
    } as const));
    const encoded = await runJobs(jobs, format, runner);
    const decoded = await runJobs(
      encoded.map((bytes) => ({ kind: "decode", bytes: bytes as Uint8Array })),
      format,
      runner,
    );
    assertEquals(
      decoded.map((result) => (result as ChunkElements).bytes[0]),
      [1, 2],
    );
  }
});

Deno.test("a job fails, and the others of its request do not, where a chunk is damaged or a codec is not that of this package", async () => {
  const strides = [5, 1];
  const sound = new Uint8Array(60);
  const format = { ...FORMAT, codecs: CODECS.bytes! };
  const results = await runJobs([
    { kind: "decode", bytes: sound.slice(1) },
    { kind: "check", bytes: sound.slice(1) },
    { kind: "decode", bytes: sound.slice() },
    { kind: "recode", bytes: sound.slice(), strides },
  ], format);
  const isFailed = results.map((result) =>
    Object.hasOwn(result as object, "failed")
  );
  assertEquals(isFailed, [true, true, false, true]);
  for (
    const codecs of [
      [{ name: "bytes" }, { name: "no_such_codec" }],
      [{ name: "constructor" }],
      [{ name: "bytes" }, { name: "bytes" }],
    ]
  ) {
    const jobs: Job[] = [
      { kind: "decode", bytes: sound.slice() },
      { kind: "encode", elements: sound.slice(), strides },
    ];
    for (const result of await runJobs(jobs, { ...FORMAT, codecs })) {
      assert("failed" in (result as object));
    }
  }
});

Deno.test("a worker keeps the codecs of few formats", async () => {
  const runner = jobRunner();
  for (let number = 0; number < 200; number++) {
    const codecs = CODECS[number % 2 === 0 ? "bytes" : "big"]!;
    const shape = [3, 5 + number % 100];
    const elements = bytesOf(...new Array(3 * shape[1]!).fill(1));
    const strides = [shape[1]!, 1];
    const job = { kind: "encode", elements, strides } as const;
    const format = { ...FORMAT, shape, codecs };
    const [found] = await runJobs([job], format, runner);
    assertEquals((found as Uint8Array)[0], number % 2 === 0 ? 1 : 0);
  }
});

Deno.test("jobs and results give their memory away once, and no memory that threads share", () => {
  const memory = new Uint8Array(8);
  const shared = { bytes: new Uint8Array(new SharedArrayBuffer(4)) };
  const jobs = [
    { kind: "decode", bytes: memory.subarray(0, 4) },
    { kind: "decode", bytes: memory.subarray(4) },
    { kind: "encode", elements: shared },
    { kind: "encode", elements: new Uint8Array(3) },
    { kind: "decode", bytes: new Uint8Array() },
  ] as unknown as Job[];
  assertEquals(memoryOfJobs(jobs).map(({ byteLength }) => byteLength), [8, 3]);
  const results = [true, memory, { failed: "No" }, {
    bytes: memory,
    strides: [],
  }] as const;
  assertEquals(memoryOfResults(results), [memory.buffer]);
});

Deno.test("jobs fill the rest of a chunk, whatever the chunk before it held", async () => {
  const strides = stridesOf(SHAPE);
  const encode = (value: number, counts: number[]): Job => ({
    kind: "encode",
    strides,
    elements: {
      bytes: new Uint8Array(new Uint32Array(15).fill(value).buffer),
      offset: 0,
      strides,
      counts,
      starts: [0, 0],
      steps: [1, 1],
    },
  });
  const format = { ...FORMAT, codecs: CODECS.zstd! };
  const runner = jobRunner();
  const jobs = [encode(7, SHAPE), encode(9, [1, 5])];
  const [, second] = await runJobs(jobs, format, runner);
  const [decoded] = await runJobs([
    { kind: "decode", bytes: second as Uint8Array },
  ], format);
  const empty = [0, 0, 0, 0, 0];
  assertEquals(rowsOf(decoded), [[9, 9, 9, 9, 9], empty, empty]);
});
