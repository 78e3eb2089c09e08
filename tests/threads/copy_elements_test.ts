import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  copyElements,
  copyFromChunk,
  copyIntoChunk,
  copyIntoChunks,
  type ElementsAt,
  isRepeated,
  repeatElement,
} from "../../src/threads/copy_elements.ts";
import { runs } from "../support/runs.ts";
import { randomNumbers } from "../zarrita/elements.ts";

const SIZES = [1, 2, 3, 4, 5, 8, 12, 16];

/** Copies each element of a block, byte by byte. */
function slowCopy(
  to: ElementsAt,
  from: ElementsAt,
  counts: readonly number[],
  size: number,
): void {
  const places = placesIn(counts);
  for (const place of places) {
    const at = ({ offset, strides }: ElementsAt) =>
      place.reduce((sum, n, i) => sum + n * strides[i]!, offset) * size;
    for (let byte = 0; byte < size; byte++) {
      to.bytes[at(to) + byte] = from.bytes[at(from) + byte]!;
    }
  }
}

function placesIn(counts: readonly number[]): number[][] {
  return counts.reduce<number[][]>(
    (places, count) =>
      places.flatMap((place) =>
        Array.from({ length: count }, (_, n) => [...place, n])
      ),
    [[]],
  );
}

/** A layout whose elements lie at different places: dimensions in any order, with gaps. */
interface Layout {
  readonly strides: number[];
  /** The number of elements from the first to the end of the last. */
  readonly span: number;
}

function layoutOf(
  counts: readonly number[],
  order: readonly number[],
  steps: readonly number[],
): Layout {
  const strides = new Array<number>(counts.length).fill(0);
  let step = 1;
  for (const axis of order) {
    strides[axis] = step * steps[axis]!;
    step = strides[axis]! * Math.max(1, counts[axis]!);
  }
  return { strides, span: spanOf(counts, strides) };
}

function spanOf(counts: readonly number[], strides: readonly number[]): number {
  return counts.includes(0)
    ? 0
    : 1 + counts.reduce((sum, n, i) => sum + (n - 1) * strides[i]!, 0);
}

interface Case {
  size: number;
  counts: number[];
  to: Layout;
  from: Layout;
  /** The places of the first elements. */
  offsets: [number, number];
  /** The places of the views in their memory. */
  byteOffsets: [number, number];
  /** Bytes after the last element. */
  tails: [number, number];
  isShared: boolean;
  seed: number;
}

const pair = (most: number) => fc.tuple(fc.nat(most), fc.nat(most));

const anyCase: fc.Arbitrary<Case> = fc.nat(5).chain((rank) => {
  const each = <T>(arbitrary: fc.Arbitrary<T>) =>
    fc.array(arbitrary, { minLength: rank, maxLength: rank });
  const order = fc.shuffledSubarray(Array.from({ length: rank }, (_, i) => i), {
    minLength: rank,
  });
  const ordered = fc.constant(
    Array.from({ length: rank }, (_, i) => rank - 1 - i),
  );
  // Steps of 1 are frequent, so that dimensions lie one after another.
  const steps = each(
    fc.oneof(
      { weight: 4, arbitrary: fc.constant(1) },
      fc.integer({
        min: 2,
        max: 4,
      }),
    ),
  );
  const most = rank > 3 ? 3 : rank > 1 ? 6 : 20;
  const counts = fc.tuple(
    each(
      fc.oneof(
        { weight: 12, arbitrary: fc.integer({ min: 1, max: most }) },
        fc.constant(0),
      ),
    ),
    fc.option(fc.integer({ min: 100, max: 700 }), { freq: 4 }),
    fc.nat(4),
  ).map(([counts, long, axis]) =>
    long === null || axis >= rank
      ? counts
      : counts.map((count, i) => i === axis ? long : Math.min(count, 2))
  );
  return fc.record({
    size: fc.constantFrom(...SIZES),
    counts,
    orders: fc.tuple(fc.oneof(ordered, order), fc.oneof(ordered, order)),
    steps: fc.tuple(steps, steps),
    repeated: fc.option(each(fc.boolean()), { freq: 4 }),
    offsets: pair(9),
    byteOffsets: fc.oneof(
      fc.constantFrom<[number, number]>([0, 0], [8, 16], [4, 4]),
      pair(17),
    ),
    tails: pair(9),
    isShared: fc.boolean(),
    seed: fc.nat(),
  }).map(({ orders, steps, repeated, ...given }) => {
    const { counts } = given;
    const to = layoutOf(counts, orders[0], steps[0]);
    const from = layoutOf(counts, orders[1], steps[1]);
    const strides = from.strides.map((n, i) => repeated?.[i] ? 0 : n);
    return { ...given, to, from: { strides, span: spanOf(counts, strides) } };
  });
});

/** Memory of any bytes, and a view in it for elements of a layout. */
function memoryFor(
  { size, offsets, byteOffsets, tails, isShared, seed }: Case,
  which: 0 | 1,
  { span }: Layout,
): { memory: Uint8Array; bytes: Uint8Array } {
  const length = (offsets[which] + span) * size + tails[which];
  const Memory = isShared && which === 0 ? SharedArrayBuffer : ArrayBuffer;
  const memory = new Uint8Array(
    new Memory(byteOffsets[which] + length + 8),
  );
  const random = randomNumbers(seed + which);
  for (let i = 0; i < memory.length; i++) memory[i] = random() & 255;
  return {
    memory,
    bytes: new Uint8Array(memory.buffer, byteOffsets[which], length),
  };
}

Deno.test("copyElements copies any block as a slow copy does, and writes nothing else", () => {
  const units = new Set<string>();
  fc.assert(
    fc.property(anyCase, (given) => {
      const { size, counts, to, from, offsets } = given;
      const target = memoryFor(given, 0, to);
      const source = memoryFor(given, 1, from);
      const expected = new Uint8Array(target.memory);
      const [toStart] = given.byteOffsets;
      const before = new Uint8Array(source.memory);
      slowCopy(
        {
          bytes: expected.subarray(toStart),
          offset: offsets[0],
          strides: to.strides,
        },
        { bytes: source.bytes, offset: offsets[1], strides: from.strides },
        counts,
        size,
      );
      copyElements(
        { bytes: target.bytes, offset: offsets[0], strides: to.strides },
        { bytes: source.bytes, offset: offsets[1], strides: from.strides },
        counts,
        size,
      );
      assertEquals(new Uint8Array(target.memory), expected);
      assertEquals(source.memory, before);
      units.add(`${size} ${counts.some((n) => n >= 100)}`);
    }),
    { numRuns: runs(4000) },
  );
  assertEquals(units.size, 2 * SIZES.length);
});

interface BlockCase {
  counts: number[];
  starts: number[];
  steps: number[];
  order: number[];
  outOrder: number[];
  size: number;
}

const anyBlock: fc.Arbitrary<BlockCase> = fc.nat(4).chain((rank) => {
  const each = (min: number, max: number) =>
    fc.array(fc.integer({ min, max }), { minLength: rank, maxLength: rank });
  const order = fc.shuffledSubarray(Array.from({ length: rank }, (_, i) => i), {
    minLength: rank,
  });
  return fc.record({
    counts: each(0, 4),
    starts: each(0, 3),
    steps: each(1, 3),
    order,
    outOrder: order,
    size: fc.constantFrom(...SIZES),
  });
});

Deno.test("copyFromChunk and copyIntoChunk move the elements of a block", () => {
  fc.assert(
    fc.property(anyBlock, ({ counts, starts, steps, size, ...orders }) => {
      const ones = counts.map(() => 1);
      const shape = counts.map((n, i) => starts[i]! + n * steps[i]! + 1);
      const { strides, span } = layoutOf(shape, orders.order, ones);
      const out = layoutOf(counts, orders.outOrder, ones);
      const chunk = Uint8Array.from(
        { length: span * size },
        (_, i) => (i * 31 + 5) & 255,
      );
      const block = {
        bytes: new Uint8Array((out.span + 3) * size).fill(255),
        offset: 2,
        strides: out.strides,
        counts,
        starts,
        steps,
      };
      const expected = new Uint8Array(block.bytes);
      const changed = new Uint8Array(chunk).fill(9);
      const into = new Uint8Array(changed);
      for (const place of placesIn(counts)) {
        const at = place.reduce(
          (sum, n, i) => sum + (starts[i]! + n * steps[i]!) * strides[i]!,
          0,
        );
        const outAt = place
          .reduce((sum, n, i) => sum + n * out.strides[i]!, 2);
        for (let byte = 0; byte < size; byte++) {
          const value = chunk[at * size + byte]!;
          expected[outAt * size + byte] = value;
          into[at * size + byte] = value;
        }
      }
      copyFromChunk(block, { bytes: chunk, strides }, size);
      assertEquals(block.bytes, expected);
      copyIntoChunk(block, { bytes: changed, strides }, size);
      assertEquals(changed, into);
      assert(chunk.length === changed.length);
    }),
    { numRuns: runs(1500) },
  );
});

Deno.test("copyIntoChunks copies what copyIntoChunk copies for each chunk", () => {
  fc.assert(
    fc.property(
      anyBlock,
      fc.integer({ min: 1, max: 4 }),
      fc.nat(3),
      ({ counts, order, size }, chunkCount, axis) => {
        // Chunks side by side along a dimension of an array.
        const side = counts.length === 0 ? -1 : axis % counts.length;
        const number = side < 0 || counts.includes(0) ? 1 : chunkCount;
        const ones = counts.map(() => 1);
        const shape = counts.map((n, i) => i === side ? number * n + 1 : n);
        const array = layoutOf(shape, order, ones);
        const random = randomNumbers(size);
        const bytes = Uint8Array.from(
          { length: array.span * size },
          () => random() & 255,
        );
        const { strides, span } = layoutOf(counts, order.toReversed(), ones);
        const blocks = Array.from({ length: number }, (_, n) => ({
          bytes,
          offset: side < 0 ? 0 : n * counts[side]! * array.strides[side]!,
          strides: array.strides,
          counts,
          starts: counts.map(() => 0),
          steps: ones,
        }));
        const chunks = new Uint8Array(number * span * size);
        const expected = new Uint8Array(chunks);
        blocks.forEach((block, i) => {
          const chunk = expected.subarray(
            i * span * size,
            (i + 1) * span * size,
          );
          copyIntoChunk(block, { bytes: chunk, strides }, size);
        });
        copyIntoChunks(blocks, { bytes: chunks, strides }, size);
        assertEquals(chunks, expected);
      },
    ),
    { numRuns: runs(1000) },
  );
});

Deno.test("repeatElement sets each element of a block, and isRepeated sees any other byte", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...SIZES),
      fc.constantFrom(1, 2, 3),
      fc.integer({ min: 1, max: 40 }),
      fc.nat(9),
      fc.nat(),
      fc.boolean(),
      (size, parts, count, byteOffset, place, isUniform) => {
        // Elements of several numbers have these along the last dimension.
        const element = Uint8Array.from(
          { length: size * parts },
          (_, i) => isUniform ? 7 : 1 + i,
        );
        const length = count * element.length;
        const memory = new Uint8Array(byteOffset + length);
        const bytes = memory.subarray(byteOffset);
        const counts = parts > 1 ? [count, parts] : [count];
        const strides = parts > 1 ? [parts, 1] : [1];
        repeatElement({ bytes, offset: 0, strides }, element, counts, size);
        const expected = new Uint8Array(length)
          .map((_, i) => element[i % element.length]!);
        assertEquals(bytes, expected);
        assertEquals(isRepeated(bytes, element), true);
        bytes[place % length]! ^= 0x80;
        assertEquals(isRepeated(bytes, element), false);
      },
    ),
    { numRuns: runs(400) },
  );
});
