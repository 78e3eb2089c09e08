import type { ParsedArray } from "../arrays/mod.ts";
import { noteKey } from "../codecs/mod.ts";
import {
  ANY,
  checkOptions,
  describe,
  type OptionRules,
  SIGNAL,
} from "../errors/mod.ts";
import { coreDataType } from "../metadata/mod.ts";
import {
  copyBytes,
  MemoryLimit,
  rejectOnAbort,
  runConcurrently,
} from "../runtime/mod.ts";
import {
  assertFirstBytes,
  assertOtherBytes,
  type ChangesOf,
  type EncodeShardOptions,
  placeInShard,
  type ShardContainer,
} from "../shards/mod.ts";
import {
  type Backend,
  setValue,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";
import {
  CALLING_THREAD,
  type ChunkBlock,
  type ChunkElements,
  copyIntoChunk,
  isCheapToDecode,
  repeatElement,
  type ThreadPool,
  THREADS,
  type Threads,
  withThreads,
} from "../threads/mod.ts";
import { PlainArray, splitPlainKey } from "../views/mod.ts";
import {
  type Along,
  assertSelection,
  blockOf,
  coveredRuns,
  type DimensionSelection,
  dividedAlong,
  hasMemory,
  isChunk,
  piecesOf,
  productOf,
  type Run,
  selectedShape,
  type ShardPiece,
  writtenValue,
} from "./selection.ts";
import { innermostLevel, ShardedArray } from "./sharded_array.ts";
import { checkedArray, type ReadArray } from "./with_zarr_parts.ts";
import {
  type ArrayElements,
  bytesOf,
  elementsOf,
  parsedArray,
  rootOf,
  type ShownStore,
  shownStoreOf,
  type ZarritaArray,
} from "./zarrita_array.ts";

/**
 * Writes elements of an array, as zarrita's `set` does, and stores each shard once; without
 * shards, each chunk. Threads encode the chunks of large writes.
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
 * A shard or a chunk that is written in part is read, changed and stored under its lock, so
 * that no element that others write at the same time is lost: in all programs if the store
 * has locks, as `FileSystemStore` does, or notices what others have changed, as `S3Store`
 * does.
 *
 * Few shards are in memory at the same time: as many as have 64 MiB of elements
 * together, but at least 2 and at most 16. Beside the value, memory holds their encoded
 * bytes twice, and decoded inner chunks of 16 MiB in all, or two if these are larger.
 *
 * @param zarr zarrita itself: `import * as zarr from "zarrita"`.
 * @param array An array, opened from a store of `withZarrParts`.
 * @param selection The elements to write: a slice, an index or `null` (all elements)
 * for each dimension, or `null` for the whole array.
 * @param value The elements: a typed array of them in C order, a chunk (`data`,
 * `shape`, `stride`) of the selection's shape, or one element for all.
 * @param options `prefix` or `container`, and `alignment` of the shards; `otherBytes`;
 * `threads` and `signal`.
 * @throws {TypeError} If an option is unknown or has a wrong type, if the pool of
 * threads was disposed, if the array is of another store, has nested shards or was created
 * again with other chunks since it was opened, if the elements have another data type, if
 * an argument is missing, if there are both a prefix and a container, or options of shards
 * for an array without shards.
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
  const shown = shownStoreOf(array);
  const { signal } = options;
  const write = async () => {
    // The array may have grown since it was opened, so that fewer shards are covered.
    const target = await targetOf(array, shown);
    const { shape, dtype } = array;
    assertSelection(selection, shape);
    const selected = selectedShape(selection, shape);
    const elements = writtenValue(value, selected, dtype);
    assertShardOptions(target, array, options);
    const writer = new ElementsWriter(zarr, array, target, options);
    await writer.write(selection, elements);
  };
  signal?.throwIfAborted();
  await rejectOnAbort(write(), signal);
}

/**
 * Options of `setSharded`. Those of shards are refused for an array without shards.
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
  /** Opens an array. */
  readonly open: {
    v3(location: never, options: { kind: "array" }): Promise<unknown>;
  };
  /** The root of a store. */
  root(store: never): { resolve(path: string): unknown };
  /** The class of booleans. */
  readonly BoolArray?: unknown;
}

/** The names of the options, and the rules of those that nothing else checks. */
const OPTIONS: OptionRules<SetShardedOptions> = {
  prefix: ANY,
  alignment: ANY,
  container: ANY,
  otherBytes: ANY,
  threads: THREADS,
  signal: SIGNAL,
};

/** The array as it is stored now. */
async function targetOf(
  array: ZarritaArray,
  { arrays, store }: ShownStore,
): Promise<ShardedArray | PlainArray> {
  const root = rootOf(array);
  await arrays.reload(root);
  const parsed = await parsedArray(array, arrays);
  if (parsed === undefined) {
    throw new TypeError(
      `Expected an array of Zarr v3 at ${describe(array.path)}`,
    );
  }
  const { shape } = innermostLevel(parsed.chunk);
  if (array.chunks.some((length, i) => length !== shape[i])) {
    throw new TypeError(
      `Expected an array with chunks of ${
        describe(shape)
      }, as it is stored at ${describe(array.path)}, found one of ${
        describe(array.chunks)
      }: open the array again`,
    );
  }
  const found = await arrays.at(root) as ShardedArray | PlainArray | undefined;
  return found ?? new PlainArray(store, root, parsed);
}

/** Refuses options that do not fit the array. */
function assertShardOptions(
  target: ShardedArray | PlainArray,
  { path }: ZarritaArray,
  { threads: _, signal: _signal, ...options }: SetShardedOptions,
): void {
  if (!(target instanceof ShardedArray)) {
    const [name] = Object.entries(options)
      .find(([, value]) => value !== undefined) ?? [];
    if (name === undefined) return;
    throw new TypeError(
      `Cannot use the option ${describe(name)} for the array at ${
        describe(path)
      }, which has no shards`,
    );
  }
  const [layout] = target.levels.layouts;
  assertFirstBytes(layout!, options);
  assertOtherBytes(options.otherBytes);
  const { prefix } = options;
  const { headSize } = target;
  const isAtStart = layout!.indexLocation === "start";
  if (prefix === undefined || headSize === 0 || isAtStart) return;
  if (prefix.length === headSize) return; // A shorter one would leave inner chunks in the head parts.
  throw new RangeError(
    `Expected a prefix of ${headSize} bytes for the array at ${
      describe(path)
    }, as many as its head parts take, found ${prefix.length} bytes`,
  );
}

/** How many bytes of elements are cut into chunks and encoded at the same time, unless two chunks take more. */
const CHUNK_WINDOW = 16 * 2 ** 20;
/** How many bytes of elements lie in the shards that are written at the same time, unless two shards take more. */
const SHARD_WINDOW = 64 * 2 ** 20;
/** The greatest number of shards that are written at the same time. */
const MOST_SHARDS = 16;
/** The least bytes of elements for which a write uses threads. Tests lower the numbers. */
export const LEAST_WRITTEN = {
  /** To start threads takes as long as to encode some MiB. */
  toStart: 16 * 2 ** 20,
  /** Of threads that may be running. */
  toUse: 2 ** 20,
};
/** How many chunks are gathered for a thread, so that it never waits for the next one; of small ones, those of so many bytes. */
const CHUNKS_PER_THREAD = 6;
const SMALL_BYTES = 256 * 1024;

/** Gives an encoded chunk of a shard by its place in the index. */
type ChunkAt = Parameters<ChangesOf>[0];

/** The elements of a chunk that a write changes. */
interface ChunkPiece {
  /** The place of the elements in the chunk and in the value. */
  readonly block: ChunkBlock;
  /** Whether all elements of the chunk are written, also those outside of the array. */
  readonly isWhole: boolean;
  /** The place of the chunk in its shard. */
  readonly place: number;
}

/** Writes elements, few shards at the same time, so that the next ones are encoded while a store writes. */
class ElementsWriter {
  readonly #zarr: Zarrita;
  readonly #array: ZarritaArray;
  readonly #target: ShardedArray | PlainArray;
  readonly #options: SetShardedOptions;
  /** The length of an element in bytes. Elements without a fixed length count as 8 bytes. */
  readonly #elementSize: number;
  /** How jobs encode chunks; `undefined` if zarrita does. */
  #elements: ArrayElements | undefined;
  #strides: readonly number[] = [];
  #threads: Threads = CALLING_THREAD;
  #limit!: MemoryLimit;

  constructor(
    zarr: Zarrita,
    array: ZarritaArray,
    target: ShardedArray | PlainArray,
    options: SetShardedOptions,
  ) {
    this.#zarr = zarr;
    this.#array = array;
    this.#target = target;
    this.#options = options;
    this.#elementSize = (coreDataType(array.dtype)?.bits ?? 64) / 8;
  }

  /** @param value The elements, as `writtenValue` gives them. */
  async write(
    selection: readonly DimensionSelection[] | null,
    value: unknown,
  ): Promise<void> {
    const { shape, chunks } = this.#array;
    const { arrays, pool } = shownStoreOf(this.#array);
    const elements = await elementsOf(
      this.#array,
      arrays,
      this.#zarr.BoolArray,
    );
    if (
      elements?.format !== undefined && shape.length > 0 &&
      hasMemory(value, elements.size)
    ) {
      this.#elements = elements;
      this.#strides = elements.stridesOf(chunks, chunks.map((_, i) => i));
    }
    const { threads = pool, signal } = this.#options;
    const runs = coveredRuns(selection, shape);
    const { toStart, toUse } = LEAST_WRITTEN;
    const isThreaded = this.#elements !== undefined &&
      !isCheapToDecode(elements!.format!.codecs) &&
      this.#bytesOf(selectedShape(selection, shape)) >=
        (typeof threads === "object" ? toUse : toStart);
    const { shape: shardShape } = this.#target.array.chunk;
    const shards = Math.floor(SHARD_WINDOW / this.#bytesOf(shardShape));
    await withThreads(isThreaded ? threads : 0, async (used) => {
      if (used !== undefined) this.#threads = used;
      const { count } = this.#threads;
      const each = Math.max(this.#bytesOf(chunks), SMALL_BYTES);
      const window = count === 0
        ? CHUNK_WINDOW
        : Math.min(CHUNK_WINDOW, CHUNKS_PER_THREAD * count * each);
      this.#limit = new MemoryLimit(window, 2);
      await runConcurrently(
        piecesOf(selection, value, shape, shardShape),
        Math.min(MOST_SHARDS, Math.max(2, shards)),
        (piece, failing) => this.#writeShard(piece, runs, failing),
        signal,
      );
    });
  }

  /**
   * Writes the elements of one shard, or of one chunk without shards. What is covered is
   * encoded before its lock is taken; anything else is read, changed and stored under it.
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
    const target = this.#target;
    const isWhole = isCovered(shard, target.array, runs);
    const encode: ChangesOf = (chunkAt) =>
      this.#encode(piece, chunkAt, failing);
    const whole = isWhole ? await encode(() => undefined) : undefined;
    const { signal } = this.#options;
    if (target instanceof ShardedArray) {
      const { prefix, alignment, otherBytes, container } = this.#options;
      return await target.inner.writer.write(
        target.keyOf(shard),
        whole ?? encode,
        {
          prefix,
          alignment,
          container: typeof container === "function"
            ? container(shard)
            : container,
          otherBytes,
          signal,
          isWhole,
        },
      );
    }
    const { backend } = target;
    const key = target.keyOf(shard);
    const options = signal ? { signal } : {};
    if (backend.prepare === undefined) {
      throw new TypeError(
        `Cannot write into ${describe(key)}: the store is read-only`,
      );
    }
    if (whole !== undefined) {
      const bytes = whole.get(0)!;
      return await setValue(backend as Required<Backend>, key, bytes, options);
    }
    await backend.update!([key], async (values) => {
      const stored = await values.read(key);
      return [(await encode(() => stored)).get(0)!];
    }, options);
  }

  /** Encodes the chunks of a shard that a write changes. Chunks that are changed in part are read by `chunkAt`. */
  async #encode(
    piece: ShardPiece,
    chunkAt: ChunkAt,
    failing: AbortSignal,
  ): Promise<Map<number, Uint8Array>> {
    const changes = new Map<number, Uint8Array>();
    if (this.#elements !== undefined) {
      const { chunkBytes } = this.#elements;
      let hasFailed = false;
      const tasks = this.#chunksOf(piece).map(async (chunk) => {
        const leave = await this.#limit.enter(chunkBytes);
        try {
          failing.throwIfAborted();
          if (hasFailed) return;
          const stored = chunk.isWhole ? undefined : chunkAt(chunk.place);
          const bytes = await this.#encodeByJob(chunk, stored, failing);
          if (bytes === undefined) hasFailed = true;
          else changes.set(chunk.place, bytes);
        } finally {
          leave();
        }
      });
      await Promise.all(tasks);
      failing.throwIfAborted();
      if (!hasFailed) return changes;
    }
    // zarrita encodes all chunks, or throws its error.
    await this.#encodeByZarrita(piece, chunkAt, changes, failing);
    failing.throwIfAborted();
    return changes;
  }

  /** Divides a part of the write by the chunks that it changes, in C order. */
  #chunksOf({ selection, value }: ShardPiece): ChunkPiece[] {
    const { shape, chunks } = this.#array;
    const { bytes, strides } = this.#memoryOf(value, selection);
    const runs = shape.map((length, i) => [
      ...dividedAlong(selection[i]!, length, chunks[i]!),
    ]);
    return Array.from(productOf(runs), (along) => ({
      block: blockOf(along, chunks, bytes, strides),
      isWhole: isWhole(along, chunks),
      place: this.#placeOf(along.map(({ shard: chunk }) => chunk)),
    }));
  }

  /** The place of a chunk in the index of its shard. */
  #placeOf(coordinates: readonly number[]): number {
    if (!(this.#target instanceof ShardedArray)) return 0;
    const layout = this.#target.levels.layouts[0]!;
    const path = coordinates.map((c, i) => c % layout.chunksPerShard[i]!);
    return placeInShard(path, layout);
  }

  /** Encodes a chunk with the elements of a piece; returns `undefined` if the codecs of this package fail. */
  async #encodeByJob(
    { block, isWhole }: ChunkPiece,
    stored: Uint8Array | undefined,
    signal: AbortSignal,
  ): Promise<Uint8Array | undefined> {
    const { format, chunkBytes, size, fill } = this.#elements!;
    let elements: Uint8Array | ChunkBlock = block;
    let strides = this.#strides;
    if (stored !== undefined) {
      const decode = { kind: "decode", bytes: copyBytes(stored) } as const;
      const [decoded] = await this.#threads
        .run(format!, [decode], chunkBytes, signal);
      if ("failed" in (decoded as object)) return undefined;
      ({ bytes: elements, strides } = decoded as ChunkElements);
      copyIntoChunk(block, { bytes: elements, strides }, size);
    } else if (
      this.#threads.count > 0 && block.bytes.buffer instanceof ArrayBuffer
    ) {
      elements = new Uint8Array(chunkBytes);
      const to = { bytes: elements, offset: 0, strides };
      if (!isWhole) repeatElement(to, fill, this.#array.chunks, size);
      copyIntoChunk(block, to, size);
    }
    const isFilled = elements === block && !isWhole;
    const [encoded] = await this.#threads.run(
      format!,
      [{
        kind: "encode",
        elements,
        strides,
        fill: isFilled ? fill : undefined,
      }],
      chunkBytes,
      signal,
    );
    return encoded instanceof Uint8Array ? encoded : undefined;
  }

  /** Has zarrita write the elements of a shard into an array that collects its chunks. */
  async #encodeByZarrita(
    { selection, value }: ShardPiece,
    chunkAt: ChunkAt,
    changes: Map<number, Uint8Array>,
    signal: AbortSignal,
  ): Promise<void> {
    const array = this.#array;
    const { arrays } = shownStoreOf(array);
    const placeOf = (key: StoreKey) => {
      const [, ...coordinates] = splitPlainKey(key)!.plainKey.split("/");
      return this.#placeOf(coordinates.map(Number));
    };
    const store = {
      async get(key: StoreKey, options?: StoreOptions) {
        if (splitPlainKey(key) === undefined) {
          const { store } = array as unknown as ReadArray;
          return await store.get(key, options);
        }
        const bytes = chunkAt(placeOf(key));
        if (bytes === undefined) return undefined;
        // zarrita encodes all of the memory that elements lie in.
        const own = copyBytes(bytes);
        const { root, plainKey } = splitPlainKey(key)!;
        const found = await arrays.at(root);
        noteKey(own, found?.placeOf(plainKey)?.key ?? key);
        return own;
      },
      set(key: StoreKey, bytes: Uint8Array) {
        changes.set(placeOf(key), bytes);
        return Promise.resolve();
      },
    };
    const { open, root, set } = this.#zarr;
    const location = root(store as never).resolve(array.path);
    const opened = await open.v3(location as never, { kind: "array" });
    const checked = checkedArray(opened as ReadArray, arrays);
    await set(
      checked as never,
      selection as never,
      value as never,
      { signal } as never,
    );
  }

  /** The memory of a value, and its strides along the dimensions of the array. */
  #memoryOf(
    value: unknown,
    selection: readonly unknown[],
  ): { bytes: Uint8Array; strides: readonly number[] } {
    if (!isChunk(value)) {
      const element = new this.#elements!.Elements(1);
      element.fill(value);
      return { bytes: bytesOf(element), strides: selection.map(() => 0) };
    }
    const steps = [...value.stride];
    const strides = selection.map((along) =>
      typeof along === "number" ? 0 : steps.shift()!
    );
    return { bytes: bytesOf(value.data), strides };
  }

  /** The number of bytes of the elements in a shape. */
  #bytesOf(shape: readonly number[]): number {
    return shape.reduce((product, n) => product * n, this.#elementSize);
  }
}

/** Whether a selection has all elements of a chunk, also those outside of the array. */
function isWhole(
  along: readonly Along[],
  chunkShape: readonly number[],
): boolean {
  return along.every(({ selection, run }, i) =>
    run?.count === chunkShape[i] &&
    (selection as { step: number }).step === 1
  );
}

/** Whether runs of elements along each dimension cover all elements of a shard in the array. */
function isCovered(
  shard: readonly number[],
  { shape, chunk: { shape: shardShape } }: ParsedArray,
  runs: readonly Run[],
): boolean {
  return runs.every(({ start, stop }, i) => {
    const first = shard[i]! * shardShape[i]!;
    const end = Math.min(first + shardShape[i]!, shape[i]!);
    return start <= first && stop >= end;
  });
}
