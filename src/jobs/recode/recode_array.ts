import {
  ChunkList,
  chunksOfGrid,
  countOfGrid,
  parsedArrayOf,
  type Share,
} from "../../arrays/mod.ts";
import { inDocument } from "../../errors/mod.ts";
import { isSameList } from "../../runtime/mod.ts";
import type { Codecs } from "../../codecs/mod.ts";
import type { Threads } from "../../threads/mod.ts";
import { describeStore } from "../../stores/mod.ts";
import { chunksOfShare, countInShare } from "../stored_chunks.ts";
import { documentKey, type Place } from "../../hierarchy/mod.ts";
import type { ArrayPair } from "../stored_chunks.ts";
import {
  chunkOf,
  elementForm,
  hasShards,
  innermostChunks,
  sectionsIn,
} from "../../blocks/mod.ts";
import { type BlockPlan, type Box, planBlocks } from "./plan_blocks.ts";
import { encodingOf, sourceEncodingOf } from "./recoding.ts";
import { RecodeRun } from "./recode_run.ts";
import { findWay, hasThreadedWork, type Way } from "./recode_way.ts";
import type { PlannedRecoding, RecodeSink } from "./target_chunks.ts";

/** The memory of a recoding, if none is given, in bytes. */
export const DEFAULT_MEMORY = 256 * 2 ** 20;
/** The most memory that is taken for many threads, in bytes. */
const MOST_FOR_THREADS = 2 ** 31;
/** The length of an element that is not known, to choose blocks by. */
const UNKNOWN_SIZE = 16;
/** How many chunks each thread needs at the same time, so that it never waits for work. */
const CHUNKS_PER_THREAD = 3;
const LEAST_BLOCKS = 3;
/** The share of decoding for which blocks are larger. */
const MUCH_LESS = 0.8;

/** The settings of a recoding that the way of an array depends on. */
export interface RecodeSettings {
  readonly codecs: Codecs | undefined;
  readonly memory?: number | undefined;
  /** The number of threads that there will be. */
  readonly threads: number;
}

/** An array whose chunks are decoded and encoded again, or divided into other shards. */
export class RecodedArray implements PlannedRecoding {
  readonly pair: ArrayPair;
  readonly place: Place;
  readonly way: Way;
  readonly plan: BlockPlan;
  readonly memory: number;
  readonly chunkShape: readonly number[];
  /** The number of groups along each dimension. */
  readonly #groupGrid: readonly number[];

  private constructor(
    pair: ArrayPair,
    place: Place,
    way: Way,
    settings: RecodeSettings,
  ) {
    const { source, target } = pair;
    const { shape } = target.metadata;
    const from = sourceEncodingOf(source.metadata);
    const to = encodingOf(target.metadata);
    this.pair = pair;
    this.place = place;
    this.way = way;
    this.chunkShape = to.chunkShape;
    const elementSize = way.kind === "elements"
      ? way.form.size
      : elementForm(source.metadata.data_type)?.size ?? UNKNOWN_SIZE;
    const bytesOf = (shape: readonly number[]) =>
      shape.reduce((product, n) => product * n, elementSize);
    const largest = Math.max(
      ...[from, to].map(({ chunkShape }) =>
        bytesOf(chunkShape.map((n, i) => Math.min(n, shape[i]!)))
      ),
    );
    this.memory = settings.memory ?? Math.max(
      DEFAULT_MEMORY,
      Math.min(4 * (settings.threads + 1) * largest, MOST_FOR_THREADS),
      4 * largest,
    );
    const shapes = {
      shape,
      sourceShape: from.chunkShape,
      chunkShape: to.chunkShape,
      objectShape: to.objectShape,
      elementSize,
    };
    const plan = planBlocks(shapes, this.memory / 4);
    // Blocks one after another take longer, unless chunks are decoded more rarely for it.
    const larger = planBlocks(shapes, this.memory / 2);
    this.plan = larger.decodes < MUCH_LESS * plan.decodes ? larger : plan;
    this.#groupGrid = shape.map((length, i) =>
      Math.ceil(length / this.plan.groupShape[i]!)
    );
  }

  /**
   * Finds out how an array gets from one encoding to another, and loads the codecs.
   *
   * @param place The place of the source.
   * @throws {LayoutError} If the chunks of the source cannot be decoded, or their elements
   * cannot be divided into other chunks.
   * @throws {TypeError} If a codec of the target is unknown or does not encode.
   * @throws {MetadataError} If a codec of the target refuses its configuration.
   */
  static async create(
    pair: ArrayPair,
    place: Place,
    settings: RecodeSettings,
  ): Promise<RecodedArray> {
    const from = sourceEncodingOf(pair.source.metadata);
    if (!hasShards(from.codecs)) assertReadable(pair, place);
    const way = await findWay(pair, settings.codecs);
    return new RecodedArray(pair, place, way, settings);
  }

  /** How often an innermost chunk of the source is decoded, on average; 0 if chunks stay encoded. */
  get decodes(): number {
    const { way, plan } = this;
    if (way.kind === "elements") return plan.decodes;
    return way.isDecoded ? 1 : 0;
  }

  /** The length of all elements in bytes. */
  get bytes(): number {
    const { shape } = this.pair.target.metadata;
    const { blockShape, blockBytes } = this.plan;
    return shape.reduce(
      (bytes, length, i) =>
        bytes * (length / Math.min(blockShape[i]!, Math.max(1, length))),
      blockBytes,
    );
  }

  /** Whether threads can do a part of the work. */
  get isThreaded(): boolean {
    return hasThreadedWork(this.way);
  }

  /** The number of stored chunks of the target that are made, or found to have no elements but the fill value. */
  total(share: Share | undefined): number {
    const { path, stored, target } = this.pair;
    if (stored.isAll && share === undefined) {
      return countOfGrid(target.gridShape);
    }
    const { groupShape } = this.plan;
    if (stored.isAll && isSameList(groupShape, target.chunkShape)) {
      return countInShare(share!, path, countOfGrid(this.#groupGrid));
    }
    let total = 0;
    for (const box of this.#boxes(share)) {
      total += box.reduce(
        (n, { start, stop }, i) =>
          n * Math.ceil((stop - start) / target.chunkShape[i]!),
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
      sectionsIn(box, source.chunkShape)
        .some((sections) => stored.has(chunkOf(sections)));
  }

  /** The groups of the share for which something is stored, in C order. */
  *#groups(share: Share | undefined): Generator<readonly number[]> {
    const { path, source, stored } = this.pair;
    const grid = this.#groupGrid;
    const isIncluded = share === undefined
      ? () => true
      : chunksOfShare(share, path, grid);
    let groups: Iterable<readonly number[]> = chunksOfGrid(grid);
    if (!stored.isAll) {
      // Few of many chunks are stored: only the groups around them count.
      const around = new ChunkList(grid.length);
      for (const chunk of stored) {
        const box = this.#boxOf(chunk, source.chunkShape);
        for (const sections of sectionsIn(box, this.plan.groupShape)) {
          around.push(chunkOf(sections));
        }
      }
      groups = around.sorted();
    }
    for (const group of groups) if (isIncluded(group)) yield group;
  }

  /** The elements of a part of the array that are in the array. */
  #boxOf(coordinates: readonly number[], lengths: readonly number[]): Box {
    const { shape } = this.pair.target.metadata;
    return coordinates.map((c, i) => ({
      start: c * lengths[i]!,
      stop: Math.min((c + 1) * lengths[i]!, shape[i]!),
      step: 1,
    }));
  }

  *#boxes(share: Share | undefined): Generator<Box> {
    for (const group of this.#groups(share)) {
      yield this.#boxOf(group, this.plan.groupShape);
    }
  }

  /** Makes the chunks of the target, or those of a share. */
  async run(
    sink: RecodeSink,
    share: Share | undefined,
    threads: Threads | undefined,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { blockBytes, blockShape } = this.plan;
    const chunks = blockShape.reduce(
      (count, length, i) => count * (length / this.chunkShape[i]!),
      1,
    );
    const wanted = Math.max(
      LEAST_BLOCKS,
      Math.ceil(CHUNKS_PER_THREAD * (threads?.count ?? 0) / chunks),
    );
    const most = Math.floor(this.memory / 2 / Math.max(1, blockBytes));
    const concurrency = Math.max(1, Math.min(wanted, most));
    const run = new RecodeRun(this, { concurrency, threads }, sink);
    await run.run(this.#boxes(share), signal);
  }
}

/** Refuses shards whose metadata is not valid. */
function assertReadable(
  { source, path }: ArrayPair,
  place: Place,
): void {
  inDocument(
    documentKey(place, path),
    describeStore(place.store),
    () => innermostChunks(parsedArrayOf(source)),
  );
}
