import {
  parsedArrayOf,
  type SetChunkOptions,
  unsizedPart,
} from "../../arrays/mod.ts";
import { isDamage, UnfinishedWriteError } from "../../errors/mod.ts";
import { freeMemory, mapConcurrently } from "../../runtime/mod.ts";
import {
  encodeShard,
  encodeShardIndex,
  type Extent,
  type ShardLayout,
} from "../../shards/mod.ts";
import type { Threads } from "../../threads/mod.ts";
import { isThreaded } from "./recode_way.ts";
import type { Copied, CopySettings } from "../stored_chunks.ts";
import type { RecodedArray } from "./recode_array.ts";

/** What happens to the chunks that are made. */
export interface RecodeSink extends CopySettings {
  /** The number of stored chunks that are written at the same time from one block. */
  readonly concurrency: number;
  /** Called before chunks of the source are read. */
  before(signal: AbortSignal): Promise<void>;
  /** Called after each stored chunk of the target. */
  done(copied: Copied): void;
}

/** A stored chunk of the target that is made. */
export interface MadeChunk {
  readonly coordinates: readonly number[];
  /** The inner chunks by their places in the index, or one chunk. */
  readonly chunks: (Uint8Array | undefined)[];
  stream: ShardStream | undefined;
  /** The number of chunks that are still to be made. */
  left: number;
}

/** Assembles the stored chunks of the target, and stores those that are complete. */
export class TargetChunks {
  /** The layout of shards; `undefined` without shards. */
  readonly layout: ShardLayout | undefined;
  readonly #array: RecodedArray;
  readonly #threads: Threads | undefined;
  readonly #sink: RecodeSink;
  /** Whether inner chunks are stored as soon as they are made, since the shards of one group take too much memory. */
  readonly #isStreamed: boolean;
  /** Shards that are being stored. */
  readonly #streams = new Set<ShardStream>();
  readonly #headSize: number;

  constructor(
    array: RecodedArray,
    threads: Threads | undefined,
    sink: RecodeSink,
  ) {
    this.#array = array;
    this.#threads = threads;
    this.#sink = sink;
    const { chunk: { shard }, parts } = parsedArrayOf(array.pair.target);
    this.layout = shard?.layout;
    this.#isStreamed = shard !== undefined &&
      array.pair.containerOf === undefined &&
      array.plan.groupBytes > array.memory / 4;
    this.#headSize = shard ? unsizedPart(parts)?.offset ?? 0 : 0;
  }

  get #setOptions(): SetChunkOptions {
    const exclusive = this.#sink.isExclusive;
    // A value of the target belongs to the conversion, or may be replaced.
    return { exclusive, otherBytes: exclusive ? "replace" : "refuse" };
  }

  /** Returns those of some stored chunks that are to be made, by their coordinates: not those that are there already. */
  async begin(
    all: readonly (readonly number[])[],
    signal: AbortSignal,
  ): Promise<Map<string, MadeChunk>> {
    const { skipsStored, concurrency } = this.#sink;
    const made = new Map<string, MadeChunk>();
    await mapConcurrently(all, concurrency, async (coordinates) => {
      if (!skipsStored || !await this.#isStored(coordinates, signal)) {
        made.set(String(coordinates), this.#chunkAt(coordinates));
      } else this.#sink.done({ outcome: "skipped", bytes: 0 });
    }, signal);
    return made;
  }

  #chunkAt(coordinates: readonly number[]): MadeChunk {
    const { shapes } = this.#array;
    const left = coordinates.reduce((count, c, i) => {
      const stored = shapes.objectShape[i]!;
      const length = Math.min(stored, shapes.shape[i]! - c * stored);
      return count * Math.ceil(length / shapes.chunkShape[i]!);
    }, 1);
    const { chunksPerShard = [] } = this.#isStreamed ? {} : this.layout ?? {};
    const count = chunksPerShard.reduce((product, n) => product * n, 1);
    return {
      coordinates,
      chunks: new Array<Uint8Array | undefined>(count).fill(undefined),
      stream: undefined,
      left,
    };
  }

  /** Whether a chunk of the target is there. Stored chunks are whole, since stores write all of a value or nothing. */
  async #isStored(
    coordinates: readonly number[],
    signal: AbortSignal,
  ): Promise<boolean> {
    const { target } = this.#array.pair;
    try {
      return await target.size(coordinates, { signal }) !== undefined;
    } catch (error) {
      if (isDamage(error) || error instanceof UnfinishedWriteError) {
        return false;
      }
      throw error;
    }
  }

  /**
   * Adds an inner chunk, or the only chunk.
   *
   * @param place The place of an inner chunk in the index.
   */
  async add(
    made: MadeChunk,
    place: number,
    bytes: Uint8Array,
  ): Promise<void> {
    if (!this.#isStreamed) {
      made.chunks[place] = bytes;
      return;
    }
    if (made.stream === undefined) {
      const { target } = this.#array.pair;
      made.stream = new ShardStream(
        this.layout!,
        this.#headSize,
        (stream) => target.set(made.coordinates, stream, this.#setOptions),
      );
      this.#streams.add(made.stream);
    }
    await made.stream.add(place, bytes);
  }

  /** Stores a chunk of the target that is complete. */
  async finish(made: MadeChunk, signal: AbortSignal): Promise<void> {
    const { target } = this.#array.pair;
    const { replaces } = this.#sink;
    const { coordinates, chunks, stream } = made;
    if (!stream && chunks.every((chunk) => chunk === undefined)) {
      // The source may have had elements when an earlier run made the chunk.
      if (replaces && await this.#isStored(coordinates, signal)) {
        await target.delete(coordinates, { signal });
      }
      return this.#sink.done({ outcome: "absent", bytes: 0 });
    }
    if (stream !== undefined) {
      await stream.finish();
      this.#streams.delete(stream);
      return this.#sink.done({ outcome: "copied", bytes: stream.length });
    }
    const bytes = this.#encode(made);
    await target.set(coordinates, bytes, {
      ...this.#setOptions,
      signal,
    });
    this.#sink.done({ outcome: "copied", bytes: bytes.length });
  }

  #encode({ coordinates, chunks }: MadeChunk): Uint8Array {
    const { layout } = this;
    const [chunk] = chunks;
    if (layout === undefined) {
      chunks.length = 0;
      return chunk!;
    }
    const container = this.#array.pair.containerOf?.(coordinates);
    const prefix = container === undefined && this.#headSize > 0
      ? new Uint8Array(this.#headSize)
      : undefined;
    const shard = encodeShard(chunks, layout, { container, prefix });
    this.#free(chunks);
    return shard;
  }

  /** Frees the memory of inner chunks that threads have encoded. */
  #free(chunks: (Uint8Array | undefined)[]): void {
    if (isThreaded(this.#array.way, this.#threads)) {
      for (const chunk of chunks) if (chunk) freeMemory(chunk.buffer);
    }
    chunks.length = 0;
  }

  /** Gives up shards that are only stored in part. */
  async abort(reason: unknown): Promise<void> {
    for (const stream of this.#streams) await stream.abort(reason);
  }
}

/**
 * A shard that is stored while its inner chunks are made, in the order in which they come, so
 * that memory holds none of them. The index follows them.
 */
class ShardStream {
  readonly #layout: ShardLayout;
  readonly #index: (Extent | undefined)[];
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #stored: Promise<void>;
  #offset: number;
  /** Chunks of several blocks come at the same time. */
  #latest: Promise<void> = Promise.resolve();

  /**
   * @param headSize The number of bytes of the head parts, which are zeros.
   * @param store Stores the bytes of the stream.
   */
  constructor(
    layout: ShardLayout,
    headSize: number,
    store: (bytes: ReadableStream<Uint8Array>) => Promise<void>,
  ) {
    this.#layout = layout;
    const count = layout.chunksPerShard.reduce((n, length) => n * length, 1);
    this.#index = new Array(count).fill(undefined);
    const { readable, writable } = new TransformStream<
      Uint8Array,
      Uint8Array
    >();
    this.#writer = writable.getWriter();
    this.#writer.closed.catch(() => {});
    this.#offset = headSize;
    this.#stored = store(readable);
    this.#stored.catch((error) => this.#writer.abort(error).catch(() => {}));
    if (headSize > 0) this.#write(new Uint8Array(headSize));
  }

  /** The number of bytes until now. */
  get length(): number {
    return this.#offset;
  }

  /** Adds an inner chunk, and waits until the store has taken it. */
  async add(place: number, chunk: Uint8Array): Promise<void> {
    this.#index[place] = { offset: this.#offset, length: chunk.length };
    this.#offset += chunk.length;
    await this.#write(chunk);
  }

  /** Adds the index, and waits until the shard is stored. */
  async finish(): Promise<void> {
    const index = encodeShardIndex(this.#index, this.#layout);
    this.#offset += index.length;
    await this.#write(index);
    await Promise.all([this.#writer.close().catch(() => {}), this.#stored]);
  }

  /** Gives the shard up: what was stored of it is removed. */
  async abort(reason: unknown): Promise<void> {
    await this.#writer.abort(reason).catch(() => {});
    await this.#stored.catch(() => {});
  }

  #write(bytes: Uint8Array): Promise<void> {
    const written = this.#latest.then(() => this.#writer.write(bytes));
    this.#latest = written.catch(() => {});
    // The store says what went wrong.
    return written.catch(async (error) => {
      await this.#stored;
      throw error;
    });
  }
}
