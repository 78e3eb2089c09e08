import { storageOf, unsizedPart } from "../../arrays/mod.ts";
import { verifyChecksum } from "../../checksum/mod.ts";
import { describe, isDamage, UnfinishedWriteError } from "../../errors/mod.ts";
import {
  isSameBytes,
  mapConcurrently,
  MemoryLimit,
  ownBytes,
  runConcurrently,
} from "../../runtime/mod.ts";
import {
  encodeShard,
  placeInShard,
  type ShardContainer,
  type ShardLayout,
} from "../../shards/mod.ts";
import type { StoreKey } from "../../stores/mod.ts";
import { repeatElement, type Threads } from "../../threads/mod.ts";
import type { PlannedArray } from "../convert/convert_plan.ts";
import type { Copied } from "../convert/copy_value.ts";
import type { CopiedValue } from "../convert/source_files.ts";
import type { ElementCodecs, EncodedChunk } from "./element_codecs.ts";
import { describeType, type ElementForm } from "./element_form.ts";
import type { PayloadCodecs } from "./payload_codecs.ts";
import type { BlockPlan } from "./plan_blocks.ts";
import { ShardStream } from "./shard_stream.ts";
import type { SourceChunk, SourceChunks } from "./source_chunks.ts";
import {
  BlockMemory,
  type Box,
  coordinatesIn,
  type GridRange,
  placeIn,
  rangeOf,
} from "./boxes.ts";

/** The decoded bytes of chunks of one shard that are read together. */
const READ_BYTES = 4 * 2 ** 20;
/** The decoded bytes of chunks that are read together where each is stored alone. */
const FILES_BYTES = 512 * 1024;
/** How many times chunks of a block are read together at the same time. */
const READS = 6;
/** The length of inner chunks from which their memory is freed at once. */
const LEAST_TO_FREE = 128 * 1024;

/** How an array gets from one encoding to another. */
export type Way =
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

/** Blocks whose chunks fill whole stored chunks of the target. */
export interface Group {
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
export interface Block {
  readonly box: Box;
  readonly objects: GridRange;
  /** By their places in the range; `undefined` for those that are there already. */
  readonly made: readonly (MadeObject | undefined)[];
}

/** What a run needs to know about an array. */
export interface RunContext {
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
export class RecodeRun {
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
