/** The division of arrays into blocks that are decoded together. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  type BlockShapes,
  planBlocks,
} from "../../src/jobs/recode/recode_array.ts";

const axis = fc.record({
  shape: fc.integer({ min: 0, max: 40 }),
  source: fc.integer({ min: 1, max: 12 }),
  chunk: fc.integer({ min: 1, max: 12 }),
  count: fc.integer({ min: 1, max: 6 }),
});
const shapes = fc.array(axis, { maxLength: 3 }).map((axes): BlockShapes => ({
  shape: axes.map(({ shape }) => shape),
  sourceShape: axes.map(({ source }) => source),
  chunkShape: axes.map(({ chunk }) => chunk),
  objectShape: axes.map(({ chunk, count }) => chunk * count),
  elementSize: 2,
}));

/** How often chunks of the source are decoded along a dimension: one count for each block that has elements of one. */
function decodesOf(length: number, source: number, block: number): number {
  let decodes = 0;
  const blocks = Math.max(1, Math.ceil(length / block));
  for (let i = 0; i < blocks; i++) {
    const stop = Math.max(1, Math.min((i + 1) * block, length));
    decodes += Math.ceil(stop / source) - Math.floor(i * block / source);
  }
  return decodes / Math.max(1, Math.ceil(length / source));
}

Deno.test("planBlocks counts how often chunks are decoded, and keeps to the memory", () => {
  fc.assert(
    fc.property(
      shapes,
      fc.constantFrom(1, 20, 100, 400, 2000, 10_000),
      (shapes, limit) => {
        const { shape, sourceShape, chunkShape, objectShape } = shapes;
        const plan = planBlocks(shapes, limit);
        const bytesOf = (lengths: readonly number[]) =>
          lengths.reduce(
            (bytes, n, i) => bytes * Math.min(n, Math.max(1, shape[i]!)),
            2,
          );
        const decodes = (lengths: readonly number[]) =>
          lengths.reduce(
            (product, n, i) =>
              product * decodesOf(shape[i]!, sourceShape[i]!, n),
            1,
          );
        const { blockShape } = plan;
        assert(Math.abs(plan.decodes - decodes(blockShape)) < 1e-9);
        assertEquals(plan.blockBytes, bytesOf(blockShape));
        assertEquals(
          plan.groupShape,
          blockShape.map((n, i) => Math.max(n, objectShape[i]!)),
        );
        assertEquals(plan.groupBytes, bytesOf(plan.groupShape));
        // A block of single chunks may be longer than the limit.
        const isSmallest = blockShape.every((n, i) => n === chunkShape[i]);
        assert(plan.blockBytes <= limit || isSmallest);
        assert(plan.decodes <= decodes(chunkShape) + 1e-9);
      },
    ),
    { numRuns: 300 },
  );
});

Deno.test("planBlocks ends for arrays of many and of long dimensions", () => {
  const long = 2 ** 53 - 1;
  for (
    const [rank, length, source, chunk, count] of [
      [6, 100_000, 997, 1, 720_720],
      [30, 7, 3, 2, 2],
      [256, 3, 1, 1, 2],
      [3, long, 1, 1, 1],
      [3, long, long, 1, 1],
      [2, long, 1, long, 1],
      [2, long, 2 ** 31, 3, 2 ** 20],
      [1, 0, 1, 1, 2 ** 40],
    ] as const
  ) {
    const of = (n: number) => Array<number>(rank).fill(n);
    const { blockShape, decodes } = planBlocks({
      shape: of(length),
      sourceShape: of(source),
      chunkShape: of(chunk),
      objectShape: of(chunk * count),
      elementSize: 8,
    }, 2 ** 26);
    assert(blockShape.every((n) => n >= chunk && n % chunk === 0));
    assert(decodes > 1 - 1e-9, `${decodes}`);
  }
});
