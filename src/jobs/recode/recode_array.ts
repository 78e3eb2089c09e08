import { type Share, storageOf, unsizedPart } from "../../arrays/mod.ts";
import { verifyChecksum } from "../../checksum/mod.ts";
import type { Codecs } from "../../codecs/mod.ts";
import { flattenLayers } from "../../concat_parts/mod.ts";
import {
  describe,
  inDocument,
  isDamage,
  UnfinishedWriteError,
} from "../../errors/mod.ts";
import { isSameJson, namedCodecs } from "../../metadata/mod.ts";
import {
  isSameBytes,
  mapConcurrently,
  MemoryLimit,
  ownBytes,
  runConcurrently,
} from "../../runtime/mod.ts";
import {
  encodeShard,
  parseShardLayout,
  placeInShard,
  type ShardContainer,
  type ShardLayout,
} from "../../shards/mod.ts";
import { describeStore, type StoreKey } from "../../stores/mod.ts";
import {
  type ChunkBlock,
  repeatElement,
  type Threads,
} from "../../threads/mod.ts";
import { parseShardLevels } from "../../zarrita/mod.ts";
import { chunksOfShare, countInShare } from "../hierarchy/chunks_to_do.ts";
import { documentKey, type Place, rootIn } from "../hierarchy/node_location.ts";
import { writtenOut } from "../hierarchy/same_document.ts";
import type { PlannedArray } from "../convert/convert_plan.ts";
import type { Copied } from "../convert/copy_value.ts";
import type { CopiedValue } from "../convert/source_files.ts";
import {
  ElementCodecs,
  type EncodedChunk,
  type ThreadsInUse,
} from "./element_codecs.ts";
import {
  describeType,
  type ElementForm,
  elementForm,
  fillBytes,
} from "./element_form.ts";
import { PayloadCodecs } from "./payload_codecs.ts";
import { type BlockPlan, planBlocks } from "./plan_blocks.ts";
import { encodingOf } from "./recoding.ts";
import { ShardStream } from "./shard_stream.ts";
import { type SourceChunk, SourceChunks } from "./source_chunks.ts";

/** The memory of a recoding, if none is given, in bytes. */
export const DEFAULT_MEMORY = 256 * 2 ** 20;
/** The most memory that is taken for many threads, in bytes. */
const MOST_FOR_THREADS = 2 ** 31;
/** The decoded bytes of chunks of one shard that are read together. */
const READ_BYTES = 4 * 2 ** 20;
/** The decoded bytes of chunks that are read together where each is stored alone. */
const FILES_BYTES = 512 * 1024;
/** How many times chunks of a block are read together at the same time. */
const READS = 6;
/** The length of an element that is not known, to choose blocks by. */
const UNKNOWN_SIZE = 16;
/** How many chunks each thread needs at the same time, so that it never waits for work. */
const CHUNKS_PER_THREAD = 3;
const LEAST_BLOCKS = 3;

/** The length of inner chunks from which their memory is freed at once. */
const LEAST_TO_FREE = 128 * 1024;
/** The share of decoding for which blocks are larger. */
const MUCH_LESS = 0.8;

/** How an array gets from one encoding to another. */
type Way =
  /** Elements are decoded, divided anew and encoded. */
  | {
    readonly kind: "elements";
    readonly form: ElementForm;
    readonly fill: Uint8Array | undefined;
    readonly decoder: ElementCodecs;
    readonly encoder: ElementCodecs;
    /** Whether chunks keep their shape, so that each is made of one. */
    readonly isSameShape: boolean;
  }
  /** Chunks of the same shape get other codecs from bytes to bytes; their elements may be of any length. */
  | { readonly kind: "payload"; readonly codecs: PayloadCodecs }
  /** Chunks stay as they are encoded, in other shards. */
  | { readonly kind: "regroup" };

/** The settings of a recoding that the way of an array depends on. */
export interface RecodeSettings {
  readonly codecs?: Codecs | undefined;
  readonly memory?: number | undefined;
  /** The number of threads that there will be. */
  readonly threads: number;
  readonly use: ThreadsInUse;
}

/** What happens to the chunks that are made. */
export interface RecodeSink {
  /**
   * `write`: they are stored; `compare`: they are stored unless the same bytes are stored
   * already; `check`: nothing is stored.
   */
  readonly mode: "write" | "compare" | "check";
  /** Whether chunks that are stored already are left as they are. */
  readonly skipsStored: boolean;
  /** The number of stored chunks that are written at the same time from one block. */
  readonly concurrency: number;
  /** Called before chunks of the source are read. */
  before(values: readonly CopiedValue[], signal: AbortSignal): Promise<void>;
  /** Called after each stored chunk of the target. */
  done(key: StoreKey, copied: Copied): void;
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
    const from = encodingOf(source.metadata);
    const to = encodingOf(target.metadata);
    this.planned = planned;
    this.#place = place;
    this.#way = way;
    this.#settings = settings;
    this.#chunkShape = to.chunkShape;
    this.#layout = to.isSharded
      ? parseShardLayout(namedCodecs(target.metadata.codecs)[0], to.objectShape)
      : undefined;
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
   * @throws {TypeError} If a codec is unknown or does not encode, or elements of no known
   * length would have to be divided into other chunks.
   * @throws {MetadataError} If a codec refuses its configuration.
   */
  static async create(
    planned: PlannedArray,
    place: Place,
    settings: RecodeSettings,
  ): Promise<RecodedArray> {
    const { source, target } = planned;
    const { metadata } = source;
    assertReadable(planned, place);
    const [from, to] = [source, target].map(({ metadata }) =>
      encodingOf(metadata)
    ) as [ReturnType<typeof encodingOf>, ReturnType<typeof encodingOf>];
    const create = (way: Way) =>
      new RecodedArray(planned, place, way, settings);
    const isSameShape = isSameJson(from.chunkShape, to.chunkShape);
    const [before, after] = [from, to].map(({ codecs }) =>
      codecs.map(writtenOut)
    );
    if (isSameShape && isSameJson(before, after)) {
      return create({ kind: "regroup" });
    }
    const form = elementForm(metadata.data_type);
    const { use, codecs } = settings;
    if (form === undefined) {
      const payload = isSameShape &&
        await PayloadCodecs.create(from.codecs, to.codecs, codecs);
      if (payload) return create({ kind: "payload", codecs: payload });
      throw new TypeError(
        `Cannot divide elements of the data type ${
          describeType(metadata.data_type)
        } into other chunks, since they have no known length; expected other codecs or shards alone, with the same codec from array to bytes`,
      );
    }
    assertByteOrder(form, from.codecs, to.codecs);
    const shapeOf = (shape: readonly number[]) =>
      form.count > 1 ? [...shape, form.count] : shape;
    const [decoder, encoder] = await Promise.all(
      [from, to].map((encoding) =>
        ElementCodecs.create(
          encoding.codecs,
          form,
          shapeOf(encoding.chunkShape),
          use,
          codecs,
        )
      ),
    ) as [ElementCodecs, ElementCodecs];
    await encoder.assertEncodes(form, codecs);
    const fill = fillBytes(metadata, form);
    return create({
      ...{ kind: "elements", form, fill, decoder, encoder, isSameShape },
    });
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
    const way = this.#way;
    return way.kind === "elements" &&
      (!way.decoder.isCheap || !way.encoder.isCheap);
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

  /** The stored chunks of the source, once for each group that needs them. */
  *sourceValues(): Generator<CopiedValue> {
    for (const group of this.#groups()) yield* this.#sourceValuesOf(group);
  }

  *#sourceValuesOf(group: readonly number[]): Generator<CopiedValue> {
    const { source } = this.planned;
    const { layers } = storageOf(source.metadata);
    const flat = flattenLayers(layers);
    for (const object of this.#sourceObjects(this.#boxOf(group))) {
      yield { from: { key: source.key(object) as StoreKey, flat } };
    }
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
        way: this.#way,
        plan: this.#plan,
        layout: this.#layout,
        chunkShape: this.#chunkShape,
        memory: this.#memory,
        threads: this.#settings.use.threads,
      },
      sink,
    );
    const blocks = run.blocksOf(this.#groupsWithValues(), signal);
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

  *#groupsWithValues(): Generator<Group> {
    for (const group of this.#groups()) {
      yield {
        box: this.#boxOf(group),
        values: Array.from(this.#sourceValuesOf(group)),
      };
    }
  }
}

/** A part of an array. */
interface Box {
  /** The first element along each dimension. */
  readonly start: readonly number[];
  /** The end along each dimension, after the last element. */
  readonly stop: readonly number[];
}

/** Some coordinates of a grid. */
interface GridRange {
  readonly first: readonly number[];
  readonly counts: readonly number[];
}

/** The chunks of a grid that have elements of a box. */
function rangeOf({ start, stop }: Box, lengths: readonly number[]): GridRange {
  const first = start.map((n, i) => Math.floor(n / lengths[i]!));
  const counts = stop.map((n, i) =>
    Math.max(0, Math.ceil(n / lengths[i]!) - first[i]!)
  );
  return { first, counts };
}

/** The coordinates of a range, in C order. */
function* coordinatesIn({ first, counts }: GridRange): Generator<number[]> {
  if (counts.includes(0)) return;
  const coordinates = [...first];
  while (true) {
    yield [...coordinates];
    let i = counts.length - 1;
    while (i >= 0 && ++coordinates[i]! === first[i]! + counts[i]!) {
      coordinates[i] = first[i]!;
      i--;
    }
    if (i < 0) return;
  }
}

/** The place of coordinates in a range, in C order. */
function placeIn(
  { first, counts }: GridRange,
  coordinates: readonly number[],
): number {
  return coordinates.reduce(
    (place, c, i) => place * counts[i]! + c - first[i]!,
    0,
  );
}

/** Blocks whose chunks fill whole stored chunks of the target. */
interface Group {
  readonly box: Box;
  readonly values: readonly CopiedValue[];
}

/** A stored chunk of the target that is made. */
interface MadeObject {
  readonly coordinates: readonly number[];
  /** The inner chunks by their places in the index, or one chunk. */
  readonly chunks: (Uint8Array | undefined)[];
  /** Whether inner chunks are stored as soon as they are made. */
  readonly isStreamed: boolean;
  stream: ShardStream | undefined;
  /** The number of chunks that are still to be made. */
  left: number;
  hasChunks: boolean;
}

/** A block that is recoded, with the stored chunks of the target that it is a part of. */
interface Block {
  readonly box: Box;
  readonly objects: GridRange;
  /** By their places in the range; `undefined` for those that are there already. */
  readonly made: readonly (MadeObject | undefined)[];
}

/** What a run needs to know about an array. */
interface RunContext {
  readonly planned: PlannedArray;
  readonly source: SourceChunks;
  readonly way: Way;
  readonly plan: BlockPlan;
  readonly layout: ShardLayout | undefined;
  readonly chunkShape: readonly number[];
  readonly memory: number;
  readonly threads: Threads | undefined;
}

/** One run over the blocks of an array. */
class RecodeRun {
  readonly #context: RunContext;
  readonly #sink: RecodeSink;
  readonly #reading: MemoryLimit;
  /** Memory of blocks, to be used again. */
  readonly #spare: ArrayBufferLike[] = [];
  /** Shards that are being stored. */
  readonly #streamed = new Set<MadeObject>();
  readonly #containerOf:
    | ((shard: readonly number[]) => ShardContainer)
    | undefined;
  readonly #headSize: number;

  constructor(context: RunContext, sink: RecodeSink) {
    this.#context = context;
    this.#sink = sink;
    const threads = context.threads?.count ?? 0;
    this.#reading = new MemoryLimit(context.memory / 8, threads + 1);
    const { target, containerOf } = context.planned;
    this.#containerOf = containerOf;
    const { layers } = storageOf(target.metadata);
    this.#headSize = context.layout === undefined
      ? 0
      : unsizedPart(layers)?.offset ?? 0;
  }

  /** The blocks of groups, one group after another. */
  async *blocksOf(
    groups: Iterable<Group>,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Block> {
    const { plan } = this.#context;
    const failing = signal ?? new AbortController().signal;
    for (const { box, values } of groups) {
      await this.#sink.before(values, failing);
      const objects = rangeOf(box, this.#objectShape);
      const made = await this.#objectsOf(objects, failing);
      if (made.every((object) => object === undefined)) continue;
      const range = rangeOf(box, plan.blockShape);
      for (const coordinates of coordinatesIn(range)) {
        const start = coordinates.map((c, i) => c * plan.blockShape[i]!);
        const stop = start.map((n, i) =>
          Math.min(n + plan.blockShape[i]!, box.stop[i]!)
        );
        yield { box: { start, stop }, objects, made };
      }
    }
  }

  get #objectShape(): readonly number[] {
    return this.#context.planned.target.chunkShape;
  }

  /** Finds the stored chunks of the target that are to be made. */
  async #objectsOf(
    objects: GridRange,
    signal: AbortSignal,
  ): Promise<(MadeObject | undefined)[]> {
    const { skipsStored, concurrency } = this.#sink;
    const all = Array.from(coordinatesIn(objects));
    if (!skipsStored) return all.map((each) => this.#objectAt(each));
    return await mapConcurrently(all, concurrency, async (coordinates) => {
      if (!await this.#isStored(coordinates, signal)) {
        return this.#objectAt(coordinates);
      }
      this.#sink.done(this.#keyOf(coordinates), {
        outcome: "skipped",
        bytes: 0,
      });
      return undefined;
    }, signal);
  }

  #objectAt(coordinates: readonly number[]): MadeObject {
    const { plan, memory, layout, chunkShape, planned } = this.#context;
    const { shape } = planned.target.metadata;
    const lengths = this.#objectShape;
    const left = coordinates.reduce((count, c, i) => {
      const length = Math.min(lengths[i]!, shape[i]! - c * lengths[i]!);
      return count * Math.ceil(length / chunkShape[i]!);
    }, 1);
    const isStreamed = layout !== undefined &&
      this.#containerOf === undefined && plan.groupBytes > memory / 4 &&
      this.#sink.mode === "write";
    const count = isStreamed || layout === undefined
      ? 1
      : layout.chunksPerShard.reduce((product, n) => product * n, 1);
    return {
      coordinates,
      chunks: new Array<Uint8Array | undefined>(count).fill(undefined),
      isStreamed,
      stream: undefined,
      left,
      hasChunks: false,
    };
  }

  #keyOf(coordinates: readonly number[]): StoreKey {
    return this.#context.planned.target.key(coordinates) as StoreKey;
  }

  /** Whether a chunk of the target is there. Stored chunks are whole, since stores write all of a value or nothing. */
  async #isStored(
    coordinates: readonly number[],
    signal: AbortSignal,
  ): Promise<boolean> {
    const { target } = this.#context.planned;
    try {
      return await target.size(coordinates, { signal }) !== undefined;
    } catch (error) {
      if (isDamage(error) || error instanceof UnfinishedWriteError) {
        return false;
      }
      throw error;
    }
  }

  /** Reads a block, makes the chunks of the target in it, and stores those that are complete. */
  async recode(block: Block, signal: AbortSignal): Promise<void> {
    const targets = this.#targetsIn(block);
    if (targets.length === 0) return;
    const { way } = this.#context;
    if (way.kind === "elements" && !way.isSameShape) {
      await this.#recodeElements(block, targets, way, signal);
    } else {
      await this.#recodeChunks(block, targets, way, signal);
    }
    const objects = new Map<MadeObject, number>();
    for (const { object } of targets) {
      objects.set(object, (objects.get(object) ?? 0) + 1);
    }
    const complete: MadeObject[] = [];
    for (const [object, count] of objects) {
      object.left -= count;
      if (object.left === 0) complete.push(object);
    }
    await runConcurrently(
      complete,
      this.#sink.concurrency,
      (object, signal) => this.#finish(object, signal),
      signal,
    );
  }

  /** The chunks of the target in a block that are to be made. */
  #targetsIn({ box, objects, made }: Block): Target[] {
    const { chunkShape, layout } = this.#context;
    const targets: Target[] = [];
    for (const coordinates of coordinatesIn(rangeOf(box, chunkShape))) {
      const at = layout === undefined
        ? coordinates
        : coordinates.map((c, i) => Math.floor(c / layout.chunksPerShard[i]!));
      const object = made[placeIn(objects, at)];
      if (object === undefined) continue;
      const place = layout === undefined ? 0 : placeInShard(
        coordinates.map((c, i) => c % layout.chunksPerShard[i]!),
        layout,
      );
      targets.push({ coordinates, object, place });
    }
    return targets;
  }

  async #recodeElements(
    { box, objects, made }: Block,
    targets: readonly Target[],
    way: Extract<Way, { kind: "elements" }>,
    signal: AbortSignal,
  ): Promise<void> {
    const { source, chunkShape } = this.#context;
    const { form, fill, decoder, encoder } = way;
    const isNeeded = made.includes(undefined)
      ? this.#neededBy(objects, made)
      : () => true;
    const present: (readonly number[])[] = [];
    const absent: (readonly number[])[] = [];
    let memory: BlockMemory | undefined;
    const elements = () =>
      memory ??= new BlockMemory(box, form, this.#allocate(box, way));
    await this.#readAll(box, isNeeded, decoder.chunkBytes, signal, {
      allocate: decoder.isThreaded,
      absent: (coordinates) => absent.push(coordinates),
      found: async (chunks) => {
        const found = chunks.map(({ coordinates, bytes, rows }) => {
          present.push(coordinates);
          return {
            bytes,
            rows,
            block: elements().blockOf(coordinates, source.encoding.chunkShape),
            ...source.nameOf(coordinates),
            read: () => source.readOne(coordinates),
          } satisfies EncodedChunk;
        });
        await decoder.decode(found, signal);
      },
    });
    if (memory === undefined) return; // No chunk of the source is there.
    for (const coordinates of absent) {
      if (fill === undefined) throw this.#unknownFill(coordinates);
      const to = elements().blockOf(coordinates, source.encoding.chunkShape);
      repeatElement(to, fill, to.counts, form.size / form.count);
    }
    const wanted = absent.length === 0
      ? targets
      : this.#targetsWith(present, targets);
    const blocks = wanted.map(({ coordinates }) =>
      elements().blockOf(coordinates, chunkShape)
    );
    const encoded = await encoder.encode(blocks, fill, signal);
    for (const [i, { object, place }] of wanted.entries()) {
      if (encoded[i]) await this.#give(object, place, encoded[i]);
    }
    // After a failure, threads may still work on the memory.
    this.#spare.push(elements().bytes.buffer);
  }

  /** Makes each chunk of one of the source: as it is encoded, or by other codecs. */
  async #recodeChunks(
    { box, objects, made }: Block,
    targets: readonly Target[],
    way: Way,
    signal: AbortSignal,
  ): Promise<void> {
    const { source } = this.#context;
    if (targets.length === 0) return;
    const byPlace = new Map(targets.map((target) => [
      String(target.coordinates),
      target,
    ]));
    const hasChecksum = source.encoding.codecs.at(-1)?.name === "crc32c";
    const chunkBytes = way.kind === "elements"
      ? way.decoder.chunkBytes
      : this.#context.plan.blockBytes / targets.length;
    await this.#readAll(
      box,
      this.#neededBy(objects, made),
      chunkBytes,
      signal,
      {
        allocate: way.kind === "elements" && this.#isThreaded(way),
        absent() {},
        found: async (chunks) => {
          if (way.kind === "elements") {
            const encoded = await this.#recodeTogether(chunks, way, signal);
            for (const [i, { coordinates }] of chunks.entries()) {
              const { object, place } = byPlace.get(String(coordinates))!;
              if (encoded[i]) await this.#give(object, place, encoded[i]);
            }
            return;
          }
          for (const { coordinates, bytes } of chunks) {
            signal.throwIfAborted();
            const { what, key } = source.nameOf(coordinates);
            let encoded = bytes;
            if (way.kind === "payload") {
              encoded = await way.codecs.recode(bytes, what, key);
            } else if (hasChecksum) verifyChecksum(bytes, what, key);
            const { object, place } = byPlace.get(String(coordinates))!;
            // A part of other memory would keep all of it.
            await this.#give(object, place, ownBytes(encoded));
          }
        },
      },
    );
  }

  #isThreaded(
    { decoder, encoder }: Extract<Way, { kind: "elements" }>,
  ): boolean {
    return decoder.isThreaded || encoder.isThreaded;
  }

  /** Decodes chunks, and encodes each of them again. */
  async #recodeTogether(
    chunks: readonly SourceChunk[],
    way: Extract<Way, { kind: "elements" }>,
    signal: AbortSignal,
  ): Promise<(Uint8Array | undefined)[]> {
    const { source, chunkShape, planned } = this.#context;
    const { form, fill, decoder, encoder } = way;
    const { shape } = planned.target.metadata;
    const encoded = chunks.map(({ coordinates, bytes, rows }) => {
      const start = coordinates.map((c, i) => c * chunkShape[i]!);
      const stop = start.map((n, i) => Math.min(n + chunkShape[i]!, shape[i]!));
      const elements = new BlockMemory({ start, stop }, form, new Uint8Array());
      return {
        bytes,
        rows,
        block: elements.blockOf(coordinates, chunkShape),
        ...source.nameOf(coordinates),
        read: () => source.readOne(coordinates),
      };
    });
    return await decoder.recode(encoded, encoder, fill, signal);
  }

  /** Returns a function that tells whether a chunk of the source is needed for chunks that are made. */
  #neededBy(
    objects: GridRange,
    made: readonly (MadeObject | undefined)[],
  ): (coordinates: readonly number[]) => boolean {
    const { encoding } = this.#context.source;
    const lengths = this.#objectShape;
    return (coordinates) => {
      const start = coordinates.map((c, i) =>
        Math.max(c * encoding.chunkShape[i]!, objects.first[i]! * lengths[i]!)
      );
      const stop = coordinates.map((c, i) =>
        Math.min(
          (c + 1) * encoding.chunkShape[i]!,
          (objects.first[i]! + objects.counts[i]!) * lengths[i]!,
        )
      );
      for (const at of coordinatesIn(rangeOf({ start, stop }, lengths))) {
        if (made[placeIn(objects, at)] !== undefined) return true;
      }
      return false;
    };
  }

  /** Reads the chunks of the source that have elements of a box, close ones together. */
  async #readAll(
    box: Box,
    isNeeded: (coordinates: readonly number[]) => boolean,
    chunkBytes: number,
    signal: AbortSignal,
    { allocate, absent, found }: {
      allocate: boolean;
      absent(coordinates: readonly number[]): void;
      found(chunks: readonly SourceChunk[]): Promise<void>;
    },
  ): Promise<void> {
    const { source, threads } = this.#context;
    const batches = this.#batchesOf(box, isNeeded, chunkBytes, absent);
    await runConcurrently(batches, READS, async (batch, signal) => {
      const leave = await this.#reading.enter(batch.length * chunkBytes);
      try {
        signal.throwIfAborted();
        const reads = await source.read(batch, {
          signal,
          ...allocate && threads && {
            allocate: (length: number) => threads.allocate(length),
          },
        });
        const missing = new Set(batch);
        for (const { coordinates } of reads.flat()) {
          missing.delete(coordinates);
        }
        for (const coordinates of missing) absent(coordinates);
        const tasks = reads.map((chunks) =>
          chunks.length === 0 ? undefined : found(chunks)
        );
        for (const result of await Promise.allSettled(tasks)) {
          if (result.status === "rejected") throw result.reason;
        }
      } finally {
        leave();
      }
    }, signal);
  }

  /** The chunks of the source that have elements of a box, by the calls that read them. */
  *#batchesOf(
    box: Box,
    isNeeded: (coordinates: readonly number[]) => boolean,
    chunkBytes: number,
    absent: (coordinates: readonly number[]) => void,
  ): Generator<(readonly number[])[]> {
    const { source } = this.#context;
    const { chunkShape, objectShape, isSharded } = source.encoding;
    const size = Math.max(
      1,
      Math.floor((isSharded ? READ_BYTES : FILES_BYTES) / chunkBytes),
    );
    let batch: (readonly number[])[] = [];
    for (const object of coordinatesIn(rangeOf(box, objectShape))) {
      const mayHave = source.mayHave(object);
      const start = object.map((c, i) =>
        Math.max(c * objectShape[i]!, box.start[i]!)
      );
      const stop = object.map((c, i) =>
        Math.min((c + 1) * objectShape[i]!, box.stop[i]!)
      );
      for (const chunk of coordinatesIn(rangeOf({ start, stop }, chunkShape))) {
        if (!isNeeded(chunk)) continue;
        if (!mayHave) {
          absent(chunk);
          continue;
        }
        batch.push(chunk);
        if (batch.length < size) continue;
        yield batch;
        batch = [];
      }
      if (isSharded && batch.length > 0) {
        yield batch;
        batch = [];
      }
    }
    if (batch.length > 0) yield batch;
  }

  /** The chunks of the target that have elements of chunks of the source. */
  #targetsWith(
    present: readonly (readonly number[])[],
    targets: readonly Target[],
  ): Target[] {
    const { source, chunkShape } = this.#context;
    const lengths = source.encoding.chunkShape;
    const found = new Set<string>();
    for (const coordinates of present) {
      const start = coordinates.map((c, i) => c * lengths[i]!);
      const stop = start.map((n, i) => n + lengths[i]!);
      const range = rangeOf({ start, stop }, chunkShape);
      for (const chunk of coordinatesIn(range)) found.add(String(chunk));
    }
    return targets.filter(({ coordinates }) => found.has(String(coordinates)));
  }

  #unknownFill(coordinates: readonly number[]): TypeError {
    const { planned, source } = this.#context;
    const { fill_value, data_type } = planned.source.metadata;
    return new TypeError(
      `Cannot recode: ${
        source.nameOf(coordinates).what
      } is absent, and the fill value ${
        describe(fill_value)
      } of the data type ${describeType(data_type)} is not understood`,
    );
  }

  /** Returns memory for the elements of a block: shared memory if threads work on it. */
  #allocate(
    { start, stop }: Box,
    { form, decoder, encoder }: Extract<Way, { kind: "elements" }>,
  ): Uint8Array {
    const length = stop.reduce((n, end, i) => n * (end - start[i]!), form.size);
    const place = this.#spare.findIndex(({ byteLength }) =>
      byteLength >= length
    );
    if (place >= 0) {
      return new Uint8Array(this.#spare.splice(place, 1)[0]!, 0, length);
    }
    const isShared = typeof SharedArrayBuffer === "function" &&
      (decoder.isThreaded || encoder.isThreaded);
    // Of the length of most blocks, so that it fits again.
    const capacity = Math.max(length, this.#context.plan.blockBytes);
    return new Uint8Array(
      isShared ? new SharedArrayBuffer(capacity) : new ArrayBuffer(capacity),
      0,
      length,
    );
  }

  /** Gives a chunk to the stored chunk that it belongs to. */
  async #give(
    object: MadeObject,
    place: number,
    chunk: Uint8Array,
  ): Promise<void> {
    object.hasChunks = true;
    if (!object.isStreamed) {
      if (this.#sink.mode !== "check") object.chunks[place] = chunk;
      return;
    }
    if (object.stream === undefined) {
      const { target } = this.#context.planned;
      object.stream = new ShardStream(
        this.#context.layout!,
        this.#headSize,
        (bytes) => target.set(object.coordinates, bytes),
      );
      this.#streamed.add(object);
    }
    await object.stream.add(place, chunk);
  }

  /** Stores a chunk of the target that is complete. */
  async #finish(object: MadeObject, signal: AbortSignal): Promise<void> {
    const { target } = this.#context.planned;
    const { mode, skipsStored } = this.#sink;
    const { coordinates, stream } = object;
    const key = this.#keyOf(coordinates);
    if (!object.hasChunks) {
      // The source may have had elements when an earlier run made the chunk.
      const isStale = mode === "compare" && !skipsStored &&
        await this.#isStored(coordinates, signal);
      if (isStale) await target.delete(coordinates, { signal });
      return this.#sink.done(key, { outcome: "absent", bytes: 0 });
    }
    if (mode === "check") {
      return this.#sink.done(key, { outcome: "copied", bytes: 0 });
    }
    if (stream !== undefined) {
      await stream.finish();
      this.#streamed.delete(object);
      const bytes = stream.length;
      return this.#sink.done(key, { outcome: "copied", bytes });
    }
    const bytes = this.#encodeObject(object);
    this.#free(object);
    if (mode === "compare" && await this.#isSame(coordinates, bytes, signal)) {
      return this.#sink.done(key, { outcome: "skipped", bytes: 0 });
    }
    await target.set(coordinates, bytes, { signal });
    this.#sink.done(key, { outcome: "copied", bytes: bytes.length });
  }

  #encodeObject({ coordinates, chunks }: MadeObject): Uint8Array {
    const { layout } = this.#context;
    if (layout === undefined) return chunks[0]!;
    const container = this.#containerOf?.(coordinates);
    const prefix = container === undefined && this.#headSize > 0
      ? new Uint8Array(this.#headSize)
      : undefined;
    return encodeShard(chunks, layout, { container, prefix });
  }

  /** Frees the memory of inner chunks that threads have encoded, which would wait for the collection of garbage. Node 20 cannot. */
  #free({ chunks }: MadeObject): void {
    const { way, layout } = this.#context;
    const isOwn = way.kind === "elements" && this.#isThreaded(way) &&
      layout !== undefined;
    for (const chunk of isOwn ? chunks : []) {
      // Small chunks may lie in a pool of the runtime, and need no care.
      if (chunk === undefined || chunk.length < LEAST_TO_FREE) continue;
      const { buffer } = chunk as {
        buffer: { transfer?(length: number): unknown };
      };
      buffer.transfer?.(0);
    }
    chunks.length = 0;
  }

  /** Whether the target has a chunk with the same bytes. */
  async #isSame(
    coordinates: readonly number[],
    bytes: Uint8Array,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { target } = this.#context.planned;
    try {
      return isSameBytes(await target.get(coordinates, { signal }), bytes);
    } catch (error) {
      if (isDamage(error) || error instanceof UnfinishedWriteError) {
        return false;
      }
      throw error;
    }
  }

  /** Gives up shards that are only stored in part. */
  async abort(reason: unknown): Promise<void> {
    for (const { stream } of this.#streamed) await stream?.abort(reason);
  }
}

/** A chunk of the target that is made. */
interface Target {
  readonly coordinates: readonly number[];
  readonly object: MadeObject;
  readonly place: number;
}

/** The elements of a block, in C order. */
class BlockMemory {
  readonly bytes: Uint8Array;
  readonly #box: Box;
  readonly #form: ElementForm;
  readonly #strides: readonly number[];

  constructor(box: Box, form: ElementForm, bytes: Uint8Array) {
    this.bytes = bytes;
    this.#box = box;
    this.#form = form;
    const strides = new Array<number>(box.start.length);
    let step = form.count;
    for (let i = strides.length - 1; i >= 0; i--) {
      strides[i] = step;
      step *= box.stop[i]! - box.start[i]!;
    }
    this.#strides = form.count > 1 ? [...strides, 1] : strides;
  }

  /** The elements of a chunk that are in the block. */
  blockOf(
    coordinates: readonly number[],
    chunkShape: readonly number[],
  ): ChunkBlock {
    const { start, stop } = this.#box;
    const counts: number[] = [];
    const starts: number[] = [];
    let offset = 0;
    for (let i = 0; i < start.length; i++) {
      const chunkStart = coordinates[i]! * chunkShape[i]!;
      const first = Math.max(start[i]!, chunkStart);
      const last = Math.min(stop[i]!, chunkStart + chunkShape[i]!);
      counts.push(last - first);
      starts.push(first - chunkStart);
      offset += (first - start[i]!) * this.#strides[i]!;
    }
    if (this.#form.count > 1) {
      counts.push(this.#form.count);
      starts.push(0);
    }
    return {
      bytes: this.bytes,
      offset,
      strides: this.#strides,
      counts,
      starts,
      steps: counts.map(() => 1),
    };
  }
}

/** Refuses shards whose inner chunks cannot be read, since other codecs stand beside them. */
function assertReadable(
  { source, path }: PlannedArray,
  place: Place,
): void {
  inDocument(
    documentKey(place, path),
    describeStore(place.store),
    () => parseShardLevels(source.metadata),
  );
}

/** Refuses to change the byte order of elements that hold numbers of different lengths. */
function assertByteOrder(
  { isMixed }: ElementForm,
  before: readonly { name: string; configuration?: unknown }[],
  after: readonly { name: string; configuration?: unknown }[],
): void {
  if (!isMixed) return;
  const [one, other] = [before, after].map((codecs) => {
    const bytes = codecs.find(({ name }) => name === "bytes");
    const { endian = "little" } = (bytes?.configuration ?? {}) as {
      endian?: string;
    };
    return endian;
  });
  if (one === other) return;
  throw new TypeError(
    `Cannot change the byte order of structures from ${one} to ${other}; expected the codec "bytes" of the source`,
  );
}
