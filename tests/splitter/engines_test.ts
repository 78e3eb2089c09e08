import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { SplitOptions } from "../../mod.ts";
import {
  type ChunkPlan,
  instancesInUse,
  type OpenEngine,
  openNative,
  openWasm,
} from "../../src/splitter/engines.ts";
import { chunkSizes, settingsOf } from "../../src/splitter/stream_options.ts";
import { type Cut, Splitter, Windows } from "../../src/splitter/splitter.ts";
import { crc32cOfPeer } from "../checksum/crc32c_oracle.ts";
import { noise } from "../checksum/noise.ts";
import { runs } from "../support/runs.ts";
import {
  assertSameBytes,
  cutSlowly,
  joined,
  partsOf,
  type Sizes,
  sum,
  withChecksum,
} from "./oracle.ts";

const ENGINES: Record<string, OpenEngine> = {
  native: openNative,
  wasm: openWasm,
};

/**
 * What an engine answers to a plan and a list of lengths that come: for each of them, and
 * for the end, the bytes cut for each part from the first to the last.
 */
const CUTS: [ChunkPlan, number[], [number, number[]][]][] = [
  // Nothing is held back.
  [plan([3, 4]), [7], [[0, [3, 4]], [1, [0]]]],
  [plan([3, 4]), [3, 1, 3], [[0, [3]], [0, [0, 1]], [1, [3]], [1, [0]]]],
  [plan([0, 2, 0, 0]), [1, 1], [[0, [0, 1]], [1, [1]], [1, [0]]]],
  [plan([2, Infinity]), [1, 5], [[0, [1]], [0, [1, 4]], [1, [0]]]],
  // The last two bytes, or four of which the parts take two, are held back.
  [plan([Infinity, 2], 2), [1, 5], [[0, [0]], [0, [4]], [0, [0, 2]]]],
  [plan([1, Infinity, 2], 4), [5, 1], [[0, [1]], [0, [0, 1]], [
    1,
    [2, 2],
  ]]],
  // The length is known, and the last four bytes are held back to the end.
  [plan([6, 2], 0, 4), [3, 4, 1], [[0, [3]], [0, [1]], [0, [0]], [
    0,
    [2, 2],
  ]]],
  // Lengths beyond 2^32.
  [plan([2 ** 40, Infinity]), [2 ** 33, 2 ** 40], [[0, [2 ** 33]], [
    0,
    [2 ** 40 - 2 ** 33, 2 ** 33],
  ], [1, [0]]]],
];

function plan(sizes: number[], tail = 0, end = Infinity): ChunkPlan {
  return { sizes, tail, end };
}

for (const [name, open] of Object.entries(ENGINES)) {
  for (const [plan, lengths, expected] of CUTS) {
    Deno.test(`the engine ${name} cuts ${lengths} bytes by ${Deno.inspect(plan)}`, () => {
      const engine = open(plan);
      const cuts = (): [number, number[]] => {
        const { firstPart, lastPart } = engine;
        const parts = Array.from(
          { length: lastPart - firstPart + 1 },
          (_, i) => engine.cutLength(firstPart + i),
        );
        return [firstPart, parts];
      };
      const found = lengths.map((length) => {
        engine.take(length);
        return cuts();
      });
      engine.finish();
      assertEquals([...found, cuts()], expected);
      engine.release();
      assertEquals(instancesInUse(), 0);
    });
  }

  Deno.test(`a splitter with the engine ${name} cuts, holds back, counts and sums up as slices of the chunk do`, () => {
    fc.assert(
      fc.property(cases, (item) => assertSplit(open, item)),
      { numRuns: runs(400) },
    );
    assertEquals(instancesInUse(), 0);
  });
}

/** A chunk, its parts, and how its bytes come. */
interface Case {
  readonly sizes: Sizes;
  /** The length of the unsized part. */
  readonly rest: number;
  readonly isKnown: boolean;
  readonly crc32c: NonNullable<SplitOptions["crc32c"]>;
  /** The lengths of the pieces, repeated, and whether they are read into windows. */
  readonly pieces: readonly number[];
  readonly usesWindows: boolean;
}

const size = fc.oneof(fc.constant(0), fc.nat(9), fc.nat(3000));

const cases: fc.Arbitrary<Case> = fc.record({
  sizes: fc.tuple(fc.array(size, { maxLength: 6 }), fc.option(fc.nat(6))).map(
    ([sized, unsized]) =>
      unsized === null
        ? [...sized, 5]
        : (sized as (number | undefined)[]).toSpliced(unsized, 0, undefined),
  ),
  rest: fc.oneof(fc.integer({ min: 4, max: 9 }), fc.nat(20_000)),
  isKnown: fc.boolean(),
  crc32c: fc.constantFrom("none", "compute", "verify"),
  pieces: fc.array(fc.oneof(fc.nat(9), fc.nat(5000)), {
    minLength: 1,
    maxLength: 5,
  }).filter((lengths) => lengths.some((length) => length > 0)),
  usesWindows: fc.boolean(),
});

function splitterOf(open: OpenEngine, sizes: Sizes, options: SplitOptions) {
  const { parts } = partsOf(sizes);
  return new Splitter(
    settingsOf(parts, [chunkSizes(parts)], options),
    true,
    open,
  );
}

/** Splits a chunk by moving bytes as `splitStream` does, and compares all that can be seen with slices of the chunk. */
function assertSplit(open: OpenEngine, item: Case): void {
  const { sizes, isKnown, crc32c, pieces, usesWindows } = item;
  const length = sum(sizes) + (sizes.includes(undefined) ? item.rest : 0);
  const isVerified = crc32c === "verify" && length >= 4;
  const chunk = isVerified ? withChecksum(noise(length - 4)) : noise(length);
  const splitter = splitterOf(open, sizes, {
    crc32c: isVerified || crc32c !== "verify" ? crc32c : "none",
    ...isKnown && { chunkSize: length },
  });
  const withheld = isVerified ? 4 : 0;
  const behind = sum(sizes.slice(sizes.indexOf(undefined) + 1));
  const isTotalKnown = isKnown || !sizes.includes(undefined);
  const parts = sizes.map((): Uint8Array[] => []);
  let gone = 0;
  /** What the last two pieces let go on, which is written while the next one is read. */
  const writing: Cut[][] = [];
  function collect(cuts: Cut[]): void {
    for (const { bytes } of cuts) gone += bytes.length;
    writing.push(cuts);
  }
  function write(most: number): void {
    while (writing.length > most) {
      for (const { part, bytes } of writing.shift()!) {
        parts[part]!.push(bytes.slice());
      }
    }
  }
  for (let start = 0, i = 0; start < length; i++) {
    const room = usesWindows ? splitter.window().length : Infinity;
    const end = Math.min(
      length,
      start + Math.min(pieces[i % pieces.length]!, room),
    );
    let piece: Uint8Array = chunk.slice(start, end);
    if (usesWindows) {
      const window = splitter.window();
      window.set(piece);
      piece = window.subarray(0, piece.length);
    }
    write(1);
    const cuts = splitter.take(piece);
    splitter.sum(cuts);
    collect(cuts);
    start = end;
    // No byte is held back longer than it must be.
    const held = isTotalKnown
      ? Math.max(0, withheld - (length - end))
      : Math.max(withheld, behind);
    assertEquals(gone, Math.max(0, end - held));
  }
  collect(splitter.end());
  write(0);
  const { parts: reports, ...whole } = splitter.report;
  const expected = cutSlowly(chunk, sizes);
  for (const [i, part] of parts.entries()) {
    assertSameBytes(joined(part), expected[i]!, `part ${i}`);
  }
  const hasChecksums = crc32c === "compute" || isVerified;
  const reportOf = (bytes: Uint8Array) => ({
    size: bytes.length,
    ...hasChecksums && { crc32c: crc32cOfPeer(bytes) },
  });
  assertEquals(whole, reportOf(chunk));
  for (const [i, { keySuffix: _, ...report }] of reports.entries()) {
    assertEquals(report, reportOf(expected[i]!));
  }
  splitter.release();
}

Deno.test("the cuts of one piece are lent but for the last, since a stream may transfer its memory", () => {
  const areLent = (splitter: Splitter, piece: Uint8Array) =>
    splitter.take(piece).map(({ isLent }) => isLent);
  const split = () => splitterOf(openNative, [2, 3, undefined], {});
  assertEquals(areLent(split(), new Uint8Array(9)), [true, true, false]);
  const splitter = split();
  const window = splitter.window().subarray(0, 9);
  assertEquals(areLent(splitter, window), [true, true, true]);
  splitter.release();
});

Deno.test("windows are filled again when three others are full, and not while their bytes are held", () => {
  const windows = new Windows([]);
  const memories: ArrayBufferLike[] = [];
  const fill = (holds: boolean) => {
    const window = windows.window();
    memories.push(window.buffer);
    windows.hold(window);
    if (!holds) assert(windows.pass(window.length).length > 0);
  };
  for (let i = 0; i < 8; i++) fill(false);
  assertEquals(new Set(memories).size, 4);
  assertEquals(memories.slice(4), memories.slice(0, 4));
  for (let i = 0; i < 6; i++) fill(true);
  // Three windows in flight before the six that are held.
  assertEquals(new Set(memories.slice(-9)).size, 9);
  windows.release();
});
