import pLimit, { type LimitFunction } from "p-limit";
import { noteKey } from "../codecs/mod.ts";
import {
  ANY,
  checkOptions,
  describe,
  FUNCTION,
  type OptionRules,
  SIGNAL,
} from "../errors/mod.ts";
import { coreDataType } from "../metadata/mod.ts";
import { copyBytes, rejectOnAbort, runConcurrently } from "../runtime/mod.ts";
import {
  assertFirstBytes,
  assertOtherBytes,
  type ChangesOf,
  type EncodeShardOptions,
  placeInShard,
  type ShardContainer,
} from "../shards/mod.ts";
import { describeStore, type StoreKey } from "../stores/mod.ts";
import { type ThreadPool, THREADS, withThreads } from "../threads/mod.ts";
import { outsideGrid, splitPlainKey } from "../views/mod.ts";
import { ChunkEncoder } from "./chunk_encoder.ts";
import {
  assertSelection,
  coveredRuns,
  type DimensionSelection,
  piecesOf,
  type Run,
  selectedShape,
  type ShardPiece,
  writtenValue,
} from "./selection.ts";
import { ShardedArray } from "./sharded_array.ts";
import {
  arraysOf,
  DECODE,
  type Decode,
  overlay,
  poolOf,
} from "./with_zarr_parts.ts";

/**
 * Writes elements of a sharded array, as zarrita's `set` does for other arrays, and
 * stores each shard once. Threads encode the inner chunks of large writes.
 *
 * A shard that the selection covers is replaced, also one that is damaged or that a
 * killed writer left. In any other shard, the inner chunks outside of the selection are
 * kept. Head parts, such as a `.header` of `concat-parts`, are always kept; in a new
 * shard they are zeros, or the `prefix`, which must be as long as all head parts
 * together: inner chunks start after them.
 *
 * A shard that is also a file of another format is not destroyed: if it has other bytes
 * that would be lost, or that inner chunks would move away from, the write is refused,
 * unless `container` or `prefix` gives the bytes anew or `otherBytes` is `"replace"`. Of
 * a shard that is replaced, only bytes before the first inner chunk count as such.
 *
 * Calls for the same array run one after another. A shard that is written in part is
 * read, changed and stored under its lock, so that no element that others write at the
 * same time is lost: in all programs if the store has locks, as `FileSystemStore` does, or
 * notices what others have changed, as `S3Store` does.
 *
 * Few shards are in memory at the same time: as many as have 64 MiB of elements
 * together, but at least 2 and at most 16. Beside the value, memory holds their encoded
 * bytes twice, and decoded inner chunks of 16 MiB in all, or two if these are larger.
 *
 * @param zarr zarrita itself: `import * as zarr from "zarrita"`.
 * @param array A sharded array, opened from a store of `withZarrParts`.
 * @param selection The elements to write: a slice, an index or `null` (all elements)
 * for each dimension, or `null` for the whole array.
 * @param value The elements: a typed array of them in C order, a chunk (`data`,
 * `shape`, `stride`) of the selection's shape, or one element for all.
 * @param options `prefix` or `container`, and `alignment` of the shards; `otherBytes`;
 * `threads`; `signal` and `createQueue` as for zarrita's `set`.
 * @throws {TypeError} If an option is unknown or has a wrong type, if the pool of
 * threads was disposed, if the array is of another store, is not sharded, has nested
 * shards or was created again with other inner chunks since it was opened, if the
 * elements have another data type, if an argument is missing, or if there are both a
 * prefix and a container.
 * @throws {RangeError} If the number or the shape of the elements is not that of the
 * selection, if the selection is outside the array, if there is a prefix or a container
 * and the index is at the start, or if the prefix is not as long as the head parts;
 * nothing is written then. Also if the head of a container is not as long as the head
 * parts; that shard is not written.
 * @throws {OtherBytesError} If a stored shard has bytes that the write would destroy;
 * that shard is not written.
 * @throws {DamageError} If a stored shard is damaged that is only partly covered: a
 * `ChecksumError` if the checksum of its index is wrong.
 * @throws {MetadataError} If the metadata of the array is not understood.
 * @throws {Error} If a thread ends before it has encoded its chunks; their shards are not
 * written.
 *
 * @example
 * ```ts
 * import { createArrayChunks, MemoryStore } from "@zarr-parts/zarr-parts";
 * import { registerCodecs, setSharded, withZarrParts } from "@zarr-parts/zarr-parts/zarrita";
 * import { assertEquals } from "@std/assert";
 * import * as zarr from "zarrita";
 *
 * registerCodecs(zarr);
 * const stored = new MemoryStore();
 * await createArrayChunks(stored, "", {
 *   zarr_format: 3,
 *   node_type: "array",
 *   shape: [8],
 *   data_type: "uint8",
 *   chunk_grid: { name: "regular", configuration: { chunk_shape: [4] } },
 *   chunk_key_encoding: "default",
 *   fill_value: 0,
 *   codecs: [{
 *     name: "sharding_indexed",
 *     configuration: {
 *       chunk_shape: [2],
 *       codecs: [{ name: "bytes" }],
 *       index_codecs: [
 *         { name: "bytes", configuration: { endian: "little" } },
 *         { name: "crc32c" },
 *       ],
 *     },
 *   }],
 * });
 *
 * const array = await zarr.open(withZarrParts(stored), { kind: "array" });
 * const data = new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8]);
 * await setSharded(zarr, array, null, data);
 * assertEquals((await stored.get("/c/1"))?.subarray(0, 4), data.subarray(4));
 * assertEquals((await zarr.get(array, [zarr.slice(3, 6)])).data, data.subarray(3, 6));
 * ```
 */
export async function setSharded<A extends ZarritaArray>(
  zarr: Zarrita,
  array: A,
  selection: DimensionSelection[] | null,
  value:
    | NonNullable<A["fillValue"]>
    | Awaited<ReturnType<A["getChunk"]>>
    | Awaited<ReturnType<A["getChunk"]>>["data"],
  options: SetShardedOptions = {},
): Promise<void> {
  if (typeof zarr?.set !== "function") {
    throw new TypeError(
      `Expected the module of zarrita as the first argument, found ${
        describe(zarr)
      }`,
    );
  }
  checkOptions(options, OPTIONS, "setSharded");
  const opened = await shardedArray(array);
  const { shape } = array;
  assertSelection(selection, shape);
  const elements = writtenValue(
    value,
    selectedShape(selection, shape),
    array.dtype,
  );
  assertFirstBytes(opened.levels.layouts[0]!, options);
  assertPrefix(options.prefix, opened);
  assertOtherBytes(options.otherBytes);
  await opened.runInTurn(async () => {
    // The array may have grown since it was opened, so that fewer shards are covered.
    const present = await shardedArray(array, { reload: true });
    const writer = new ShardedWriter(zarr, array, present, options);
    await writer.write(selection, elements);
  }, options.signal);
}

/**
 * Options of `setSharded`: options of shards, and the options of zarrita's `set`.
 *
 * @example A header of 64 bytes in each shard
 * ```ts
 * import type { SetShardedOptions } from "@zarr-parts/zarr-parts/zarrita";
 *
 * const options: SetShardedOptions = { prefix: new Uint8Array(64), alignment: 512 };
 * ```
 */
export interface SetShardedOptions
  extends Omit<EncodeShardOptions, "container"> {
  /**
   * The bytes of a file format around the inner chunks, in place of a prefix: one
   * container for all shards, or a function that gives that of a shard by its grid
   * coordinates. The index must be at the end.
   */
  container?:
    | ShardContainer
    | ((shard: readonly number[]) => ShardContainer)
    | undefined;
  /**
   * What happens to bytes of a stored shard that belong to neither inner chunks, index
   * nor head parts, and that neither `prefix` nor `container` gives: `"refuse"`, the
   * default, keeps the shard as it is and throws an `OtherBytesError`; `"replace"`
   * gives them up.
   */
  otherBytes?: "refuse" | "replace" | undefined;
  /**
   * The threads that encode chunks: a pool, or their number from 0; with 0, the calling
   * thread encodes. Defaults to the pool of the store or, without one, to one for each
   * processor, which start with a call that writes 16 MiB or more, and end with it.
   */
  threads?: ThreadPool | number | undefined;
  /** Aborts the writing. Shards that are already stored stay. */
  signal?: AbortSignal;
  /**
   * Creates a queue for the inner chunks of one shard, as for zarrita's `set`. By default,
   * few inner chunks of all shards are encoded at the same time.
   */
  createQueue?: () => {
    add(task: () => Promise<void>): void;
    onIdle(): Promise<void[]>;
  };
}

/**
 * The part of zarrita that `setSharded` uses.
 *
 * @example
 * ```ts
 * import type { Zarrita } from "@zarr-parts/zarr-parts/zarrita";
 * import * as zarr from "zarrita";
 *
 * const peer: Zarrita = zarr;
 * ```
 */
export interface Zarrita {
  /** Writes into an array. */
  set(
    array: never,
    selection: never,
    value: never,
    options?: never,
  ): Promise<void>;
}

/**
 * The part of zarrita's `Array` that `setSharded` uses.
 *
 * @example
 * ```ts
 * import { MemoryStore } from "@zarr-parts/zarr-parts";
 * import { withZarrParts, type ZarritaArray } from "@zarr-parts/zarr-parts/zarrita";
 * import * as zarr from "zarrita";
 *
 * const store = withZarrParts(new MemoryStore());
 * const array: ZarritaArray = await zarr.create(store, {
 *   shape: [4],
 *   chunkShape: [2],
 *   dtype: "uint8",
 * });
 * ```
 */
export interface ZarritaArray {
  /** The store that the array was opened from. */
  readonly store: object;
  /** The path of the array in the store. */
  readonly path: string;
  /** The shape of the array in elements. */
  readonly shape: readonly number[];
  /** The shape of a chunk, or of an innermost chunk, in elements. */
  readonly chunks: readonly number[];
  /** The data type of the elements. */
  readonly dtype: string;
  /** The value of elements in absent chunks. */
  readonly fillValue: unknown;
  /** Resolves a key relative to the array. */
  resolve(key: string): { readonly path: string };
  /** Reads the elements of a chunk. */
  getChunk(
    coordinates: number[],
    options?: { signal?: AbortSignal },
  ): Promise<{ data: unknown }>;
}

/** Refuses a prefix that does not fill the head parts exactly: a shorter one would leave inner chunks in them. */
function assertPrefix(
  prefix: Uint8Array | undefined,
  { headSize, levels, root }: ShardedArray,
): void {
  const isAtStart = levels.layouts[0]!.indexLocation === "start";
  if (prefix === undefined || headSize === 0 || isAtStart) return;
  if (prefix.length === headSize) return;
  throw new RangeError(
    `Expected a prefix of ${headSize} bytes for the array at ${
      JSON.stringify(root || "/")
    }, as many as its head parts take, found ${prefix.length} bytes`,
  );
}

/**
 * The sharded array of an array of zarrita's.
 *
 * @param options `reload`: whether to read the document of the array again.
 */
async function shardedArray(
  array: ZarritaArray,
  { reload = false } = {},
): Promise<ShardedArray> {
  if (typeof array?.store !== "object" || array.store === null) {
    throw new TypeError(
      `Expected an array that was opened from withZarrParts(store) as the second argument, found ${
        describe(array)
      }`,
    );
  }
  const arrays = arraysOf(array.store);
  if (arrays === undefined) {
    throw new TypeError(
      `Expected an array that was opened from withZarrParts(store), found the array at ${
        JSON.stringify(array.path)
      } of ${describeStore(array.store)}`,
    );
  }
  // By `resolve`, since zarrita decodes percent escapes in the keys of chunks.
  const key = array.resolve("c").path as StoreKey;
  const { root } = splitPlainKey(key)!;
  const found = reload ? await arrays.reload(root) : await arrays.at(root);
  if (found instanceof ShardedArray) {
    assertChunks(array, found);
    return found;
  }
  throw new TypeError(
    `The array at ${
      JSON.stringify(array.path)
    } has no shards: zarrita's own "set" writes it`,
  );
}

/** Refuses an array that was created again with other inner chunks, since it was opened. */
function assertChunks(array: ZarritaArray, { levels }: ShardedArray): void {
  const { chunkShape } = levels;
  if (array.chunks.every((length, i) => length === chunkShape[i])) return;
  throw new TypeError(
    `Expected an array with inner chunks of ${
      describe(chunkShape)
    }, as it is stored at ${JSON.stringify(array.path)}, found one of ${
      describe(array.chunks)
    }: open the array again`,
  );
}

/** The names of the options, and the rules of those that nothing else checks. */
const OPTIONS: OptionRules<SetShardedOptions> = {
  prefix: ANY,
  alignment: ANY,
  container: ANY,
  otherBytes: ANY,
  threads: THREADS,
  signal: SIGNAL,
  createQueue: FUNCTION,
};

/** How many bytes of elements are cut into inner chunks and encoded at the same time, unless two inner chunks take more. */
const CHUNK_WINDOW = 16 * 1024 * 1024;
/** How many bytes of elements lie in the shards that are written at the same time, unless two shards take more. */
const SHARD_WINDOW = 64 * 1024 * 1024;
/** The greatest number of shards that are written at the same time. */
const MOST_SHARDS = 16;
/** The least bytes of elements for which a write uses threads. Tests lower the numbers. */
export const LEAST_WRITTEN = {
  /** To start threads takes as long as to encode some MiB. */
  toStart: 16 * 2 ** 20,
  /** Of threads that may be running. */
  toUse: 2 ** 20,
};
/** How many inner chunks are gathered for a thread, so that it never waits for the next one; of small ones, those of so many bytes. */
const CHUNKS_PER_THREAD = 6;
const SMALL_BYTES = 256 * 1024;

/**
 * Writes elements, one shard after another: few shards are in memory at the same time, and
 * the next ones are encoded while a store writes.
 */
class ShardedWriter {
  readonly #zarr: Zarrita;
  readonly #array: ZarritaArray;
  readonly #sharded: ShardedArray;
  readonly #options: SetShardedOptions;
  /** How many shards are written at the same time. */
  readonly #shardsAtOnce: number;
  /** Gathers and encodes inner chunks; `undefined` if zarrita's `set` does it. */
  #encoder: ChunkEncoder | undefined;
  /** Limits the inner chunks that are encoded at the same time; `undefined` if those of all shards may be. */
  #limit: LimitFunction | undefined;

  constructor(
    zarr: Zarrita,
    array: ZarritaArray,
    sharded: ShardedArray,
    options: SetShardedOptions,
  ) {
    this.#zarr = zarr;
    this.#array = array;
    this.#sharded = sharded;
    this.#options = options;
    const shardBytes = this.#bytesOf(sharded.shardShape);
    const shards = Math.max(2, Math.floor(SHARD_WINDOW / shardBytes));
    this.#shardsAtOnce = Math.min(MOST_SHARDS, shards);
  }

  /** @param value The elements, as `writtenValue` gives them. */
  async write(
    selection: DimensionSelection[] | null,
    value: unknown,
  ): Promise<void> {
    const { shape } = this.#array;
    const { shardShape, root } = this.#sharded;
    const { threads = poolOf(this.#array.store as object) } = this.#options;
    const runs = coveredRuns(selection, shape);
    this.#encoder = await ChunkEncoder.create(this.#array, root, value);
    const bytes = this.#bytesOf(selectedShape(selection, shape));
    const { toStart, toUse } = LEAST_WRITTEN;
    const isLarge = bytes >= (typeof threads === "object" ? toUse : toStart);
    const isThreaded = isLarge && this.#encoder?.format !== undefined;
    await withThreads(isThreaded ? threads : 0, async (threads) => {
      if (this.#encoder) this.#encoder.threads = threads;
      this.#limit = this.#createLimit(threads?.count);
      await runConcurrently(
        piecesOf(selection, value, shape, shardShape),
        this.#shardsAtOnce,
        (piece, failing) => this.#writeShard(piece, runs, failing),
      );
    });
  }

  /** @param threads The number of threads; `undefined` if the calling thread encodes. */
  #createLimit(threads: number | undefined): LimitFunction | undefined {
    const chunkBytes = this.#bytesOf(this.#sharded.levels.chunkShape);
    const window = threads === undefined ? CHUNK_WINDOW : Math.min(
      CHUNK_WINDOW,
      CHUNKS_PER_THREAD * threads * Math.max(chunkBytes, SMALL_BYTES),
    );
    // To limit many small chunks would take a tenth of the time of the write.
    const shardBytes = this.#bytesOf(this.#sharded.shardShape);
    if (this.#shardsAtOnce * shardBytes <= window) return undefined;
    return pLimit(Math.max(2, Math.floor(window / chunkBytes)));
  }

  /**
   * Writes the elements of one shard. A shard that is covered is encoded before its lock is
   * taken. Any other shard is read, changed and stored under its lock.
   *
   * @param runs The elements along each dimension that the whole write covers.
   * @param failing Aborted when the write of another shard has failed.
   */
  async #writeShard(
    piece: ShardPiece,
    runs: readonly Run[],
    failing: AbortSignal,
  ): Promise<void> {
    const { shard } = piece;
    const { inner } = this.#sharded;
    const isWhole = this.#sharded.isCovered(shard, runs);
    let endEncoding = () => {};
    const encoded = new Promise<void>((resolve) => endEncoding = resolve);
    let latest: Iterable<Uint8Array> = [];
    const encode = async (chunkAt: ChunkAt) => {
      const changes = await this.#encode(piece, chunkAt, failing);
      latest = changes.values();
      endEncoding();
      return changes;
    };
    const { prefix, alignment, otherBytes, signal, container } = this.#options;
    const change = {
      prefix,
      alignment,
      container: typeof container === "function" ? container(shard) : container,
      otherBytes,
      signal,
      isWhole,
    };
    const { key } = this.#sharded.shardAt(shard);
    const written = isWhole
      ? encode(() => undefined)
        .then((changes) => inner.write(key, changes, change))
      : inner.write(key, encode, change);
    // Shards that are still encoded when another one fails are not waited for.
    await rejectOnAbort(Promise.race([encoded, written]), failing);
    await written;
    if (this.#encoder?.threads && container === undefined) freeMemory(latest);
  }

  /** Encodes the inner chunks of a shard that a write changes. Chunks that are changed in part are read by `chunkAt`. */
  async #encode(
    piece: ShardPiece,
    chunkAt: ChunkAt,
    failing: AbortSignal,
  ): Promise<Map<number, Uint8Array>> {
    const { signal, createQueue = () => this.#queue(failing) } = this.#options;
    const changes = new Map<number, Uint8Array>();
    const encoder = this.#encoder;
    if (encoder === undefined) {
      await this.#zarr.set(
        overShard(this.#array, this.#sharded, chunkAt, changes) as never,
        piece.selection as never,
        piece.value as never,
        { ...this.#options, createQueue } as never,
      );
    } else {
      const [layout] = this.#sharded.levels.layouts;
      const { key } = this.#sharded.shardAt(piece.shard);
      const queue = createQueue();
      for (const chunk of encoder.chunksOf(piece)) {
        const path = chunk.coordinates.map((coordinate, i) =>
          coordinate % layout!.chunksPerShard[i]!
        );
        const place = placeInShard(path, layout!);
        queue.add(async () => {
          signal?.throwIfAborted();
          const bytes = chunkAt(place);
          const stored = bytes && { bytes, key };
          changes.set(place, await encoder.encode(chunk, stored, failing));
        });
      }
      await queue.onIdle();
    }
    signal?.throwIfAborted();
    failing.throwIfAborted();
    return changes;
  }

  /** Creates a queue for the inner chunks of a shard. */
  #queue(failing: AbortSignal): QueueOfChunks {
    const tasks: Promise<void>[] = [];
    return {
      add: (task) => {
        const unlessFailing = async () => {
          failing.throwIfAborted();
          await task();
        };
        tasks.push(this.#limit?.(unlessFailing) ?? unlessFailing());
      },
      onIdle: () => Promise.all(tasks),
    };
  }

  /** The number of bytes of the elements in a shape. Elements without a fixed size count as 8 bytes. */
  #bytesOf(shape: readonly number[]): number {
    const bits = coreDataType(this.#array.dtype)?.bits ?? 64;
    return shape.reduce((product, length) => product * length, bits / 8);
  }
}

/** Frees the memory of chunks that threads have encoded, which would wait for the collection of garbage. Node 20 cannot. */
function freeMemory(chunks: Iterable<Uint8Array>): void {
  for (const { buffer } of chunks) {
    (buffer as { transfer?(length: number): unknown }).transfer?.(0);
  }
}

/** Gives an encoded inner chunk of a shard by its place in the index. */
type ChunkAt = Parameters<ChangesOf>[0];

type QueueOfChunks = ReturnType<NonNullable<SetShardedOptions["createQueue"]>>;

/**
 * An array that zarrita's `set` changes in memory: it reads the inner chunks of a shard, and
 * collects those that are written.
 */
function overShard<A extends ZarritaArray>(
  array: A,
  sharded: ShardedArray,
  chunkAt: ChunkAt,
  changes: Map<number, Uint8Array>,
): A {
  const placeOf = (plainKey: string) => {
    const found = sharded.locate(plainKey);
    if (found === undefined) throw outsideGrid(plainKey, sharded);
    return placeInShard(found.path[0]!, sharded.levels.layouts[0]!);
  };
  const decode = decoderOf(array);
  return overlay(array, {
    store: {
      set(key: StoreKey, bytes: Uint8Array): Promise<void> {
        changes.set(placeOf(splitPlainKey(key)!.plainKey), bytes);
        return Promise.resolve();
      },
    },
    getChunk(coordinates: number[]) {
      const plainKey = ["c", ...coordinates].join("/");
      const bytes = chunkAt(placeOf(plainKey));
      if (bytes === undefined) return decode(coordinates, undefined);
      // zarrita encodes all of the memory that elements lie in.
      const own = copyBytes(bytes);
      noteKey(own, sharded.locate(plainKey)!.key);
      return decode(coordinates, own);
    },
  });
}

function decoderOf(array: object): Decode {
  const decode = (array as { [DECODE]?: Decode })[DECODE];
  if (decode !== undefined) return decode;
  throw new TypeError(
    "Expected an array that zarr.open gave, found one that zarr.create did, or one of another version of zarrita: open it to write it",
  );
}
