import {
  EncodedChunks,
  forEachStored,
  placeOf,
  type Section,
  wholeChunks,
  writeBlock,
  type WrittenChunk,
} from "../blocks/mod.ts";
import { noteKey } from "../codecs/mod.ts";
import {
  ANY,
  checkOptions,
  type OptionRules,
  sentence,
  SIGNAL,
} from "../errors/mod.ts";
import { coreDataType } from "../metadata/mod.ts";
import { copyBytes, rejectOnAbort } from "../runtime/mod.ts";
import {
  assertFirstBytes,
  assertOtherBytes,
  type ChangesOf,
  type EncodeShardOptions,
  type ShardContainer,
} from "../shards/mod.ts";
import {
  backendOf,
  setValue,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";
import {
  CodecError,
  type ElementsAt,
  type ThreadPool,
  THREADS,
  withThreads,
} from "../threads/mod.ts";
import { splitPlainKey } from "../views/mod.ts";
import {
  assertSelection,
  type DimensionSelection,
  hasMemory,
  isChunk,
  partOf,
  runsOf,
  selectedAxes,
  selectedShape,
  writtenValue,
} from "./selection.ts";
import { ShardedArray } from "./sharded_array.ts";
import { checkedArray, type ReadArray } from "./with_zarr_parts.ts";
import {
  type ArrayElements,
  bytesOf,
  codecsOf,
  elementsOf,
  parsedArray,
  rootOf,
  type ShownStore,
  shownStoreOf,
  type ZarritaArray,
} from "./zarrita_array.ts";

/** Gives an encoded chunk of a shard by its place in the index. */
type ChunkAt = Parameters<ChangesOf>[0];

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
      sentence`Expected the module of zarrita as the first argument, found ${zarr}`,
    );
  }
  checkOptions(options, OPTIONS, "setSharded");
  const shown = shownStoreOf(array);
  const { signal } = options;
  const write = async () => {
    // The array may have grown since it was opened, so that fewer shards are covered.
    const chunks = await chunksOf(array, shown);
    const { shape, dtype } = array;
    assertSelection(selection, shape);
    const selected = selectedShape(selection, shape);
    const elements = writtenValue(value, selected, dtype);
    assertShardOptions(chunks, array, options);
    await writeElements(zarr, array, chunks, selection, elements, options);
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

/** The chunks of an array as it is stored now. */
async function chunksOf(
  array: ZarritaArray,
  { arrays, store }: ShownStore,
): Promise<EncodedChunks> {
  const root = rootOf(array);
  await arrays.reload(root);
  const parsed = await parsedArray(array, arrays);
  if (parsed === undefined) {
    throw new TypeError(
      sentence`Expected an array of Zarr v3 at ${array.path}`,
    );
  }
  const { shape } = parsed.innermost;
  if (array.chunks.some((length, i) => length !== shape[i])) {
    throw new TypeError(
      sentence`Expected an array with chunks of ${shape}, as it is stored at ${array.path}, found one of ${array.chunks}: open the array again`,
    );
  }
  const found = await arrays.at(root);
  if (found instanceof ShardedArray) return found.chunks;
  const division = wholeChunks(parsed);
  return new EncodedChunks(backendOf(store), root, parsed, division);
}

/** Refuses options that do not fit the array. */
function assertShardOptions(
  { shards }: EncodedChunks,
  { path }: ZarritaArray,
  { threads: _, signal: _signal, ...options }: SetShardedOptions,
): void {
  if (shards === undefined) {
    const [name] = Object.entries(options)
      .find(([, value]) => value !== undefined) ?? [];
    if (name === undefined) return;
    throw new TypeError(
      sentence`Cannot use the option ${name} for the array at ${path}, which has no shards`,
    );
  }
  const { layouts: [layout], headSize = 0 } = shards.form;
  assertFirstBytes(layout!, options);
  assertOtherBytes(options.otherBytes);
  const { prefix } = options;
  const isAtStart = layout!.indexLocation === "start";
  if (prefix === undefined || headSize === 0 || isAtStart) return;
  if (prefix.length === headSize) return; // A shorter one would leave inner chunks in the head parts.
  throw new RangeError(
    sentence`Expected a prefix of ${headSize} bytes for the array at ${path}, as many as its head parts take, found ${prefix.length} bytes`,
  );
}

/** The least bytes of elements for which a write uses threads. Tests lower the numbers. */
export const LEAST_WRITTEN = {
  /** To start threads takes as long as to encode some MiB. */
  toStart: 16 * 2 ** 20,
  /** Of threads that may be running. */
  toUse: 2 ** 20,
};

/**
 * Writes elements.
 *
 * @param value The elements, as `writtenValue` gives them.
 */
async function writeElements(
  zarr: Zarrita,
  array: ZarritaArray,
  chunks: EncodedChunks,
  selection: readonly DimensionSelection[] | null,
  value: unknown,
  options: SetShardedOptions,
): Promise<void> {
  const { arrays, pool } = shownStoreOf(array);
  const { threads = pool, signal } = options;
  const runs = runsOf(selection, array.shape);
  const encodeByZarrita = (
    { sections }: { readonly sections: readonly Section[] },
    signal: AbortSignal,
  ): ChangesOf =>
  (chunkAt) => {
    const part = partOf(selection, value, sections);
    return encodedByZarrita(zarr, array, chunks, part, chunkAt, signal);
  };
  const elements = await elementsOf(array, arrays, zarr.BoolArray);
  const isSimple = elements !== undefined && array.shape.length > 0 &&
    hasMemory(value, elements.size);
  const codecs = isSimple ? await codecsOf(elements) : undefined;
  if (!elements || !codecs) {
    const size = (coreDataType(array.dtype)?.bits ?? 64) / 8;
    return await forEachStored(chunks, runs, size, async (stored, failing) => {
      const encode = encodeByZarrita(stored, failing);
      await put(chunks, { ...stored, encode }, options, failing);
    }, signal);
  }
  const { fill, size } = elements;
  const { toStart, toUse } = LEAST_WRITTEN;
  const bytes = selectedShape(selection, array.shape)
    .reduce((product, n) => product * n, size);
  const isThreaded = !codecs.isCheap &&
    bytes >= (typeof threads === "object" ? toUse : toStart);
  const from = memoryOf(value, selection, array, elements);
  await withThreads(isThreaded ? threads : 0, async (threads) => {
    const write = async (stored: WrittenChunk, failing: AbortSignal) => {
      const encode: ChangesOf = async (chunkAt) => {
        try {
          return await stored.encode(chunkAt);
        } catch (error) {
          if (!(error instanceof CodecError)) throw error;
          // zarrita encodes all chunks, or throws its error.
          return await encodeByZarrita(stored, failing)(chunkAt);
        }
      };
      await put(chunks, { ...stored, encode }, options, failing);
    };
    const blockArray = { chunks, codecs, fill };
    await writeBlock(blockArray, runs, from, write, { threads, signal });
  });
}

/**
 * Stores a shard, or a chunk without shards. What is covered is encoded before its lock is
 * taken; anything else is read, changed and stored under it.
 *
 * @param failing Aborted when the write of another shard has failed.
 */
async function put(
  chunks: EncodedChunks,
  { coordinates, isWhole, encode }: WrittenChunk,
  options: SetShardedOptions,
  failing: AbortSignal,
): Promise<void> {
  const { backend, shards } = chunks;
  const key = chunks.keyOf(coordinates);
  const changes: ChangesOf = async (chunkAt) => {
    const encoded = await encode(chunkAt);
    failing.throwIfAborted();
    return encoded;
  };
  const whole = isWhole ? await changes(() => undefined) : undefined;
  const { container, threads: _, ...others } = options;
  if (shards !== undefined) {
    return await shards.writer.write(key, whole ?? changes, {
      ...others,
      container: typeof container === "function"
        ? container(coordinates)
        : container,
      isWhole,
    });
  }
  const { signal } = options;
  const storeOptions = signal ? { signal } : {};
  if (backend.prepare === undefined) {
    throw new TypeError(
      sentence`Cannot write into ${key}: the store is read-only`,
    );
  }
  if (whole !== undefined) {
    const bytes = whole.get(0)!;
    return await setValue(backend, key, bytes, storeOptions);
  }
  await backend.update!([key], async (values) => {
    const stored = await values.read(key);
    return [(await changes(() => stored)).get(0)!];
  }, storeOptions);
}

/** Has zarrita write elements of a stored chunk into an array that collects its chunks. */
async function encodedByZarrita(
  { open, root, set }: Zarrita,
  array: ZarritaArray,
  chunks: EncodedChunks,
  part: ReturnType<typeof partOf>,
  chunkAt: ChunkAt,
  signal: AbortSignal,
): Promise<Map<number, Uint8Array>> {
  const changes = new Map<number, Uint8Array>();
  const store = {
    async get(key: StoreKey, options?: StoreOptions) {
      const chunk = splitPlainKey(key);
      if (chunk === undefined) {
        const { store } = array as unknown as ReadArray;
        return await store.get(key, options);
      }
      const { coordinates } = chunk;
      const bytes = chunkAt(placeOf(coordinates, chunks));
      if (bytes === undefined) return undefined;
      // zarrita encodes all of the memory that elements lie in.
      const own = copyBytes(bytes);
      const { key: shard, what } = chunks.nameOf(coordinates);
      noteKey(own, shard, undefined, () => what);
      return own;
    },
    set(key: StoreKey, bytes: Uint8Array) {
      const { coordinates } = splitPlainKey(key)!;
      changes.set(placeOf(coordinates, chunks), bytes);
      return Promise.resolve();
    },
  };
  const location = root(store as never).resolve(array.path);
  const opened = await open.v3(location as never, { kind: "array" });
  const { arrays } = shownStoreOf(array);
  const checked = checkedArray(opened as ReadArray, arrays);
  await set(
    checked as never,
    part.selection as never,
    part.value as never,
    { signal } as never,
  );
  return changes;
}

/** The memory of a value, and its strides along the dimensions of the array. */
function memoryOf(
  value: unknown,
  selection: readonly DimensionSelection[] | null,
  { shape }: ZarritaArray,
  { Elements }: ArrayElements,
): ElementsAt {
  if (!isChunk(value)) {
    const element = new Elements(1);
    element.fill(value);
    const strides = shape.map(() => 0);
    return { bytes: bytesOf(element), offset: 0, strides };
  }
  const axes = selectedAxes(selection, shape);
  const strides = shape.map((_, i) => value.stride[axes.indexOf(i)] ?? 0);
  return { bytes: bytesOf(value.data), offset: 0, strides };
}
