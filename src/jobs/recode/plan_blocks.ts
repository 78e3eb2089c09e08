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
/** The most stored chunks in a block along a dimension for which each number of them is tried. */
const FEW = 32;

/**
 * Divides an array so that chunks of the source are decoded as rarely as the memory allows.
 * A chunk is decoded once for each block that it lies in.
 *
 * @param limit The most bytes of a block, unless a single chunk of the target has more.
 */
export function planBlocks(shapes: BlockShapes, limit: number): BlockPlan {
  const { shape, elementSize, objectShape } = shapes;
  const axes = shape.map((_, i) => lengthsAlong(shapes, i));
  const bytesOf = (lengths: readonly number[]) =>
    lengths.reduce(
      (bytes, length, i) => bytes * Math.min(length, Math.max(1, shape[i]!)),
      elementSize,
    );
  const decodesOf = (lengths: readonly number[]) =>
    lengths.reduce((n, length, i) => n * decodesAlong(shapes, i, length), 1);
  let blockShape = axes.map(([shortest]) => shortest!);
  // Blocks get longer where chunks are decoded most rarely for the memory that it takes.
  for (let gain = Infinity; gain > 0;) {
    const [bytes, decodes] = [bytesOf(blockShape), decodesOf(blockShape)];
    let best = blockShape;
    gain = 0;
    for (const [i, lengths] of axes.entries()) {
      for (const length of lengths) {
        const longer = blockShape.with(i, length);
        if (bytesOf(longer) > limit) break;
        const fewer = Math.log(decodes / decodesOf(longer));
        const each = fewer / Math.log(bytesOf(longer) / bytes);
        if (fewer > 0 && each > gain) [best, gain] = [longer, each];
      }
    }
    blockShape = best;
  }
  // The last dimension comes first, so that blocks follow one another as the chunks in a shard do.
  for (const isInObject of [true, false]) {
    for (const [i, lengths] of Array.from(axes.entries()).reverse()) {
      for (const length of lengths) {
        const longer = blockShape.with(i, length);
        if (bytesOf(longer) > Math.min(limit, BLOCK_BYTES)) break;
        const isAllowed = length > blockShape[i]! &&
          (!isInObject || length <= objectShape[i]!) &&
          decodesOf(longer) <= decodesOf(blockShape);
        if (isAllowed) blockShape = longer;
      }
    }
  }
  const groupShape = blockShape.map((length, i) =>
    Math.max(length, objectShape[i]!)
  );
  return {
    blockShape,
    groupShape,
    blockBytes: bytesOf(blockShape),
    groupBytes: bytesOf(groupShape),
    decodes: decodesOf(blockShape),
  };
}

/** How often a chunk of the source is decoded along a dimension, on average. */
function decodesAlong(
  { shape, sourceShape }: BlockShapes,
  i: number,
  blockLength: number,
): number {
  const sourceLength = sourceShape[i]!;
  const chunks = Math.max(1, Math.ceil(shape[i]! / sourceLength));
  const cuts = Math.max(0, Math.ceil(shape[i]! / blockLength) - 1);
  // Cuts between blocks that are cuts between chunks, too, divide no chunk.
  const period = sourceLength / gcd(sourceLength, blockLength);
  return (chunks + cuts - Math.floor(cuts / period)) / chunks;
}

/**
 * The lengths that blocks may have along a dimension, in rising order: parts of a stored chunk of
 * the target and several stored chunks, of which few, powers of 2, those that end where a chunk
 * of the source does, and all are tried.
 */
function lengthsAlong(
  { shape, sourceShape, chunkShape, objectShape }: BlockShapes,
  i: number,
): number[] {
  const objectLength = objectShape[i]!;
  const inObject = objectLength / chunkShape[i]!;
  const objects = Math.ceil(shape[i]! / objectLength);
  const period = sourceShape[i]! / gcd(sourceShape[i]!, objectLength);
  const counts = new Set<number>([objects]);
  for (let n = 2; n < Math.min(objects, FEW); n++) counts.add(n);
  for (let n = FEW; n < objects; n *= 2) counts.add(n);
  for (let n = period; n < objects; n *= 2) counts.add(n);
  const several = [...counts].filter((n) => n > 1).sort((a, b) => a - b);
  return [
    ...divisors(inObject).map((n) => n * chunkShape[i]!),
    ...several.map((n) => n * objectLength),
  ];
}

/** The divisors of a number in rising order. */
function divisors(number: number): number[] {
  const low: number[] = [];
  for (let i = 1; i * i <= number; i++) if (number % i === 0) low.push(i);
  return [...new Set([...low, ...low.toReversed().map((n) => number / n)])];
}

function gcd(a: number, b: number): number {
  while (b > 0) [a, b] = [b, a % b];
  return a;
}
