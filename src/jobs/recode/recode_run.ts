import { verifyChecksum } from "../../checksum/mod.ts";
import { describe } from "../../errors/mod.ts";
import {
  MemoryLimit,
  nextTurn,
  ownBytes,
  runConcurrently,
} from "../../runtime/mod.ts";
import { placeInShard, type ShardLayout } from "../../shards/mod.ts";
import type { Store } from "../../stores/mod.ts";
import { repeatElement, type Threads } from "../../threads/mod.ts";
import type { PlannedArray } from "../convert/convert_plan.ts";
import {
  BlockMemory,
  type Box,
  changedError,
  coordinatesIn,
  describeType,
  type GridRange,
  placeIn,
  rangeOf,
  type StoredChunk,
} from "../../blocks/mod.ts";
import type { BlockPlan } from "./plan_blocks.ts";
import { type ElementsWay, isThreaded, type Way } from "./recode_way.ts";
import type { SourceChunk, SourceChunks } from "./source_chunks.ts";
import {
  type MadeChunk,
  type RecodeSink,
  TargetChunks,
} from "./target_chunks.ts";

/** The decoded bytes of chunks of one shard that are read together. */
const READ_BYTES = 4 * 2 ** 20;
/** The decoded bytes of chunks that are read together where each is stored alone. */
const FILES_BYTES = 512 * 1024;
/** How many times chunks of a block are read together at the same time. */
const READS = 6;
/** The milliseconds for which a loop over absent chunks holds up timers and messages. */
const MOST_HELD_UP = 20;
/** The number of chunks after which such a loop looks at the time. */
const CHUNKS_PER_LOOK = 256;

/** A block that is recoded, with the stored chunks of the target that it is a part of. */
export interface Block {
  readonly box: Box;
  readonly objects: GridRange;
  /** By their places in the range; `undefined` for those that are there already. */
  readonly made: readonly (MadeChunk | undefined)[];
}

/** The array that a run recodes: its plan, its source and the store of its target. */
export interface RunContext {
  readonly planned: PlannedArray;
  readonly source: SourceChunks;
  /** The store of the target. */
  readonly store: Store;
  readonly way: Way;
  readonly plan: BlockPlan;
  readonly layout: ShardLayout | undefined;
  readonly chunkShape: readonly number[];
  readonly memory: number;
  readonly threads: Threads | undefined;
}

/** One run over the blocks of an array. */
export class RecodeRun {
  readonly #context: RunContext;
  readonly #sink: RecodeSink;
  readonly #reading: MemoryLimit;
  /** Memory of blocks, to be used again. */
  readonly #spare: ArrayBufferLike[] = [];
  readonly #target: TargetChunks;

  constructor(context: RunContext, sink: RecodeSink) {
    this.#context = context;
    this.#sink = sink;
    const { memory, plan, threads } = context;
    this.#reading = new MemoryLimit(memory / 8, (threads?.count ?? 0) + 1);
    const areShardsLong = plan.groupBytes > memory / 4;
    this.#target = new TargetChunks({ ...context, areShardsLong }, sink);
  }

  /**
   * The blocks of groups, one group after another.
   *
   * @param groups The elements of blocks whose chunks fill whole stored chunks of the target.
   */
  async *blocksOf(
    groups: Iterable<Box>,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Block> {
    const { plan } = this.#context;
    const failing = signal ?? new AbortController().signal;
    for (const box of groups) {
      await this.#sink.before(failing);
      const objects = rangeOf(box, this.#objectShape);
      const made = await this.#target.begin(objects, failing);
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
  }

  /**
   * Takes a chunk that was made, and stores the stored chunk that is complete by it.
   *
   * @param bytes `undefined` if the chunk is left out.
   * @param storing Limits how many are stored at the same time.
   */
  async #take(
    { made, place }: Target,
    bytes: Uint8Array | undefined,
    storing: MemoryLimit,
    signal: AbortSignal,
  ): Promise<void> {
    if (bytes !== undefined) await this.#target.add(made, place, bytes);
    if (--made.left > 0) return;
    const leave = await storing.enter(1);
    try {
      signal.throwIfAborted();
      await this.#target.finish(made, signal);
    } finally {
      leave();
    }
  }

  /** The chunks of the target in a block that are to be made. */
  #targetsIn({ box, objects, made }: Block): Target[] {
    const { chunkShape, layout } = this.#context;
    const targets: Target[] = [];
    for (const coordinates of coordinatesIn(rangeOf(box, chunkShape))) {
      const at = layout === undefined
        ? coordinates
        : coordinates.map((c, i) => Math.floor(c / layout.chunksPerShard[i]!));
      const chunk = made[placeIn(objects, at)];
      if (chunk === undefined) continue;
      const place = layout === undefined ? 0 : placeInShard(
        coordinates.map((c, i) => c % layout.chunksPerShard[i]!),
        layout,
      );
      targets.push({ coordinates, made: chunk, place });
    }
    return targets;
  }

  async #recodeElements(
    { box, objects, made }: Block,
    targets: readonly Target[],
    way: ElementsWay,
    signal: AbortSignal,
  ): Promise<void> {
    const { source, chunkShape, threads } = this.#context;
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
          } satisfies StoredChunk;
        });
        for (const chunk of await decoder.decode(found, { threads, signal })) {
          // A thread may have taken the memory.
          const { read, what, key } = chunk as StoredChunk;
          const bytes = await read();
          if (bytes === undefined) throw changedError({ key });
          await decoder.decodeNamed({ ...chunk, bytes }, { what, key });
        }
      },
    });
    // Without memory, no chunk of the source is there.
    const breaks = new Breaks(signal);
    for (const coordinates of memory === undefined ? [] : absent) {
      if (breaks.isDue()) await breaks.take();
      if (fill === undefined) throw this.#unknownFill(coordinates);
      const to = elements().blockOf(coordinates, source.encoding.chunkShape);
      repeatElement(to, fill, to.counts, form.size / form.count);
    }
    const wanted = memory === undefined
      ? []
      : absent.length === 0
      ? targets
      : this.#targetsWith(present, targets);
    const blocks = wanted.map(({ coordinates }) =>
      elements().blockOf(coordinates, chunkShape)
    );
    const encoded = await encoder.encode(blocks, {
      threads,
      signal,
      fill,
      leavesOut: true,
    });
    const chunks = new Map(wanted.map((target, i) => [target, encoded[i]]));
    // After a failure, threads may still work on the memory.
    if (memory !== undefined) this.#spare.push(elements().bytes.buffer);
    const { concurrency } = this.#sink;
    const storing = new MemoryLimit(0, concurrency);
    await runConcurrently(
      targets,
      concurrency,
      (target, signal) =>
        this.#take(target, chunks.get(target), storing, signal),
      signal,
    );
  }

  /** Makes each chunk of one of the source: as it is encoded, or by other codecs. */
  async #recodeChunks(
    { box, objects, made }: Block,
    targets: readonly Target[],
    way: Way,
    signal: AbortSignal,
  ): Promise<void> {
    const { source } = this.#context;
    const storing = new MemoryLimit(0, this.#sink.concurrency);
    const byPlace = new Map(targets.map((target) => [
      String(target.coordinates),
      target,
    ]));
    const take = (
      { coordinates }: SourceChunk,
      bytes: Uint8Array | undefined,
      signal: AbortSignal,
    ) => {
      const name = String(coordinates);
      const target = byPlace.get(name)!;
      byPlace.delete(name);
      return this.#take(target, bytes, storing, signal);
    };
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
        absent() {},
        found: async (chunks) => {
          if (way.kind === "elements") {
            const encoded = await this.#recodeTogether(chunks, way, signal);
            for (const [i, chunk] of chunks.entries()) {
              await take(chunk, encoded[i], signal);
            }
            return;
          }
          for (const chunk of chunks) {
            signal.throwIfAborted();
            const { coordinates, bytes } = chunk;
            const { what, key } = source.nameOf(coordinates);
            let encoded = bytes;
            if (way.kind === "payload") {
              encoded = await way.codecs.recode(bytes, what, key);
            } else if (hasChecksum) verifyChecksum(bytes, () => what, key);
            // A part of other memory would keep all of it.
            await take(chunk, ownBytes(encoded), signal);
          }
        },
      },
    );
    for (const target of byPlace.values()) {
      await this.#take(target, undefined, storing, signal);
    }
  }

  /** Decodes chunks, and encodes each of them again. */
  async #recodeTogether(
    chunks: readonly SourceChunk[],
    way: ElementsWay,
    signal: AbortSignal,
  ): Promise<(Uint8Array | undefined)[]> {
    const { source, chunkShape, planned, threads } = this.#context;
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
    return await decoder.recode(encoded, encoder, fill, { threads, signal });
  }

  /** Returns a function that tells whether a chunk of the source is needed for chunks that are made. */
  #neededBy(
    objects: GridRange,
    made: readonly (MadeChunk | undefined)[],
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
    { absent, found }: {
      absent(coordinates: readonly number[]): void;
      found(chunks: readonly SourceChunk[]): Promise<void>;
    },
  ): Promise<void> {
    const { source } = this.#context;
    const batches = this.#batchesOf(box, isNeeded, chunkBytes, absent, signal);
    await runConcurrently(batches, READS, async (batch, signal) => {
      const leave = await this.#reading.enter(batch.length * chunkBytes);
      try {
        signal.throwIfAborted();
        const reads = await source.read(batch, { signal });
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
  async *#batchesOf(
    box: Box,
    isNeeded: (coordinates: readonly number[]) => boolean,
    chunkBytes: number,
    absent: (coordinates: readonly number[]) => void,
    signal: AbortSignal,
  ): AsyncGenerator<(readonly number[])[]> {
    const { source } = this.#context;
    const { chunkShape, objectShape, isSharded } = source.encoding;
    const size = Math.max(
      1,
      Math.floor((isSharded ? READ_BYTES : FILES_BYTES) / chunkBytes),
    );
    const breaks = new Breaks(signal);
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
        if (breaks.isDue()) await breaks.take();
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
    way: ElementsWay,
  ): Uint8Array {
    const { size } = way.form;
    const length = stop.reduce((n, end, i) => n * (end - start[i]!), size);
    const place = this.#spare.findIndex(({ byteLength }) =>
      byteLength >= length
    );
    if (place >= 0) {
      return new Uint8Array(this.#spare.splice(place, 1)[0]!, 0, length);
    }
    const isShared = typeof SharedArrayBuffer === "function" &&
      isThreaded(way, this.#context.threads);
    // Of the length of most blocks, so that it fits again.
    const capacity = Math.max(length, this.#context.plan.blockBytes);
    return new Uint8Array(
      isShared ? new SharedArrayBuffer(capacity) : new ArrayBuffer(capacity),
      0,
      length,
    );
  }

  /** Gives up shards that are only stored in part. */
  async abort(reason: unknown): Promise<void> {
    await this.#target.abort(reason);
  }
}

/** A chunk of the target that is made. */
interface Target {
  readonly coordinates: readonly number[];
  readonly made: MadeChunk;
  readonly place: number;
}

/** Interrupts a long loop now and then, so that timers, messages and the signal are heard. */
class Breaks {
  readonly #signal: AbortSignal;
  #latest = performance.now();
  #steps = 0;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Counts a step of the loop. Returns whether the loop is to be interrupted. */
  isDue(): boolean {
    return ++this.#steps % CHUNKS_PER_LOOK === 0 &&
      performance.now() - this.#latest > MOST_HELD_UP;
  }

  /**
   * Lets other work go on.
   *
   * @throws The reason of the signal, if it is aborted.
   */
  async take(): Promise<void> {
    await nextTurn();
    this.#signal.throwIfAborted();
    this.#latest = performance.now();
  }
}
