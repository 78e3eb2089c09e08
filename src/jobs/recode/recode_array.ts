import {
  ChunkList,
  chunksOfGrid,
  countOfGrid,
  parsedArrayOf,
  type Share,
} from "../../arrays/mod.ts";
import {
  type ChunkDivision,
  chunkOf,
  elementForm,
  innermostChunks,
  type Run,
  sectionsIn,
  wholeChunks,
} from "../../blocks/mod.ts";
import { inDocument } from "../../errors/mod.ts";
import { documentKey, type Place } from "../../hierarchy/mod.ts";
import { describeStore } from "../../stores/mod.ts";
import { processorCount } from "../../threads/mod.ts";
import type { ConvertOptions } from "../convert/convert_options.ts";
import { type ArrayPair, chunksOfShare } from "../stored_chunks.ts";
import { sourceEncodingOf } from "./recoding.ts";
import { findWay, type Way } from "./recode_way.ts";

/** The memory of a recoding, if none is given, in bytes. */
const DEFAULT_MEMORY = 256 * 2 ** 20;
/** The most memory that is taken for many threads, in bytes. */
const MOST_FOR_THREADS = 2 ** 31;
/** The length of an element that is not known, to choose blocks by. */
const UNKNOWN_SIZE = 16;
/** The share of decoding for which blocks are larger. */
const MUCH_LESS = 0.8;

/** An array whose chunks are decoded and encoded again, or divided into other shards. */
export class RecodedArray {
  readonly pair: ArrayPair;
  /** The place of the source. */
  readonly place: Place;
  /** The chunks of the source that are read. */
  readonly division: ChunkDivision;
  readonly way: Way;
  /** With a last dimension for the numbers of elements that are several. */
  readonly shapes: BlockShapes;
  readonly plan: BlockPlan;
  readonly memory: number;

  private constructor(
    pair: ArrayPair,
    place: Place,
    division: ChunkDivision,
    way: Way,
    { memory, threads }: ConvertOptions,
  ) {
    this.pair = pair;
    this.place = place;
    this.division = division;
    this.way = way;
    const { data_type, shape } = pair.source.metadata;
    const form = way.kind === "elements" ? way.form : undefined;
    const { count = 1, size = elementForm(data_type)?.size ?? UNKNOWN_SIZE } =
      form ?? {};
    const numbers = count > 1 ? [count] : [];
    const target = parsedArrayOf(pair.target);
    this.shapes = {
      shape: [...shape, ...numbers],
      sourceShape: [...division.level.shape, ...numbers],
      chunkShape: [...target.innermost.shape, ...numbers],
      objectShape: [...target.chunk.shape, ...numbers],
      elementSize: size / count,
    };
    const largest = Math.max(
      ...[this.shapes.sourceShape, this.shapes.chunkShape].map((chunk) =>
        chunk.reduce(
          (bytes, n, i) => bytes * Math.min(n, this.shapes.shape[i]!),
          this.shapes.elementSize,
        )
      ),
    );
    const threadCount = typeof threads === "object" ? threads.size : threads;
    this.memory = memory ?? Math.max(
      DEFAULT_MEMORY,
      Math.min(
        4 * ((threadCount ?? processorCount()) + 1) * largest,
        MOST_FOR_THREADS,
      ),
      4 * largest,
    );
    const plan = planBlocks(this.shapes, this.memory / 4);
    // Blocks one after another take longer, unless chunks are decoded more rarely for it.
    const larger = planBlocks(this.shapes, this.memory / 2);
    this.plan = larger.decodes < MUCH_LESS * plan.decodes ? larger : plan;
  }

  /**
   * Finds out how an array gets from one encoding to another, and loads the codecs.
   *
   * @param place The place of the source.
   * @throws {LayoutError} If the chunks of the source cannot be decoded, or their elements
   * cannot be divided into other chunks.
   * @throws {TypeError} If a codec of the target is unknown or does not encode.
   * @throws {MetadataError} If the shards of the source cannot be read, or a codec of the
   * target refuses its configuration.
   */
  static async create(
    pair: ArrayPair,
    place: Place,
    options: ConvertOptions,
  ): Promise<RecodedArray> {
    const source = parsedArrayOf(pair.source);
    const division = inDocument(
      documentKey(place, pair.path),
      describeStore(place.store),
      () =>
        sourceEncodingOf(source).isSharded
          ? innermostChunks(source)
          : wholeChunks(source),
    );
    const way = await findWay(pair, options.codecs);
    return new RecodedArray(pair, place, division, way, options);
  }

  /** How often an innermost chunk of the source is decoded, on average; 0 if chunks stay encoded. */
  get decodes(): number {
    const { way, plan } = this;
    if (way.kind === "elements") return plan.decodes;
    return way.isDecoded ? 1 : 0;
  }

  /** The length of the elements that threads can decode or encode, in bytes. */
  get threadedBytes(): number {
    const { way, shapes: { shape, elementSize } } = this;
    const isCheap = way.kind === "bytes" ||
      way.decoder.isCheap && way.encoder.isCheap;
    if (isCheap) return 0;
    return shape.reduce((bytes, length) => bytes * length, elementSize);
  }

  /** The number of stored chunks of the target that are made, or found to have no elements but the fill value. */
  total(share: Share | undefined): number {
    const { stored, target } = this.pair;
    if (stored.isAll && share === undefined) {
      return countOfGrid(target.gridShape);
    }
    let total = 0;
    for (const box of this.groups(share)) {
      total += box.reduce(
        (n, { start, stop }, i) =>
          n * Math.ceil((stop - start) / this.shapes.objectShape[i]!),
        1,
      );
    }
    return total;
  }

  /** Whether a stored chunk of the target may be made from stored chunks of the source. */
  mayMake(object: readonly number[]): boolean {
    const { source, stored, target } = this.pair;
    const box = this.#boxOf(object, target.chunkShape);
    return stored.isAll ||
      [...sectionsIn(box, source.chunkShape)]
        .some((sections) => stored.has(chunkOf(sections)));
  }

  /**
   * The groups of blocks of the share for which something is stored, in C order. Each fills
   * whole stored chunks of the target.
   */
  *groups(share: Share | undefined): Generator<Box> {
    const { path, source, stored } = this.pair;
    const { groupShape } = this.plan;
    const grid = this.shapes.shape.map((length, i) =>
      Math.ceil(length / groupShape[i]!)
    );
    const isIncluded = share === undefined
      ? () => true
      : chunksOfShare(share, path, grid);
    let groups: Iterable<readonly number[]> = chunksOfGrid(grid);
    if (!stored.isAll) {
      // Few of many chunks are stored: only the groups around them count.
      const around = new ChunkList(grid.length);
      for (const chunk of stored) {
        const box = this.#boxOf(chunk, source.chunkShape);
        for (const sections of sectionsIn(box, groupShape)) {
          around.push([...chunkOf(sections), 0].slice(0, grid.length));
        }
      }
      groups = around.sorted();
    }
    for (const group of groups) {
      if (isIncluded(group)) yield this.#boxOf(group, groupShape);
    }
  }

  /** The elements of a part of the array that are in the array. */
  #boxOf(coordinates: readonly number[], lengths: readonly number[]): Box {
    const { shape } = this.shapes;
    return coordinates.map((c, i) => ({
      start: c * lengths[i]!,
      stop: Math.min((c + 1) * lengths[i]!, shape[i]!),
      step: 1,
    }));
  }
}

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
