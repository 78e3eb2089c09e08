import { type ChunkRows, rowsOf } from "../codecs/mod.ts";
import { copyBytes, isSameList, runConcurrently } from "../runtime/mod.ts";
import {
  type ChunkBlock,
  type ChunkElements,
  type ChunkFormat,
  copyElements,
  copyFromChunk,
  isCheapToDecode,
  type ThreadPool,
  type Threads,
  withThreads,
} from "../threads/mod.ts";
import {
  bytesOf,
  type Chunk,
  type Context,
  type Elements,
  formatOf,
  hasOwnMethod,
} from "./array_context.ts";
import {
  type Along,
  blockOf,
  type DimensionSelection,
  dividedAlong,
  productOf,
  selectedShape,
} from "./selection.ts";
import type { ZarritaArray } from "./set_sharded.ts";
import { ShardedArray } from "./sharded_array.ts";
import { arraysOf, isOwnStore } from "./with_zarr_parts.ts";

/**
 * Options of `getSharded`.
 *
 * @example
 * ```ts
 * import type { GetShardedOptions } from "@zarr-parts/zarr-parts/zarrita";
 *
 * const options: GetShardedOptions = {
 *   threads: 4,
 *   onProgress: ({ done, total }) => console.log(`${done} of ${total} chunks`),
 * };
 * ```
 */
export interface GetShardedOptions {
  /**
   * The threads that decode chunks: a pool, or their number from 0; with 0, chunks are
   * decoded as for `zarr.get`. Defaults to the pool of the store or, without one, to one for
   * each processor, which start with a call that reads 16 MiB or more, and end with it.
   */
  readonly threads?: ThreadPool | number | undefined;
  /** Aborts the reading. */
  readonly signal?: AbortSignal | undefined;
  /** Called after each chunk with the number of chunks that are read, and the number of all chunks of the selection. */
  readonly onProgress?: ((progress: ReadProgress) => void) | undefined;
  /**
   * The most bytes of chunks, encoded and decoded, that are in memory at the same time
   * beside the result, unless one chunk needs more. Defaults to 64 MiB, or what all
   * threads need for two chunks each.
   */
  readonly memory?: number | undefined;
  /**
   * Whether the result lies in shared memory, in which threads store elements themselves.
   * By default, it does if threads decode and the runtime has shared memory; a page has it
   * if it is isolated.
   */
  readonly shared?: boolean | undefined;
}

/**
 * How far a read is.
 *
 * @example
 * ```ts
 * import type { ReadProgress } from "@zarr-parts/zarr-parts/zarrita";
 *
 * const percent = ({ done, total }: ReadProgress) => `${Math.floor(100 * done / total)} %`;
 * ```
 */
export interface ReadProgress {
  /** The number of chunks that are read, or absent. */
  readonly done: number;
  /** The number of chunks of the selection. */
  readonly total: number;
}

/** The least bytes of chunks for which a read uses threads. Tests lower the numbers. */
export const LEAST_BYTES = {
  /** To start threads takes as long as to decode some MiB. */
  toStart: 16 * 2 ** 20,
  /** Of threads that may be running. */
  toUse: 2 ** 17,
};
/** The bytes of decoded chunks that are requested from the store at once, so that close ranges are read together. */
const GROUP_BYTES = 4 * 2 ** 20;
/** The least bytes of chunks that are requested at once, if there are more. */
const LEAST_GROUP_BYTES = 2 ** 19;
/** The most bytes of chunks in memory, unless the threads need more. */
const MEMORY = 64 * 2 ** 20;

/** A chunk, and its elements that are read. */
interface Piece {
  readonly coordinates: number[];
  /** The number of its shard, among those of the read. */
  readonly shard: number;
  readonly block: ChunkBlock;
}

/** The codecs of chunks, and the threads that decode them. */
interface Decoder {
  readonly format: ChunkFormat;
  readonly threads: Threads;
}

/** One call of `getSharded`. */
export class ShardedRead {
  readonly #array: ZarritaArray;
  readonly #root: string;
  readonly #context: Context;
  readonly #selection: readonly DimensionSelection[] | null;
  readonly #options: GetShardedOptions;
  readonly #elementSize: number;
  readonly #chunkBytes: number;
  #result!: Chunk;
  #out!: Uint8Array;
  #outStrides!: readonly number[];
  #isShared = false;
  /** The codecs of the chunks, and the threads that have them; `undefined` if the calling thread decodes. */
  #decoder: Decoder | undefined;
  #progress: { done: number; total: number } = { done: 0, total: 0 };

  constructor(
    array: ZarritaArray,
    root: string,
    context: Context,
    selection: readonly DimensionSelection[] | null,
    options: GetShardedOptions,
  ) {
    this.#array = array;
    this.#root = root;
    this.#context = context;
    this.#selection = selection;
    this.#options = options;
    this.#elementSize = new context.TypedArray(0).BYTES_PER_ELEMENT!;
    this.#chunkBytes = context.chunkShape
      .reduce((product, n) => product * n, this.#elementSize);
  }

  async run(): Promise<unknown> {
    const { shape } = this.#array;
    const { chunkShape } = this.#context;
    const runs = shape.map((length, i) => [
      ...dividedAlong(this.#selection?.[i] ?? null, length, chunkShape[i]!),
    ]);
    const total = runs.reduce((product, { length }) => product * length, 1);
    this.#progress.total = total;
    const { threads, memory } = this.#options;
    const { toStart, toUse } = LEAST_BYTES;
    const least = typeof threads === "object" ? toUse : toStart;
    const format = total * this.#chunkBytes >= least
      ? await this.#threadedFormat()
      : undefined;
    const count = format === undefined ? 0 : threads;
    await withThreads(count, async (threads) => {
      if (threads && format) this.#decoder = { format, threads };
      this.#allocate();
      const needed = 2 * this.#chunkBytes * 2 * (threads?.count ?? 1);
      const most = memory ?? Math.max(MEMORY, needed);
      // So many that each thread gets some, of one request each.
      const share = Math.ceil(total / (2 * (threads?.count ?? 1)));
      const groups = new Groups(this.#pieces(runs), {
        chunkBytes: this.#chunkBytes,
        memory: most,
        share,
      });
      const { signal } = this.#options;
      // A signal of its own would take much of the time of a short read.
      if (total <= groups.size) {
        for (const pieces of groups) await this.#readGroup(pieces, signal);
        return;
      }
      await runConcurrently(
        groups,
        groups.concurrency,
        (pieces, signal) => this.#readGroup(pieces, signal),
        signal,
      );
    });
    return this.#result.shape.length > 0
      ? this.#result
      : elementAt(this.#result.data, 0);
  }

  /** The codecs of the chunks if threads should decode them. */
  async #threadedFormat(): Promise<ChunkFormat | undefined> {
    const { threads } = this.#options;
    if (threads === 0 || !hasOwnMethod(this.#array)) return undefined;
    const arrays = arraysOf(this.#array.store)!;
    const format = await formatOf(
      arrays,
      this.#root,
      this.#array,
      this.#context,
    );
    return format && !isCheapToDecode(format.codecs) ? format : undefined;
  }

  #allocate(): void {
    const { TypedArray } = this.#context;
    const selection = this.#selection;
    const shape = selectedShape(selection, this.#array.shape);
    const axes = this.#array.shape.flatMap((_, i) =>
      typeof selection?.[i] === "number" ? [] : [i]
    );
    const stride = this.#context.getStrides(shape, axes);
    const size = shape.reduce((product, n) => product * n, 1);
    const isPossible = typeof SharedArrayBuffer === "function";
    const { shared = isPossible && this.#decoder !== undefined } =
      this.#options;
    if (shared && !isPossible) {
      throw new TypeError(
        'The option "shared" is true, and this page has no shared memory: it is not isolated by the headers Cross-Origin-Opener-Policy and Cross-Origin-Embedder-Policy',
      );
    }
    this.#isShared = shared;
    const data = shared
      ? new TypedArray(
        new SharedArrayBuffer(size * this.#elementSize),
        0,
        size,
      )
      : new TypedArray(size);
    this.#result = { data, shape, stride };
    this.#out = bytesOf(data);
    this.#outStrides = this.#array.shape.map((_, i) => {
      const axis = axes.indexOf(i);
      return axis < 0 ? 0 : stride[axis]!;
    });
  }

  /** The chunks of the selection: one shard after another, so that the chunks of a shard are read together. */
  *#pieces(runs: readonly (readonly Along[])[]): Generator<Piece> {
    const found = arraysOf(this.#array.store)!.known(this.#root);
    const { chunkShape } = this.#context;
    const shardShape = found instanceof ShardedArray
      ? found.shardShape
      : this.#array.shape;
    const groups = runs.map((along, i) => {
      const chunksPerShard = Math.max(1, shardShape[i]! / chunkShape[i]!);
      return inShards(along, chunksPerShard);
    });
    let number = 0;
    for (const shard of productOf(groups)) {
      for (const chunk of productOf(shard)) yield this.#pieceOf(chunk, number);
      number++;
    }
  }

  #pieceOf(along: readonly Along[], shard: number): Piece {
    const { chunkShape } = this.#context;
    return {
      coordinates: along.map(({ shard: chunk }) => chunk),
      shard,
      block: blockOf(along, chunkShape, this.#out, this.#outStrides),
    };
  }

  async #readGroup(
    pieces: readonly Piece[],
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const decoder = this.#decoder;
    const array = decoder && await this.#shardedArray();
    const tasks = array === undefined
      ? pieces.map((piece) =>
        decoder === undefined
          ? this.#readHere(piece, signal)
          : this.#readChunk(piece, decoder, signal)
      )
      : byShard(pieces).map((pieces) =>
        this.#readInnerChunks(pieces, array, decoder!, signal)
      );
    await allSettled(tasks);
  }

  /** The array if inner chunks may be read without the store of the array, since no layer is above that of `withZarrParts`. */
  async #shardedArray(): Promise<ShardedArray | undefined> {
    const { store } = this.#array;
    const found = isOwnStore(store)
      ? await arraysOf(store)!.at(this.#root)
      : undefined;
    const isSame = found instanceof ShardedArray &&
      isSameList(found.levels.chunkShape, this.#context.chunkShape);
    return isSame ? found : undefined;
  }

  /** Reads and decodes a chunk in the calling thread, as zarrita does. */
  async #readHere(
    { coordinates, block }: Piece,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const chunk = await this.#array.getChunk(
      coordinates,
      optionsOf(signal),
    ) as Chunk;
    const elements = { bytes: bytesOf(chunk.data), strides: chunk.stride };
    copyFromChunk(block, elements, this.#elementSize);
    this.#noteDone();
  }

  /** Reads a chunk by the store of the array. */
  async #readChunk(
    piece: Piece,
    decoder: Decoder,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { coordinates } = piece;
    const bytes = await this.#context.getChunkBytes(
      coordinates,
      optionsOf(signal),
    );
    if (bytes === undefined) return this.#fill(piece);
    // A store may keep what it returns.
    const read = { piece, bytes: copyBytes(bytes), rows: rowsOf(bytes) };
    await this.#decode([read], decoder, signal);
  }

  /** Reads inner chunks of one shard, those close to each other by one request. */
  async #readInnerChunks(
    pieces: readonly Piece[],
    array: ShardedArray,
    decoder: Decoder,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const absent = new Set(pieces);
    const reads = await array.readTogether(
      pieces.map(({ coordinates }) => coordinates),
      optionsOf(signal),
    );
    await allSettled(reads.map(async ({ isOwned, chunks }) => {
      const found = chunks.map(({ place, bytes, rows }) => {
        const piece = pieces[place]!;
        absent.delete(piece);
        return { piece, bytes: isOwned ? bytes : copyBytes(bytes), rows };
      });
      await this.#decode(found, decoder, signal);
    }));
    for (const piece of absent) this.#fill(piece);
  }

  /** Decodes chunks in a thread. Chunks may share memory, which goes to the thread. */
  async #decode(
    chunks: readonly EncodedChunk[],
    { format, threads }: Decoder,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const jobs = chunks.map(({ bytes, rows, piece }) => ({
      kind: "decode" as const,
      bytes,
      rows,
      block: this.#isShared ? piece.block : undefined,
    }));
    const bytes = chunks.length * this.#chunkBytes;
    const results = await threads.run(format, jobs, bytes, signal);
    for (const [i, { piece }] of chunks.entries()) {
      const result = results[i]!;
      // zarrita decodes a chunk on which a thread has failed, or throws its error.
      if (result !== true && "failed" in result) {
        await this.#readHere(piece, signal);
        continue;
      }
      if (result !== true) {
        const elements = result as ChunkElements;
        copyFromChunk(piece.block, elements, this.#elementSize);
      }
      this.#noteDone();
    }
  }

  #noteDone(): void {
    this.#progress.done++;
    this.#options.onProgress?.({ ...this.#progress });
  }

  /** Sets the elements of an absent chunk. */
  #fill({ block }: Piece): void {
    this.#noteDone();
    const element = new this.#context.TypedArray(1);
    element.fill(this.#context.fillValue);
    const bytes = bytesOf(element);
    if (bytes.every((byte) => byte === 0)) return; // As new memory is.
    const from = { bytes, offset: 0, strides: block.strides.map(() => 0) };
    copyElements(block, from, block.counts, this.#elementSize);
  }
}

/** A chunk that is read, and not decoded yet. */
interface EncodedChunk {
  readonly piece: Piece;
  readonly bytes: Uint8Array;
  readonly rows: ChunkRows | undefined;
}

/** Groups chunks, which come one shard after another, by their shards. */
function byShard(pieces: readonly Piece[]): Piece[][] {
  const groups: Piece[][] = [];
  for (const piece of pieces) {
    if (groups.at(-1)?.[0]?.shard !== piece.shard) groups.push([]);
    groups.at(-1)!.push(piece);
  }
  return groups;
}

/** Groups the parts of a selection along one dimension by the shards of their chunks. */
function inShards(along: readonly Along[], chunksPerShard: number): Along[][] {
  const groups: Along[][] = [];
  let latest: number | undefined;
  for (const part of along) {
    const shard = Math.floor(part.shard / chunksPerShard);
    if (shard !== latest) groups.push([]);
    latest = shard;
    groups.at(-1)!.push(part);
  }
  return groups;
}

/** Options of a read, never absent: only `zarr.set` reads without. */
function optionsOf(signal: AbortSignal | undefined): { signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}

/** An element of a typed array, or of an array of zarrita's own. */
function elementAt(elements: Elements, place: number): unknown {
  return elements.get ? elements.get(place) : elements[place];
}

/** Waits for all promises, and throws the first error. */
async function allSettled(promises: readonly Promise<void>[]): Promise<void> {
  for (const result of await Promise.allSettled(promises)) {
    if (result.status === "rejected") throw result.reason;
  }
}

/** Groups chunks that are requested from the store at once. */
class Groups implements Iterable<Piece[]> {
  /** The number of groups that are read at the same time. */
  readonly concurrency: number;
  /** The most chunks in a group. */
  readonly size: number;
  readonly #pieces: Iterable<Piece>;

  /**
   * @param limits `memory`: the most bytes of chunks, encoded and decoded, in memory;
   * `share`: the number of chunks in a group that gives work to each thread.
   */
  constructor(
    pieces: Iterable<Piece>,
    { chunkBytes, memory, share }: {
      chunkBytes: number;
      memory: number;
      share: number;
    },
  ) {
    const most = Math.max(1, Math.floor(memory / (2 * chunkBytes)));
    const chunksIn = (bytes: number) =>
      Math.max(1, Math.ceil(bytes / chunkBytes));
    this.#pieces = pieces;
    this.size = Math.min(
      chunksIn(GROUP_BYTES),
      Math.max(chunksIn(LEAST_GROUP_BYTES), share),
      Math.ceil(most / 4),
    );
    this.concurrency = Math.max(1, Math.floor(most / this.size));
  }

  *[Symbol.iterator](): Generator<Piece[]> {
    let group: Piece[] = [];
    for (const piece of this.#pieces) {
      group.push(piece);
      if (group.length < this.size) continue;
      yield group;
      group = [];
    }
    if (group.length > 0) yield group;
  }
}
