import { parsedArrayOf, type Share } from "../../arrays/mod.ts";
import { inDocument } from "../../errors/mod.ts";
import { runConcurrently } from "../../runtime/mod.ts";
import type { ShardLayout } from "../../shards/mod.ts";
import { describeStore, type Store } from "../../stores/mod.ts";
import { chunksOfShare, countInShare } from "../stored_chunks.ts";
import { documentKey, type Place, rootIn } from "../../hierarchy/mod.ts";
import type { PlannedArray } from "../convert/convert_plan.ts";
import {
  type Box,
  coordinatesIn,
  elementForm,
  hasShards,
  innermostChunks,
  rangeOf,
} from "../../blocks/mod.ts";
import { type BlockPlan, planBlocks } from "./plan_blocks.ts";
import { encodingOf, sourceEncodingOf } from "./recoding.ts";
import { SourceChunks } from "./source_chunks.ts";
import { RecodeRun } from "./recode_run.ts";
import {
  findWay,
  hasThreadedWork,
  type Way,
  type WaySettings,
} from "./recode_way.ts";
import type { RecodeSink } from "./target_chunks.ts";

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
export interface RecodeSettings extends WaySettings {
  /** The store of the target. */
  readonly target: Store;
  readonly memory?: number | undefined;
  /** The number of threads that there will be. */
  readonly threads: number;
}

/** An array whose chunks are decoded and encoded again, or divided into other shards. */
export class RecodedArray {
  readonly planned: PlannedArray;
  readonly #place: Place;
  readonly #way: Way;
  readonly #plan: BlockPlan;
  readonly #settings: RecodeSettings;
  readonly #memory: number;
  readonly #layout: ShardLayout | undefined;
  readonly #chunkShape: readonly number[];
  /** The number of groups along each dimension. */
  readonly #groupGrid: readonly number[];
  #source: SourceChunks | undefined;
  #share: Share | undefined;
  #total: number | undefined;

  private constructor(
    planned: PlannedArray,
    place: Place,
    way: Way,
    settings: RecodeSettings,
  ) {
    const { source, target } = planned;
    const { shape } = target.metadata;
    const from = sourceEncodingOf(source.metadata);
    const to = encodingOf(target.metadata);
    this.planned = planned;
    this.#place = place;
    this.#way = way;
    this.#settings = settings;
    this.#chunkShape = to.chunkShape;
    const { shard } = parsedArrayOf(target).chunk;
    this.#layout = shard?.before.length === 0 ? shard.layout : undefined;
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
    this.#memory = settings.memory ?? Math.max(
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
    const plan = planBlocks(shapes, this.#memory / 4);
    // Blocks one after another take longer, unless chunks are decoded more rarely for it.
    const larger = planBlocks(shapes, this.#memory / 2);
    this.#plan = larger.decodes < MUCH_LESS * plan.decodes ? larger : plan;
    this.#groupGrid = shape.map((length, i) =>
      Math.ceil(length / this.#plan.groupShape[i]!)
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
    planned: PlannedArray,
    place: Place,
    settings: RecodeSettings,
  ): Promise<RecodedArray> {
    const from = sourceEncodingOf(planned.source.metadata);
    if (!hasShards(from.codecs)) assertReadable(planned, place);
    const way = await findWay(planned, settings);
    return new RecodedArray(planned, place, way, settings);
  }

  /** How often an innermost chunk of the source is decoded, on average; 0 if chunks stay encoded. */
  get decodes(): number {
    return this.#way.kind === "elements"
      ? this.#plan.decodes
      : this.#way.kind === "payload"
      ? 1
      : 0;
  }

  /** The length of all elements in bytes. */
  get bytes(): number {
    const { shape } = this.planned.target.metadata;
    const { blockShape, blockBytes } = this.#plan;
    return shape.reduce(
      (bytes, length, i) =>
        bytes * (length / Math.min(blockShape[i]!, Math.max(1, length))),
      blockBytes,
    );
  }

  /** Whether threads can do a part of the work. */
  get isThreaded(): boolean {
    return hasThreadedWork(this.#way);
  }

  /** Takes the chunks of the source that a listing has found, and the share of the work. */
  begin(share: Share | undefined): void {
    const { source, stored, path } = this.planned;
    this.#source = new SourceChunks(
      this.#place.store,
      rootIn(this.#place, path),
      source,
      stored,
    );
    this.#share = share;
  }

  /** The number of stored chunks of the target that are made, or found to have no elements but the fill value. */
  get total(): number {
    return this.#total ??= this.#countObjects();
  }

  #countObjects(): number {
    const { listed } = this.#source!;
    const objects = this.planned.target.gridShape;
    if (listed === undefined && this.#share === undefined) {
      return objects.reduce((count, n) => count * n, 1);
    }
    if (listed === undefined) {
      const isSingle = this.#plan.groupShape.every((length, i) =>
        length === this.#objectShape[i]
      );
      const groups = this.#groupGrid.reduce((count, n) => count * n, 1);
      if (isSingle) {
        return countInShare(this.#share!, this.planned.path, groups);
      }
    }
    let total = 0;
    for (const group of this.#groups()) {
      const { counts } = rangeOf(this.#boxOf(group), this.#objectShape);
      total += counts.reduce((count, n) => count * n, 1);
    }
    return total;
  }

  get #objectShape(): readonly number[] {
    return this.planned.target.chunkShape;
  }

  /** Whether a stored chunk of the target may be made from stored chunks of the source. */
  mayMake(object: readonly number[]): boolean {
    return this.#mayHaveElements(this.#clipped(object, this.#objectShape));
  }

  /** The stored chunks of the source that have elements of a box, as far as they may be there. */
  *#sourceObjects(box: Box): Generator<readonly number[]> {
    const source = this.#source!;
    for (
      const object of coordinatesIn(rangeOf(box, source.encoding.objectShape))
    ) {
      if (source.mayHave(object)) yield object;
    }
  }

  #mayHaveElements(box: Box): boolean {
    return !this.#sourceObjects(box).next().done;
  }

  /** The groups of the share for which something is stored, in C order. */
  *#groups(): Generator<readonly number[]> {
    const { listed, encoding } = this.#source!;
    const isIncluded = this.#share === undefined
      ? () => true
      : chunksOfShare(this.#share, this.planned.path, this.#groupGrid);
    const grid = this.#groupGrid;
    const all = { first: grid.map(() => 0), counts: grid };
    if (listed === undefined) {
      for (const group of coordinatesIn(all)) {
        if (isIncluded(group)) yield group;
      }
      return;
    }
    // Few of many chunks are stored: only the groups around them count.
    const places = new Map<string, readonly number[]>();
    for (const object of listed) {
      const box = this.#clipped(object, encoding.objectShape);
      for (const group of coordinatesIn(rangeOf(box, this.#plan.groupShape))) {
        if (isIncluded(group)) places.set(String(group), group);
      }
    }
    yield* [...places.values()].sort((a, b) => {
      const i = a.findIndex((coordinate, i) => coordinate !== b[i]);
      return i < 0 ? 0 : a[i]! - b[i]!;
    });
  }

  /** The elements of a part of the array that are in the array. */
  #clipped(coordinates: readonly number[], lengths: readonly number[]): Box {
    const { shape } = this.planned.target.metadata;
    const start = coordinates.map((c, i) => c * lengths[i]!);
    const stop = start.map((n, i) => Math.min(n + lengths[i]!, shape[i]!));
    return { start, stop };
  }

  *#boxes(): Generator<Box> {
    for (const group of this.#groups()) yield this.#boxOf(group);
  }

  #boxOf(group: readonly number[]): Box {
    return this.#clipped(group, this.#plan.groupShape);
  }

  /** Makes the chunks of the target. */
  async run(sink: RecodeSink, signal: AbortSignal | undefined): Promise<void> {
    const { blockBytes, blockShape } = this.#plan;
    const chunks = blockShape.reduce(
      (count, length, i) => count * (length / this.#chunkShape[i]!),
      1,
    );
    const threads = this.#settings.use.threads?.count ?? 0;
    const wanted = Math.max(
      LEAST_BLOCKS,
      Math.ceil(CHUNKS_PER_THREAD * threads / chunks),
    );
    const most = Math.floor(this.#memory / 2 / Math.max(1, blockBytes));
    const concurrency = Math.max(1, Math.min(wanted, most));
    const run = new RecodeRun(
      {
        planned: this.planned,
        source: this.#source!,
        store: this.#settings.target,
        way: this.#way,
        plan: this.#plan,
        layout: this.#layout,
        chunkShape: this.#chunkShape,
        memory: this.#memory,
        threads: this.#settings.use.threads,
      },
      sink,
    );
    const blocks = run.blocksOf(this.#boxes(), signal);
    try {
      await runConcurrently(
        blocks,
        concurrency,
        (block, signal) => run.recode(block, signal),
        signal,
      );
    } catch (error) {
      await run.abort(error);
      throw error;
    }
  }
}

/** Refuses shards whose metadata is not valid. */
function assertReadable(
  { source, path }: PlannedArray,
  place: Place,
): void {
  inDocument(
    documentKey(place, path),
    describeStore(place.store),
    () => innermostChunks(parsedArrayOf(source)),
  );
}
