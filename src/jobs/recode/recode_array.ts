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
  sectionsIn,
  wholeChunks,
} from "../../blocks/mod.ts";
import type { Codecs } from "../../codecs/mod.ts";
import { inDocument } from "../../errors/mod.ts";
import { documentKey, type Place } from "../../hierarchy/mod.ts";
import { describeStore } from "../../stores/mod.ts";
import { processorCount, type ThreadPool } from "../../threads/mod.ts";
import { type ArrayPair, chunksOfShare } from "../stored_chunks.ts";
import {
  type BlockPlan,
  type BlockShapes,
  type Box,
  planBlocks,
} from "./plan_blocks.ts";
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

/** The options of a conversion that recodings depend on. */
export interface RecodeOptions {
  readonly codecs?: Codecs | undefined;
  readonly memory?: number | undefined;
  readonly threads?: ThreadPool | number | undefined;
}

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
    { memory, threads }: RecodeOptions,
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
    options: RecodeOptions,
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

  /** The length of all elements in bytes. */
  get bytes(): number {
    const { shape, elementSize } = this.shapes;
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
