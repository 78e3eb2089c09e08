import type { Run } from "../../blocks/mod.ts";

/** A part of an array: the elements along each dimension. */
export type Box = readonly Run[];

/** The division of an array into blocks, whose elements are decoded together. All shapes are in elements. */
export interface BlockPlan {
  /** The shape of a block: whole chunks of the target. */
  readonly blockShape: readonly number[];
  /** The shape of a group of blocks, which fills whole stored chunks of the target. */
  readonly groupShape: readonly number[];
  /** The length of the elements of a block in bytes. */
  readonly blockBytes: number;
  /** The length of the elements of a group in bytes. */
  readonly groupBytes: number;
  /** How often a chunk of the source is decoded, on average. */
  readonly decodes: number;
}

/** The shapes of an array before and after it is encoded anew. */
export interface BlockShapes {
  readonly shape: readonly number[];
  /** The shape of the innermost chunks of the source. */
  readonly sourceShape: readonly number[];
  /** The shape of the innermost chunks of the target. */
  readonly chunkShape: readonly number[];
  /** The shape of stored chunks of the target: of shards, if there are some. */
  readonly objectShape: readonly number[];
  /** The length of an element in bytes. */
  readonly elementSize: number;
}

/** Blocks are made as long as this, in bytes, if no chunk is decoded more often then. */
const BLOCK_BYTES = 16 * 2 ** 20;
/** The most candidates for the length of a block along one dimension. */
const MOST_LENGTHS = 64;

/**
 * Divides an array so that chunks of the source are decoded as rarely as the memory allows.
 * A chunk is decoded once for each block that it lies in.
 *
 * @param limit The most bytes of a block, unless a single chunk of the target has more.
 */
export function planBlocks(shapes: BlockShapes, limit: number): BlockPlan {
  const { shape, elementSize, objectShape } = shapes;
  const axes = shape.map((_, i) => new BlockAxis(shapes, i));
  const bytesOf = (lengths: readonly number[]) =>
    lengths.reduce(
      (bytes, length, i) => bytes * Math.min(length, Math.max(1, shape[i]!)),
      elementSize,
    );
  const blockShape = axes.map(({ lengths }) => lengths[0]!);
  decodeRarely(blockShape, axes, limit / bytesOf(blockShape));
  grow(blockShape, axes, bytesOf, Math.min(limit, BLOCK_BYTES));
  const groupShape = blockShape.map((length, i) =>
    Math.max(length, objectShape[i]!)
  );
  return {
    blockShape,
    groupShape,
    blockBytes: bytesOf(blockShape),
    groupBytes: bytesOf(groupShape),
    decodes: axes.reduce(
      (product, axis, i) => product * axis.decodes(blockShape[i]!),
      1,
    ),
  };
}

/** A dimension of an array that is divided into blocks. */
class BlockAxis {
  /** The lengths that blocks may have, in rising order: parts of a stored chunk, and several of them. */
  readonly lengths: readonly number[];
  readonly objectLength: number;
  readonly #length: number;
  readonly #sourceLength: number;

  constructor(
    { shape, sourceShape, chunkShape, objectShape }: BlockShapes,
    i: number,
  ) {
    this.#length = shape[i]!;
    this.#sourceLength = sourceShape[i]!;
    this.objectLength = objectShape[i]!;
    const objects = Math.max(1, Math.ceil(this.#length / objectShape[i]!));
    this.lengths = [
      ...divisors(objectShape[i]! / chunkShape[i]!)
        .map((count) => count * chunkShape[i]!),
      ...multiples(objects, objectShape[i]!, sourceShape[i]!),
    ];
  }

  /** How often a chunk of the source is decoded along this dimension, on average. */
  decodes(blockLength: number): number {
    const sourceLength = this.#sourceLength;
    const chunks = Math.max(1, Math.ceil(this.#length / sourceLength));
    const cuts = Math.max(0, Math.ceil(this.#length / blockLength) - 1);
    // Cuts between blocks that are cuts between chunks, too, divide no chunk.
    const period = sourceLength / gcd(sourceLength, blockLength);
    return (chunks + cuts - Math.floor(cuts / period)) / chunks;
  }

  /** By how much more memory a longer block takes. */
  growth(from: number, to: number): number {
    const length = Math.max(1, this.#length);
    return Math.min(to, length) / Math.min(from, length);
  }
}

/**
 * Makes blocks longer, each time along the dimension where chunks are decoded most rarely for
 * the memory that it takes.
 *
 * @param limit By how much more memory a block may take.
 */
function decodeRarely(
  blockShape: number[],
  axes: readonly BlockAxis[],
  limit: number,
): void {
  for (let left = limit;;) {
    let best = { i: -1, length: 0, growth: 1, gain: 0 };
    for (const [i, axis] of axes.entries()) {
      const now = blockShape[i]!;
      for (const length of axis.lengths) {
        const growth = axis.growth(now, length);
        if (growth > left) break;
        const fewer = Math.log(axis.decodes(now) / axis.decodes(length));
        const gain = fewer / Math.log(growth);
        if (fewer > 0 && gain > best.gain) best = { i, length, growth, gain };
      }
    }
    if (best.i < 0) return;
    blockShape[best.i] = best.length;
    left /= best.growth;
  }
}

/** Leaves out every second length, and keeps the first and the last one. */
function thinned(lengths: readonly number[]): number[] {
  return lengths.filter((_, i) => i % 2 === 0 || i === lengths.length - 1);
}

/**
 * Makes blocks longer, the last dimension first, so that blocks follow one another in the
 * order of the chunks in a shard. No chunk is decoded more often.
 */
function grow(
  blockShape: number[],
  axes: readonly BlockAxis[],
  bytesOf: (lengths: readonly number[]) => number,
  limit: number,
): void {
  for (const isWithin of [true, false]) {
    for (const [i, axis] of Array.from(axes.entries()).reverse()) {
      for (const length of axis.lengths) {
        const isAllowed = length > blockShape[i]! &&
          (!isWithin || length <= axis.objectLength) &&
          axis.decodes(length) <= axis.decodes(blockShape[i]!);
        if (!isAllowed) continue;
        if (bytesOf(blockShape.with(i, length)) > limit) break;
        blockShape[i] = length;
      }
    }
  }
}

/** The divisors of a number in rising order; of many, those that are spread evenly, the first and the last one. */
function divisors(number: number): number[] {
  const low: number[] = [];
  const high: number[] = [];
  for (let i = 1; i * i <= number; i++) {
    if (number % i !== 0) continue;
    low.push(i);
    if (i * i < number) high.unshift(number / i);
  }
  let all = [...low, ...high];
  while (all.length > MOST_LENGTHS) all = thinned(all);
  return all;
}

/** The lengths of several stored chunks: those of few, of powers of 2, those that end where a chunk of the source does, and all. */
function multiples(
  count: number,
  objectLength: number,
  sourceLength: number,
): number[] {
  const period = sourceLength / gcd(sourceLength, objectLength);
  const counts = new Set<number>([count]);
  for (let n = 2; n < count && n <= MOST_LENGTHS / 2; n++) counts.add(n);
  for (let n = MOST_LENGTHS; n < count; n *= 2) counts.add(n);
  for (let n = period; n < count && n > 1; n *= 2) counts.add(n);
  counts.delete(1);
  return [...counts].sort((a, b) => a - b).map((n) => n * objectLength);
}

function gcd(a: number, b: number): number {
  while (b > 0) [a, b] = [b, a % b];
  return a;
}
