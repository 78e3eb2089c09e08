import { type ChunkRows, rowsOf } from "../codecs/mod.ts";
import {
  BOOLEAN,
  checkOptions,
  describe,
  FUNCTION,
  numberFrom,
  type OptionRules,
  SIGNAL,
} from "../errors/mod.ts";
import {
  copyBytes,
  MemoryLimit,
  rejectOnAbort,
  runConcurrently,
} from "../runtime/mod.ts";
import type { StoreKey } from "../stores/mod.ts";
import {
  CALLING_THREAD,
  type ChunkBlock,
  type ChunkElements,
  copyFromChunk,
  isCheapToDecode,
  repeatElement,
  type ThreadPool,
  THREADS,
  type Threads,
  withThreads,
} from "../threads/mod.ts";
import {
  type Along,
  assertSelection,
  blockOf,
  type DimensionSelection,
  dividedAlong,
  productOf,
  selectedShape,
} from "./selection.ts";
import { ShardedArray } from "./sharded_array.ts";
import { isOwnStore, shownKey } from "./with_zarr_parts.ts";
import {
  type ArrayElements,
  bytesOf,
  type Chunk,
  elementsOf,
  hasOwnMethod,
  rootOf,
  shownStoreOf,
  type ZarritaArray,
} from "./zarrita_array.ts";

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
   * The threads that decode chunks: a pool, or their number from 0; with 0, the
   * calling thread decodes. Defaults to the pool of the store or, without one, to one for
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
/** The greatest number of requests of close chunks at the same time. */
const MOST_BATCHES = 64;

/**
 * Reads elements of an array, as zarrita's `get` does, and decodes chunks in threads: in a
 * fraction of the time on several processors. The array may have shards or not.
 *
 * The calling thread reads from the store, one shard after another: it requests ranges of
 * close inner chunks together, and checks versions and parts as always. Threads decode,
 * verify, and copy elements to their place in the result, which lies in memory that they
 * share where the runtime has it. Some functions refuse such memory, such as those of
 * `TextDecoder` and `WebGL`: the option `shared: false` avoids it. Absent chunks, chunks that
 * are not compressed and small reads stay on the calling thread, as well as elements without
 * a fixed size and codecs that the threads do not have.
 *
 * Array extensions are obeyed: if an extension has replaced `getChunk`, all chunks are read
 * by it, in the calling thread.
 *
 * @param zarr zarrita itself: `import * as zarr from "zarrita"`.
 * @param array An array, opened from a store of `withZarrParts`.
 * @param selection The elements to read: a slice with a step from 1, an index or `null` (all
 * elements) for each dimension, or `null` for the whole array.
 * @param options `threads`, `signal`, `onProgress`, `memory` and `shared`.
 * @returns The elements, as `zarr.get` returns them: an object with `data`, `shape` and
 * `stride`, or one element if the selection has an index for each dimension.
 * @throws {TypeError} If the array is of another store, or an argument is missing or has a
 * wrong type.
 * @throws {RangeError} If the selection is outside the array, or an option is out of range.
 * @throws {DamageError} If a shard is damaged. Damage that a codec finds is the `cause` of
 * zarrita's `CodecPipelineError`, which names the key.
 * @throws {MetadataError} If the metadata of the array is not understood.
 * @throws {Error} If a thread ends before it has decoded its chunks.
 *
 * @example
 * ```ts
 * import { FileSystemStore } from "@zarr-parts/zarr-parts";
 * import { getSharded, registerCodecs, withZarrParts } from "@zarr-parts/zarr-parts/zarrita";
 * import { assertEquals } from "@std/assert";
 * import * as zarr from "zarrita";
 *
 * registerCodecs(zarr);
 * const store = new FileSystemStore("tests/fixtures/dem.zarr");
 * const array = await zarr.open(withZarrParts(store), { kind: "array" });
 * const rows = await getSharded(zarr, array, [zarr.slice(0, 100, 10), null]);
 * assertEquals(rows.shape, [10, array.shape[1]!]);
 * ```
 */
export async function getSharded<
  A extends ZarritaArray,
  S extends readonly DimensionSelection[] | null = null,
>(
  zarr: ZarritaReader,
  array: A,
  selection?: S,
  options: GetShardedOptions = {},
): Promise<SelectedElements<A, S>> {
  if (typeof zarr?.get !== "function") {
    throw new TypeError(
      `Expected the module of zarrita as the first argument, found ${
        describe(zarr)
      }`,
    );
  }
  checkOptions(options, OPTIONS, "getSharded");
  const { arrays, pool } = shownStoreOf(array);
  const selected: readonly DimensionSelection[] | null = selection ?? null;
  assertSelection(selected, array.shape);
  const { signal } = options;
  signal?.throwIfAborted();
  const elements = await elementsOf(array, arrays, zarr.BoolArray);
  if (elements === undefined || array.shape.length === 0) {
    const options = signal === undefined ? {} : { signal };
    return await zarr.get(
      array as never,
      selected as never,
      options as never,
    ) as SelectedElements<A, S>;
  }
  const { threads = pool } = options;
  const read = new ElementsRead(array, elements, selected, {
    ...options,
    threads,
  });
  const result = await rejectOnAbort(read.run(), signal);
  return result as SelectedElements<A, S>;
}

/**
 * The part of zarrita that `getSharded` uses.
 *
 * @example
 * ```ts
 * import type { ZarritaReader } from "@zarr-parts/zarr-parts/zarrita";
 * import * as zarr from "zarrita";
 *
 * const peer: ZarritaReader = zarr;
 * ```
 */
export interface ZarritaReader {
  /** Reads elements of an array. */
  get(array: never, selection?: never, options?: never): Promise<unknown>;
  /** The class of booleans. Without it, booleans are read by `get`. */
  readonly BoolArray?: unknown;
}

/**
 * The elements that {@linkcode getSharded} reads: one element if the selection has an index
 * for each dimension, and otherwise a chunk with `data`, `shape` and `stride`.
 *
 * @typeParam A The array.
 * @typeParam S The selection.
 *
 * @example
 * ```ts
 * import type { SelectedElements } from "@zarr-parts/zarr-parts/zarrita";
 * import type * as zarr from "zarrita";
 *
 * type Image = zarr.Array<"uint8">;
 * const pixel: SelectedElements<Image, [number, number]> = 7;
 * ```
 */
export type SelectedElements<
  A extends ZarritaArray,
  S extends readonly DimensionSelection[] | null,
> = S extends readonly number[] ? NonNullable<A["fillValue"]>
  : Awaited<ReturnType<A["getChunk"]>>;

const OPTIONS: OptionRules<GetShardedOptions> = {
  threads: THREADS,
  signal: SIGNAL,
  onProgress: FUNCTION,
  memory: /* @__PURE__ */ numberFrom(0),
  shared: BOOLEAN,
};

/** A chunk, and its elements that are read. */
interface Piece {
  readonly coordinates: number[];
  readonly block: ChunkBlock;
}

/** A chunk that is read, and not decoded yet. Its memory may be given away. */
interface EncodedChunk {
  readonly piece: Piece;
  readonly bytes: Uint8Array;
  readonly rows: ChunkRows | undefined;
}

/** One call of `getSharded`. */
class ElementsRead {
  readonly #array: ZarritaArray;
  readonly #elements: ArrayElements;
  readonly #selection: readonly DimensionSelection[] | null;
  readonly #options: GetShardedOptions;
  /** The array if inner chunks may be read without the store of the array, since no layer is above that of `withZarrParts`. */
  #sharded: ShardedArray | undefined;
  #threads: Threads = CALLING_THREAD;
  #result!: Chunk;
  #out!: Uint8Array;
  #outStrides!: readonly number[];
  #isShared = false;
  #done = 0;
  #total = 0;

  constructor(
    array: ZarritaArray,
    elements: ArrayElements,
    selection: readonly DimensionSelection[] | null,
    options: GetShardedOptions,
  ) {
    this.#array = array;
    this.#elements = elements;
    this.#selection = selection;
    this.#options = options;
  }

  async run(): Promise<unknown> {
    const { shape, chunks } = this.#array;
    const runs = shape.map((length, i) => [
      ...dividedAlong(this.#selection?.[i] ?? null, length, chunks[i]!),
    ]);
    this.#total = runs.reduce((product, { length }) => product * length, 1);
    const { threads, memory, signal } = this.#options;
    const { format, chunkBytes } = this.#elements;
    const { toStart, toUse } = LEAST_BYTES;
    const least = typeof threads === "object" ? toUse : toStart;
    const isThreaded = this.#total * chunkBytes >= least && this.#hasJobs &&
      !isCheapToDecode(format!.codecs);
    const { arrays } = shownStoreOf(this.#array);
    const found = await arrays.at(rootOf(this.#array));
    const sharded = found instanceof ShardedArray ? found : undefined;
    const isSame = sharded?.levels.chunkShape
      .every((length, i) => length === chunks[i]);
    if (isOwnStore(this.#array.store) && isSame) this.#sharded = sharded;
    await withThreads(isThreaded ? threads : 0, async (used) => {
      if (used !== undefined) this.#threads = used;
      this.#allocate();
      const count = Math.max(1, this.#threads.count);
      const most = memory ?? Math.max(MEMORY, 4 * chunkBytes * count);
      const limit = new MemoryLimit(most, 1);
      // So many that each thread gets some, of one request each.
      const share = Math.ceil(this.#total / (2 * count));
      const chunksIn = (bytes: number) =>
        Math.max(1, Math.ceil(bytes / chunkBytes));
      const size = Math.min(
        chunksIn(GROUP_BYTES),
        Math.max(chunksIn(LEAST_GROUP_BYTES), share),
        Math.max(1, Math.ceil(most / (8 * chunkBytes))),
      );
      await runConcurrently(
        this.#batches(runs, sharded?.array.chunk.shape ?? shape, size),
        Math.min(MOST_BATCHES, this.#total),
        async (pieces, signal) => {
          const leave = await limit.enter(2 * chunkBytes * pieces.length);
          try {
            signal.throwIfAborted();
            await this.#readBatch(pieces, signal);
          } finally {
            leave();
          }
        },
        signal,
      );
    });
    const { data } = this.#result;
    if (this.#result.shape.length > 0) return this.#result;
    return data.get ? data.get(0) : data[0];
  }

  /** Whether jobs decode chunks, since their codecs are those of this package, and no extension has changed the array. */
  get #hasJobs(): boolean {
    return this.#elements.format !== undefined && hasOwnMethod(this.#array);
  }

  #allocate(): void {
    const { Elements, size } = this.#elements;
    const selection = this.#selection;
    const shape = selectedShape(selection, this.#array.shape);
    const axes = this.#array.shape.flatMap((_, i) =>
      typeof selection?.[i] === "number" ? [] : [i]
    );
    const stride = this.#elements.stridesOf(shape, axes);
    const count = shape.reduce((product, n) => product * n, 1);
    const isPossible = typeof SharedArrayBuffer === "function";
    const { shared = isPossible && this.#threads.count > 0 } = this.#options;
    if (shared && !isPossible) {
      throw new TypeError(
        'The option "shared" is true, and this page has no shared memory: it is not isolated by the headers Cross-Origin-Opener-Policy and Cross-Origin-Embedder-Policy',
      );
    }
    this.#isShared = shared;
    const data = shared
      ? new Elements(new SharedArrayBuffer(count * size), 0, count)
      : new Elements(count);
    this.#result = { data, shape, stride };
    this.#out = bytesOf(data);
    this.#outStrides = this.#array.shape.map((_, i) => {
      const axis = axes.indexOf(i);
      return axis < 0 ? 0 : stride[axis]!;
    });
  }

  /** The chunks of the selection: some of one shard at a time, which are read together. */
  *#batches(
    runs: readonly (readonly Along[])[],
    shardShape: readonly number[],
    size: number,
  ): Generator<Piece[]> {
    const { chunks } = this.#array;
    const shards = runs.map((along, i) =>
      inShards(along, Math.max(1, shardShape[i]! / chunks[i]!))
    );
    for (const shard of productOf(shards)) {
      let batch: Piece[] = [];
      for (const along of productOf(shard)) {
        batch.push({
          coordinates: along.map(({ shard: chunk }) => chunk),
          block: blockOf(along, chunks, this.#out, this.#outStrides),
        });
        if (batch.length < size) continue;
        yield batch;
        batch = [];
      }
      if (batch.length > 0) yield batch;
    }
  }

  async #readBatch(
    pieces: readonly Piece[],
    signal: AbortSignal,
  ): Promise<void> {
    if (!this.#hasJobs) {
      return await allSettled(
        pieces.map((piece) => this.#readByZarrita(piece, signal)),
      );
    }
    const sharded = this.#sharded;
    if (sharded === undefined) {
      return await allSettled(pieces.map(async (piece) => {
        const bytes = await this.#bytesOf(piece, signal);
        if (bytes === undefined) return this.#fill(piece);
        // A layer may keep what it returns.
        const read = { piece, bytes: copyBytes(bytes), rows: rowsOf(bytes) };
        await this.#decode([read], signal);
      }));
    }
    const absent = new Set(pieces);
    const reads = await sharded.readTogether(
      pieces.map(({ coordinates }) => coordinates),
      { signal },
    );
    await allSettled(reads.map(async (chunks) => {
      const found = chunks.map(({ place, bytes, rows }) => {
        const piece = pieces[place]!;
        absent.delete(piece);
        return { piece, bytes, rows };
      });
      await this.#decode(found, signal);
    }));
    for (const piece of absent) this.#fill(piece);
  }

  /** Reads a chunk by the store of the array. */
  async #bytesOf(
    { coordinates }: Piece,
    signal: AbortSignal,
  ): Promise<Uint8Array | undefined> {
    const store = this.#array.store as {
      get(key: StoreKey, options: unknown): Promise<Uint8Array | undefined>;
    };
    return await store.get(shownKey(this.#array, coordinates), { signal });
  }

  /** Reads and decodes a chunk as zarrita does. */
  async #readByZarrita(
    { coordinates, block }: Piece,
    signal: AbortSignal,
  ): Promise<void> {
    const chunk = await this.#array.getChunk(coordinates, { signal }) as Chunk;
    const elements = { bytes: bytesOf(chunk.data), strides: chunk.stride };
    copyFromChunk(block, elements, this.#elements.size);
    this.#noteDone();
  }

  /** Decodes chunks in a thread. Chunks may share memory, which goes to the thread. */
  async #decode(
    chunks: readonly EncodedChunk[],
    signal: AbortSignal,
  ): Promise<void> {
    const { format, chunkBytes, size } = this.#elements;
    const isCopied = this.#isShared || this.#threads.count === 0;
    const jobs = chunks.map(({ bytes, rows, piece: { block } }) => ({
      kind: "decode" as const,
      bytes,
      rows,
      block: isCopied ? block : undefined,
    }));
    const results = await this.#threads
      .run(format!, jobs, chunks.length * chunkBytes, signal);
    for (const [i, { piece }] of chunks.entries()) {
      const result = results[i]!;
      if (result !== true && "failed" in result) {
        // zarrita decodes the chunk, or throws its error.
        await this.#readByZarrita(piece, signal);
        continue;
      }
      if (result !== true) {
        copyFromChunk(piece.block, result as ChunkElements, size);
      }
      this.#noteDone();
    }
  }

  #noteDone(): void {
    this.#done++;
    this.#options.onProgress?.({ done: this.#done, total: this.#total });
  }

  /** Sets the elements of an absent chunk. */
  #fill({ block }: Piece): void {
    this.#noteDone();
    const { fill, size } = this.#elements;
    if (fill.every((byte) => byte === 0)) return; // As new memory is.
    repeatElement(block, fill, block.counts, size);
  }
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

/** Waits for all promises, and throws the first error. */
async function allSettled(promises: readonly Promise<void>[]): Promise<void> {
  for (const result of await Promise.allSettled(promises)) {
    if (result.status === "rejected") throw result.reason;
  }
}
