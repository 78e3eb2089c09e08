import { keyOf, noteKey } from "../codecs/mod.ts";
import {
  checkOptions,
  DamageError,
  describe,
  type OptionRules,
} from "../errors/mod.ts";
import { copyBytes, ownBytes } from "../runtime/mod.ts";
import {
  assertStore,
  describeStore,
  inspectAsString,
  type Place,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";
import {
  type PoolAccess,
  poolAccess,
  type ThreadPool,
} from "../threads/mod.ts";
import {
  splitPlainKey,
  StoreView,
  type TranslatedArrays,
} from "../views/mod.ts";
import {
  type Chunk,
  type Context,
  contextSymbol,
  ownMethods,
} from "./array_context.ts";
import { decodeInPool } from "./decode_in_pool.ts";
import { INNER_CHUNKS } from "./inner_chunk_translation.ts";
import { bases, ChunkWriting, noteAbsence, WHOLE } from "./partial_writes.ts";
import { InnerChunkStore, ShardedArray, TO_CHANGE } from "./sharded_array.ts";

/**
 * Any store of zarrita, including synchronous ones such as a `Map`, or of this
 * package.
 *
 * @example
 * ```ts
 * import type { ZarritaStore } from "@zarr-parts/zarr-parts/zarrita";
 * import { FetchStore } from "zarrita";
 *
 * const stores: ZarritaStore[] = [new FetchStore("https://example.com"), new Map()];
 * ```
 */
export interface ZarritaStore {
  /**
   * Reads a whole value.
   *
   * @param key The key that it is stored under.
   * @param options `signal` aborts the operation.
   * @returns Its bytes, or `undefined` if the key has no value.
   */
  get(
    key: StoreKey,
    options?: StoreOptions,
  ): Uint8Array | undefined | Promise<Uint8Array | undefined>;
}

/**
 * A store of {@linkcode withZarrParts}: it can always read, it can write, delete and
 * list if the store below can, and it has all other members of the store below.
 *
 * @typeParam S The store below.
 *
 * @example
 * ```ts
 * import { MemoryStore } from "@zarr-parts/zarr-parts";
 * import { withZarrParts, type ZarrPartsStore } from "@zarr-parts/zarr-parts/zarrita";
 *
 * const store: ZarrPartsStore<MemoryStore> = withZarrParts(new MemoryStore());
 * await store.set("/c/0", new Uint8Array([1]));
 * ```
 */
export type ZarrPartsStore<S> =
  & Required<Pick<Store, "get" | "getRange" | "stream" | "size">>
  & (S extends { set: unknown } ? Required<Pick<Store, "set">> : unknown)
  & (S extends { delete: unknown } ? Required<Pick<Store, "delete">> : unknown)
  & (S extends { list: unknown } ? Required<Pick<Store, "list">> : unknown)
  & Omit<S, keyof Store>;

/**
 * Options of {@linkcode withZarrParts}.
 *
 * @example `zarr.get` decodes on all processors
 * ```ts
 * import { ThreadPool, type ZarrPartsOptions } from "@zarr-parts/zarr-parts/zarrita";
 *
 * const options: ZarrPartsOptions = { threads: new ThreadPool() };
 * ```
 */
export interface ZarrPartsOptions {
  /**
   * A pool whose threads decode the chunks that `zarr.get` and `zarr.set` read, if they take
   * 32 KiB or more once decoded, and are compressed. It is also the pool of `getSharded` and
   * `setSharded` that have no option `threads`. By default, the calling thread decodes.
   * A number of threads is refused, since nothing would say when these threads end.
   */
  readonly threads?: ThreadPool | undefined;
}

const OPTIONS: OptionRules<ZarrPartsOptions> = {
  threads: {
    expected: "a ThreadPool",
    isValid: (value) => poolAccess.has(value as object),
  },
};

/** The methods of the store below that the view replaces or lacks. */
const HIDDEN = {
  get: undefined,
  getRange: undefined,
  stream: undefined,
  size: undefined,
  set: undefined,
  delete: undefined,
  list: undefined,
  writer: undefined,
  group: undefined,
  getRangeOf: undefined,
  streamRangeOf: undefined,
} satisfies Record<keyof Store, undefined>;

/** The members of a wrapped store that hold its arrays and its pool of threads. */
const ARRAYS = Symbol("zarr-parts arrays");
const POOL = Symbol("zarr-parts pool");

/**
 * Wraps a store so that zarrita reads and writes arrays with `suffix` chunk keys,
 * arrays in parts, and sharded arrays. Use it alone or as a store extension
 * (`zarr.extendStore(store, withZarrParts)`).
 *
 * Every array in the store, at any depth, is shown with the `default` chunk key
 * encoding and without storage transformers. A sharded array is shown as an array of
 * its inner chunks: zarrita can then write it, and read it with the index at the start
 * or with nested shards.
 *
 * The index of a shard is verified, and cached as long as the shard is the same. With
 * a store that tells the versions of values (`FileSystemStore`, `MemoryStore`,
 * `HttpStore`), a shard that any program has replaced is read by its new index; over
 * HTTP, only absent shards and inner chunks are taken for absent until the array is
 * opened again. With any other store, changes by other wrappers of the same store object
 * are seen at once, and those by `ArrayChunks` or by another program once the array is
 * opened again; until then, they may be read with the old index, which gives wrong
 * elements. `zarr.set` and `setSharded` change inner chunks in their present state in
 * any store. If a chunk was changed between the reading and the storing of a `zarr.set`
 * that changes a part of it, the call rejects with a {@linkcode ChunkChangedError}, and
 * can be repeated. Inner chunks close to each other that are read at the same time
 * are combined into one request. `getRange` of an inner chunk is refused, since
 * zarrita calls it only if it takes the inner chunk for a shard.
 *
 * An array with codecs beside `sharding_indexed`, or with more than 2^20 inner chunks in a
 * shard, is shown as it is stored, and its chunks are refused.
 *
 * Metadata of Zarr v2 is shown where no `zarr.json` is beside it: zarrita would look for
 * chunks where they were before. `NaN` and infinities in attributes, which JSON does not
 * have, are shown as the strings `"NaN"`, `"Infinity"` and `"-Infinity"`.
 *
 * @param store Any store of zarrita or of this package.
 * @param options `threads`: a pool of threads that decode chunks. As a store extension, give
 * options by a function: `(store) => withZarrParts(store, { threads })`.
 * @returns The store for zarrita. Its methods reject with the `MetadataError` of
 * `openArrayChunks` for metadata that is not valid or not understood, with a
 * `DamageError` for a damaged index of a shard or an inner chunk outside of its shard,
 * and with the errors of `ConcatParts.apply` for incomplete chunks. A key outside the chunk grid has no value:
 * reading it gives `undefined`, and writing or deleting it is a `RangeError`. Elements
 * that are read through zarrita are a `DamageError` if a decoded chunk has too few or
 * too many of them. Of a chunk of shards that extends past the end of the array along
 * its first dimension of several elements, as the last strip of a TIFF does, rows outside
 * of the array may be missing.
 * @throws {TypeError} If the argument is not a store. The message names the store to
 * construct for a path or a URL.
 *
 * @example
 * ```ts
 * import { createArrayChunks, MemoryStore } from "@zarr-parts/zarr-parts";
 * import { registerCodecs, withZarrParts } from "@zarr-parts/zarr-parts/zarrita";
 * import { assertEquals } from "@std/assert";
 * import * as zarr from "zarrita";
 *
 * registerCodecs(zarr);
 * const stored = new MemoryStore();
 * await createArrayChunks(stored, "", {
 *   zarr_format: 3,
 *   node_type: "array",
 *   shape: [4],
 *   data_type: "int16",
 *   chunk_grid: { name: "regular", configuration: { chunk_shape: [2] } },
 *   chunk_key_encoding: { name: "suffix", configuration: { suffix: ".bin" } },
 *   fill_value: 0,
 *   codecs: [{ name: "bytes", configuration: { endian: "little" } }, { name: "crc32c" }],
 *   storage_transformers: [{
 *     name: "concat-parts",
 *     configuration: { parts: [{ key_suffix: "" }, { key_suffix: ".crc32c", size: 4 }] },
 *   }],
 * });
 *
 * const array = await zarr.open(withZarrParts(stored), { kind: "array" });
 * await zarr.set(array, [zarr.slice(2, 4)], 7);
 * assertEquals((await zarr.get(array)).data, new Int16Array([0, 0, 7, 7]));
 * assertEquals(await stored.get("/c/1.bin"), new Uint8Array([7, 0, 7, 0]));
 * ```
 */
export function withZarrParts<S extends ZarritaStore>(
  store: S,
  options: ZarrPartsOptions = {},
): ZarrPartsStore<S> {
  assertStore(store);
  checkOptions(options, OPTIONS, "withZarrParts");
  const below = store as unknown as Store;
  const shown = new StoreView(below, INNER_CHUNKS);
  const { arrays } = shown;
  const writing = new ChunkWriting();
  const view = shown.toStore({
    read: (place, options) =>
      place.store instanceof InnerChunkStore
        ? place.store.get(place.key, options)
        : readOwn(place, options),
    write: (...args) => writing.write(...args),
  });
  const wrapped = overlay<object>(store, {
    ...HIDDEN,
    ...view,
    get(...args: [StoreKey, StoreOptions?]) {
      const [key, options] = args;
      const reading = readInner(arrays, key, options) ?? view.get(...args);
      // Arrays give two arguments. An array that remembers bases always gives options.
      if (args.length < 2 || options !== undefined) return reading;
      return reading.then((bytes) => {
        writing.noteRead(key, bytes);
        return bytes;
      });
    },
    toString: () => `withZarrParts(${describeStore(store)})`,
    // zarrita applies these to the arrays that it opens from the store.
    arrayExtensions: [
      ...(store as { arrayExtensions?: unknown[] }).arrayExtensions ?? [],
      checkChunks(arrays, accessOf(options.threads)),
    ],
    [ARRAYS]: arrays,
    [POOL]: options.threads,
  });
  ownStores.add(wrapped);
  return wrapped as ZarrPartsStore<S>;
}

/** The access to the threads of a pool; `undefined` if there are none. */
function accessOf(pool: ThreadPool | undefined): PoolAccess | undefined {
  return pool && pool.size > 0 ? poolAccess.get(pool) : undefined;
}

/**
 * Reads a value, and notes its key. The bytes are a new object that fills its memory, since
 * zarrita encodes all of the memory that elements lie in.
 */
async function readOwn(
  { store, key }: Place,
  options: StoreOptions | undefined,
): Promise<Uint8Array | undefined> {
  const bytes = await store.get(key, options);
  const own = bytes && ownBytes(bytes);
  if (own !== undefined) noteKey(own, key);
  return own;
}

/**
 * Reads an inner chunk of a sharded array that was opened; returns `undefined` for any
 * other key. This is the way of most reads, and makes no promise of its own.
 */
function readInner(
  arrays: TranslatedArrays,
  key: StoreKey,
  options: StoreOptions | undefined,
): Promise<Uint8Array | undefined> | undefined {
  const parts = splitPlainKey(key);
  const array = parts && arrays.at(parts.root);
  return array instanceof ShardedArray && !options?.signal?.aborted
    ? array.read(parts!.plainKey, options)
    : undefined;
}

/** The arrays of a store of {@linkcode withZarrParts}, or `undefined` for another store. */
export function arraysOf(store: object): TranslatedArrays | undefined {
  return (store as { [ARRAYS]?: TranslatedArrays })[ARRAYS];
}

/** The pool of threads that a store of {@linkcode withZarrParts} was given. */
export function poolOf(store: object): ThreadPool | undefined {
  return (store as { [POOL]?: ThreadPool })[POOL];
}

const ownStores = new WeakSet<object>();

/** Whether a store is one of {@linkcode withZarrParts} itself, and no layer above such a store. */
export function isOwnStore(store: object): boolean {
  return ownStores.has(store);
}

/** The members of zarrita's `Array` that read a chunk. */
interface ReadsChunks {
  readonly dtype: string;
  resolve(key: string): { path: string };
  getChunk(
    coordinates: number[],
    options?: unknown,
    more?: unknown,
  ): Promise<Chunk>;
}

/** The member of an array that decodes a chunk, as `getChunk` does with a chunk that it has read. */
export const DECODE = Symbol("zarr-parts decode");

/** Decodes the bytes of a chunk, `undefined` for an absent one. */
export type Decode = (
  coordinates: number[],
  bytes: Uint8Array | undefined,
) => Promise<Chunk>;

/**
 * An array extension for zarrita that refuses decoded chunks with too few or too many
 * elements, and adds the key of the chunk, or of its shard, to the errors of codecs.
 * zarrita itself reads zeros in place of missing elements. It also notes that the array
 * is opened, which the view does not see if a layer keeps documents, and makes the array
 * remember what `set` reads.
 *
 * @param arrays The arrays of the store.
 * @param pool The pool whose threads decode chunks; `undefined` if there are none.
 */
function checkChunks(
  arrays: TranslatedArrays,
  pool: PoolAccess | undefined,
): <A extends object>(array: A & ReadsChunks) => A {
  return (array) => {
    const original = array.getChunk.bind(array);
    const shownKey = (coordinates: number[]) => {
      const plainKey = ["c", ...coordinates].join("/");
      return array.resolve(plainKey).path as StoreKey;
    };
    const keyOf = (coordinates: number[]) =>
      storedKey(arrays, shownKey(coordinates));
    const { root } = splitPlainKey(shownKey([]))!;
    arrays.noteOpened(root);
    const checked = async (
      coordinates: number[],
      read: () => Promise<Chunk>,
    ): Promise<Chunk> => {
      let chunk: Chunk;
      try {
        chunk = await read();
      } catch (error) {
        if (isUnnamed(error)) nameChunk(error, await keyOf(coordinates));
        throw error;
      }
      if (chunk.data.length === countOf(chunk)) return chunk;
      throw wrongCount(chunk, coordinates, await keyOf(coordinates));
    };
    const { getChunk: inherited } = Object.getPrototypeOf(array);
    const isOwn = array.getChunk === inherited;
    const decode = rememberBases(
      array,
      pool && ((context) => decodeInPool(arrays, root, array, context, pool)),
    );
    const getChunk: ReadsChunks["getChunk"] = (coordinates, options, more) =>
      checked(coordinates, async () => {
        const chunk = await original(coordinates, options, more);
        if (options === undefined && isOwn && decode) noteAbsence(chunk.data);
        return chunk;
      });
    const members = {
      getChunk,
      ...decode && {
        [DECODE]: ((coordinates, bytes) =>
          checked(coordinates, () =>
            decode(bytes))) satisfies Decode,
      },
    };
    if (isOwn) ownMethods.add(getChunk);
    // zarrita has just made the array, which may get the method as its own: a proxy
    // would slow down each access. An array of another extension may be a proxy itself.
    return isOwn ? Object.assign(array, members) : overlay(array, members);
  };
}

/** The number of elements in the shape of a chunk. */
function countOf({ shape }: Chunk): number {
  return shape.reduce((product, length) => product * length, 1);
}

function wrongCount(
  chunk: Chunk,
  coordinates: number[],
  key: string | undefined,
): DamageError {
  const { data, shape } = chunk;
  return new DamageError(
    `Chunk ${describe(coordinates)}${
      key === undefined ? "" : ` at ${describe(key)}`
    } decodes to ${data.length} elements, where its shape ${
      describe(shape)
    } has ${countOf(chunk)}`,
    key === undefined ? {} : { key },
  );
}

/** Whether an error is zarrita's `CodecPipelineError` without a key, which zarrita never sets. */
function isUnnamed(error: unknown): error is Error & { chunkPath?: string } {
  return error instanceof Error && "chunkPath" in error &&
    error.chunkPath === undefined;
}

function nameChunk(
  error: Error & { chunkPath?: string },
  key: string | undefined,
): void {
  if (key === undefined) return;
  const { message, stack } = error;
  error.chunkPath = key;
  error.message = `${message} at ${key}`;
  if (stack) error.stack = stack.replace(message, error.message);
}

/** The key in the store of a chunk that is shown under a key; `undefined` for a chunk of Zarr v2, which has other keys. */
async function storedKey(
  arrays: TranslatedArrays,
  key: StoreKey,
): Promise<string | undefined> {
  const { root, plainKey } = splitPlainKey(key)!;
  const array = await arrays.at(root);
  return array?.placeOf(plainKey)?.key ??
    (arrays.isPlain(root) ? key : undefined);
}

/** Decodes a chunk of an array, `undefined` for an absent one. */
type DecodeChunk = (bytes: Uint8Array | undefined) => Promise<Chunk>;

const decoders = new WeakMap<object, DecodeChunk>();

/**
 * Makes an array of zarrita remember the chunk that its `set` reads, until `set` stores
 * what it has made from the chunk. Only `set` reads without options.
 *
 * @param makeDecode Makes the function that decodes chunks for `get` and `set`, in place of
 * that of the context.
 * @returns The decoder of the array's chunks; `undefined` for an array of another version
 * of zarrita, or one that does not write.
 */
function rememberBases(
  array: object,
  makeDecode?: (context: Context) => Context["codec"]["decode"],
): DecodeChunk | undefined {
  const symbol = contextSymbol(array);
  if (symbol === undefined) return undefined;
  const members = array as Record<symbol, Context>;
  const context = members[symbol]!;
  const known = decoders.get(context);
  if (known !== undefined) return known;
  const { codec } = context;
  const decodeBytes = makeDecode?.(context) ??
    ((bytes: Uint8Array) => codec.decode(bytes));
  const remembering: Context = {
    ...context,
    getChunkBytes: (coordinates, options) =>
      options === undefined
        ? context.getChunkBytes(coordinates, TO_CHANGE).then((bytes) => {
          if (bytes === undefined) return undefined;
          // zarrita may change the elements in the same memory, and a `Map` or a cache
          // gives the memory that it keeps.
          const own = copyBytes(bytes);
          noteKey(own, keyOf(bytes));
          bases.set(own, { bytes });
          return own;
        })
        : context.getChunkBytes(coordinates, options),
    codec: {
      ...codec,
      decode(bytes) {
        const base = bases.get(bytes);
        if (base === undefined) return decodeBytes(bytes);
        return decodeBytes(bytes).then((chunk) => {
          bases.set(chunk.data, base);
          return chunk;
        });
      },
      async encode(chunk) {
        const base = bases.get(chunk.data) ?? WHOLE;
        const bytes = await codec.encode(chunk);
        bases.set(bytes, base);
        return bytes;
      },
    },
  };
  const decode: DecodeChunk = async (bytes) => {
    if (bytes !== undefined) return await codec.decode(bytes);
    const { TypedArray, fillValue, chunkShape: shape } = context;
    const data = new TypedArray(shape.reduce((count, n) => count * n, 1));
    data.fill(fillValue);
    const chunk = { data, shape, stride: context.getStrides(shape) };
    return chunk;
  };
  members[symbol] = remembering;
  decoders.set(remembering, decode);
  return decode;
}

/**
 * Overrides members of an object without changing it; `undefined` hides a member. All
 * other members belong to the object itself, private ones included.
 */
export function overlay<T extends object>(
  object: T,
  members: Readonly<Record<PropertyKey, unknown>>,
): T {
  const own = { __proto__: null, ...members } as typeof members;
  // Not the object itself, since a proxy cannot override members of a frozen target.
  const target = Object.create(Object.getPrototypeOf(object));
  if (Object.hasOwn(members, "toString")) {
    // Consoles look at the target, not at the proxy.
    Object.defineProperty(target, "toString", {
      configurable: true,
      value: members.toString,
    });
    inspectAsString(target);
  }
  return new Proxy(target, {
    get(_, property) {
      if (property in own) return own[property];
      const value = Reflect.get(object, property, object);
      return typeof value === "function" && property !== "constructor"
        ? value.bind(object)
        : value;
    },
    set: (_, property, value) =>
      !(property in own) && Reflect.set(object, property, value),
    has: (_, property) =>
      property in own ? own[property] !== undefined : property in object,
  });
}
