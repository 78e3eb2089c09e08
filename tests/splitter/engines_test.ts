import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import fc from "fast-check";
import { openNative } from "../../src/splitter/native_splitter.ts";
import type { ChunkPlan, Splitter } from "../../src/splitter/splitter.ts";
import {
  instancesInUse,
  WasmSplitter,
} from "../../src/splitter/wasm_splitter.ts";
import { crc32cOfPeer } from "../checksum/crc32c_oracle.ts";
import { noise } from "../checksum/noise.ts";
import { runs } from "../support/runs.ts";
import { assertSameBytes, joined } from "./oracle.ts";

const ENGINES: Record<string, (plan: ChunkPlan) => Splitter> = {
  native: openNative,
  wasm: (plan) => WasmSplitter.open(plan)!,
};

/** A chunk, its parts, and how its bytes come. */
interface Case {
  readonly sizes: (number | undefined)[];
  /** The length of the unsized part; without an unsized part, bytes too many or too few. */
  readonly rest: number;
  readonly isKnown: boolean;
  readonly withheld: number;
  /** The lengths of the pieces, repeated, and whether they are read into windows. */
  readonly pieces: number[];
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
  rest: fc.oneof(fc.nat(9), fc.nat(20_000)),
  isKnown: fc.boolean(),
  withheld: fc.constantFrom(0, 4),
  pieces: fc.array(fc.oneof(fc.nat(9), fc.nat(5000)), {
    minLength: 1,
    maxLength: 5,
  }).filter((lengths) => lengths.some((length) => length > 0)),
  usesWindows: fc.boolean(),
});

function sumOf(numbers: readonly (number | undefined)[]): number {
  return numbers.reduce<number>((sum, number) => sum + (number ?? 0), 0);
}

function lengthOf({ sizes, rest }: Case): number {
  const sized = sumOf(sizes);
  return sizes.includes(undefined) ? sized + rest : sized;
}

/** The parts, lengths and checksums that a splitter gives, by moving bytes as `splitStream` does. */
function split(open: (plan: ChunkPlan) => Splitter, item: Case) {
  const { sizes, isKnown, withheld, pieces, usesWindows } = item;
  const length = lengthOf(item);
  const chunk = noise(length);
  const splitter = open({
    sizes,
    total: isKnown ? length : undefined,
    withheld,
    isSplit: true,
  });
  const parts = sizes.map((): Uint8Array[] => []);
  const tail = sizes.slice(sizes.indexOf(undefined) + 1);
  const heldBack = Math.max(withheld, sumOf(tail));
  const isTotalKnown = isKnown || !sizes.includes(undefined);
  const last = parts.length - 1;

  let gone = 0;
  function collect(piece: Uint8Array) {
    const inMemory = splitter.cutInMemory().slice();
    let cut = 0;
    for (let part = splitter.firstPart; part <= splitter.lastPart; part++) {
      cut += splitter.cutLength(part);
    }
    assert(splitter.lastPart <= last);
    const ofPiece = piece.slice(0, cut - inMemory.length);
    const bytes = joined([inMemory, ofPiece]);
    gone += cut;
    splitter.sum(bytes);
    splitter.keep(piece.subarray(ofPiece.length));
    let start = 0;
    for (let part = splitter.firstPart; part <= splitter.lastPart; part++) {
      parts[part]!.push(
        bytes.subarray(start, start += splitter.cutLength(part)),
      );
    }
  }

  for (let start = 0, i = 0; start < length; i++) {
    const end = Math.min(length, start + pieces[i % pieces.length]!);
    let piece = chunk.slice(start, end);
    if (usesWindows) {
      const window = splitter.window();
      window.set(piece);
      piece = window.subarray(0, piece.length) as typeof piece;
    }
    assert(splitter.take(piece));
    collect(piece);
    start = end;
    // No byte is held back longer than it must be.
    assertEquals(
      gone,
      Math.max(
        0,
        isTotalKnown ? Math.min(end, length - withheld) : end - heldBack,
      ),
    );
  }
  const isLongEnough = splitter.finish();
  if (isLongEnough) collect(new Uint8Array());
  const checksum = splitter.checksum();
  const result = {
    isLongEnough,
    parts: parts.map(joined),
    lengths: sizes.map((_, part) => splitter.partLength(part)),
    checksums: sizes.map((_, part) => splitter.partChecksum(part)),
    checksum,
    stored: splitter.storedChecksum(),
    computed: splitter.computedChecksum(),
  };
  splitter.release();
  return result;
}

/** The same, by slices of the chunk. */
function splitSlowly(item: Case) {
  const chunk = noise(lengthOf(item));
  let end = 0;
  const parts = item.sizes.map((size = item.rest) =>
    chunk.slice(end, end += size)
  );
  const last = chunk.subarray(-4);
  return {
    isLongEnough: chunk.length >= item.withheld,
    parts,
    lengths: parts.map(({ length }) => length),
    checksums: parts.map(crc32cOfPeer),
    checksum: crc32cOfPeer(chunk),
    stored: last.length < 4 ? undefined : new DataView(
      last.buffer,
      last.byteOffset,
    ).getUint32(0, true),
    computed: crc32cOfPeer(chunk.subarray(0, -4)),
  };
}

function assertSame(
  { parts, ...actual }: ReturnType<typeof split>,
  { parts: expectedParts, ...expected }: ReturnType<typeof splitSlowly>,
): void {
  // Fewer than four bytes hold no checksum.
  if (expected.stored === undefined) {
    actual = { ...actual, computed: expected.computed };
    expected = { ...expected, stored: actual.stored };
  }
  assertEquals(actual as unknown, expected);
  for (const [i, part] of parts.entries()) {
    assertSameBytes(part, expectedParts[i]!, `part ${i}`);
  }
}

for (const [name, open] of Object.entries(ENGINES)) {
  Deno.test(`the engine ${name} cuts, holds back, counts and sums up as slices of the chunk do`, () => {
    fc.assert(
      fc.property(cases, (item) => {
        const actual = split(open, item);
        const expected = splitSlowly(item);
        if (!expected.isLongEnough) {
          assertStrictEquals(actual.isLongEnough, false);
          return;
        }
        assertSame(actual, expected);
      }),
      { numRuns: runs(400) },
    );
    assertStrictEquals(instancesInUse(), 0);
  });

  Deno.test(`the engine ${name} holds back tails that its memory must grow for, and moves them`, () => {
    for (const tail of [60_000, 100_000, 262_144, 262_145, 700_000]) {
      for (const usesWindows of [false, true]) {
        const item: Case = {
          sizes: [3, undefined, tail],
          rest: 800_000,
          isKnown: false,
          withheld: 4,
          pieces: [65_536, 1, 30_001],
          usesWindows,
        };
        assertSame(split(open, item), splitSlowly(item));
      }
    }
    assertStrictEquals(instancesInUse(), 0);
  });

  Deno.test(`the engine ${name} refuses one byte too many, and the end one byte too early`, () => {
    const plans: [ChunkPlan, number][] = [
      [{ sizes: [3, 4], total: undefined, withheld: 0, isSplit: true }, 7],
      [{ sizes: [3, undefined], total: 9, withheld: 0, isSplit: true }, 9],
      [{ sizes: [undefined], total: 4, withheld: 4, isSplit: true }, 4],
    ];
    for (const [plan, length] of plans) {
      for (const isInOne of [true, false]) {
        const long = open(plan);
        if (!isInOne) assert(long.take(new Uint8Array(length)));
        assertEquals(
          long.take(new Uint8Array(isInOne ? length + 1 : 1)),
          false,
        );
        long.release();
        const short = open(plan);
        assert(short.take(new Uint8Array(length - 1)));
        assertEquals(short.finish(), false);
        short.release();
      }
    }
    const least = open({
      sizes: [3, undefined, 2],
      total: undefined,
      withheld: 0,
      isSplit: true,
    });
    least.take(new Uint8Array(4));
    assertEquals(least.finish(), false);
    least.release();
  });

  Deno.test(`the engine ${name} counts the parts of a chunk that is joined`, () => {
    const splitter = open({
      sizes: [2, undefined, 0, undefined],
      total: undefined,
      withheld: 4,
      isSplit: false,
    });
    const bytes = noise(9);
    assertEquals(splitter.takePart(bytes.subarray(0, 1)), 0);
    assertEquals(splitter.endPart(), false); // One byte is missing.
    assertEquals(splitter.takePart(bytes.subarray(1, 2)), 0);
    assertEquals(splitter.passable(), 0);
    assert(splitter.endPart());
    assertEquals(splitter.takePart(bytes.subarray(2, 9)), 0);
    assertEquals(splitter.passable(), 5);
    assert(splitter.endPart());
    assert(splitter.endPart());
    assert(splitter.endPart());
    splitter.sum(bytes);
    assert(splitter.endChunk());
    assertEquals(splitter.passable(), 9);
    assertEquals(splitter.checksum(), crc32cOfPeer(bytes));
    assertEquals([0, 1, 2, 3].map((part) => splitter.partLength(part)), [
      ...[2, 7, 0, 0],
    ]);
    assertEquals([0, 1, 2, 3].map((part) => splitter.partChecksum(part)), [
      crc32cOfPeer(bytes.subarray(0, 2)),
      crc32cOfPeer(bytes.subarray(2)),
      ...[0, 0],
    ]);
    splitter.release();

    const small = open({
      sizes: [2, undefined],
      total: 3,
      withheld: 0,
      isSplit: false,
    });
    assertEquals(small.takePart(new Uint8Array(3)), 1); // The part is too long.
    small.release();
    const long = open({
      sizes: [2, undefined],
      total: 3,
      withheld: 0,
      isSplit: false,
    });
    assertEquals(long.takePart(new Uint8Array(2)), 0);
    assert(long.endPart());
    assertEquals(long.endChunk(), false); // The chunk is too short.
    assertEquals(long.takePart(new Uint8Array(2)), 2); // The chunk is too long.
    long.release();
  });
}
