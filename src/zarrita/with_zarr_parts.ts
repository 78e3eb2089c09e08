import { isInGrid } from "../arrays/mod.ts";
import { keyOf as keyOfBytes, noteKey, rowsOf } from "../codecs/mod.ts";
import {
  checkOptions,
  DamageError,
  describe,
  type OptionRules,
  sentence,
} from "../errors/mod.ts";
import { ownBytes } from "../runtime/mod.ts";
import {
  assertStore,
  type Backend,
  describeStore,
  inspectAsString,
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
import { INNER_CHUNKS, ShardedArray } from "./sharded_array.ts";
import {
  type ArrayElements,
  type Chunk,
  elementsOf,
  noteOwnMethod,
  rootOf,
  shownMember,
  type ShownStore,
  type ZarritaArray,
} from "./zarrita_array.ts";

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
  & Omit<S, keyof Store | keyof Backend>;

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

/** The methods that the wrapped store has from the view, as far as the view has them. */
const SHOWN = [
  "get",
  "getRange",
  "stream",
  "size",
  "set",
  "delete",
  "list",
] as const satisfies readonly (keyof Store)[];
/** The methods by which a store would be taken for a backend. */
const HIDDEN = ["writer", "read", "readOf", "prepare", "remove", "update"];

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
 * elements.
 * A `zarr.set` of a part of a chunk reads the chunk, and stores it again: elements that
 * others have changed meanwhile are lost, as in any store of zarrita, and so are those of
 * other calls in the same program that are not awaited. `setSharded` loses none. Writers of
 * different inner chunks of one shard lose nothing either way. Inner chunks close to each other that are read at the same time
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
  const view = new StoreView(below, INNER_CHUNKS);
  const { arrays } = view;
  const shown = { store: below, arrays, pool: options.threads };
  const whole = view.toStore<Store>("withZarrParts");
  const wrapped = overlay<object>(store, {
    ...Object.fromEntries(HIDDEN.map((name) => [name, undefined])),
    ...Object.fromEntries(
      SHOWN.map((name) => [name, whole[name]?.bind(whole)]),
    ),
    get: (key: StoreKey, options?: StoreOptions) =>
      readInner(arrays, key, options) ?? readNoted(view, whole, key, options),
    toString: () => `withZarrParts(${describeStore(store)})`,
    // zarrita applies these to the arrays that it opens from the store.
    arrayExtensions: [
      ...(store as { arrayExtensions?: unknown[] }).arrayExtensions ?? [],
      checkChunks(shown),
    ],
    ...shownMember(shown),
  });
  ownStores.add(wrapped);
  return wrapped as ZarrPartsStore<S>;
}

/**
 * Reads a value, and notes the key of a chunk for messages. The bytes are a new object that
 * fills its memory, since zarrita encodes all of the memory that elements lie in.
 */
async function readNoted(
  view: StoreView,
  whole: Pick<Store, "get">,
  shownKey: StoreKey,
  options: StoreOptions | undefined,
): Promise<Uint8Array | undefined> {
  const bytes = await whole.get(shownKey, options);
  if (bytes === undefined || !splitPlainKey(shownKey)) return bytes;
  if (keyOfBytes(bytes) !== "") return bytes; // An inner chunk, which is noted.
  const own = ownBytes(bytes);
  const place = await view.placeOf(shownKey, options);
  noteKey(own, place?.key ?? shownKey);
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
  if (!(array instanceof ShardedArray) || options?.signal?.aborted) return;
  const { coordinates } = parts!;
  const { chunks } = array;
  return isInGrid(coordinates, chunks.division.gridShape)
    ? chunks.readInner(coordinates, options)
    : undefined;
}

const ownStores = new WeakSet<object>();

/** Whether a store is one of {@linkcode withZarrParts} itself, and no layer above such a store. */
export function isOwnStore(store: object): boolean {
  return ownStores.has(store);
}

/** zarrita's `Array`, which reads chunks. */
export type ReadArray = Omit<ZarritaArray, "store" | "getChunk"> & {
  readonly store: {
    get(
      key: StoreKey,
      options?: unknown,
    ): Uint8Array | undefined | Promise<Uint8Array | undefined>;
  };
  getChunk(
    coordinates: number[],
    options?: unknown,
    more?: unknown,
  ): Promise<Chunk>;
};

/**
 * An array extension for zarrita that refuses decoded chunks with too few or too many
 * elements, and adds the key of the chunk, or of its shard, to the errors of codecs.
 * zarrita itself reads zeros in place of missing elements. It has the threads of the store's
 * pool decode chunks, and notes that the array is opened, which the view does not see if a
 * layer keeps documents.
 */
function checkChunks(
  { arrays, pool }: ShownStore,
): <A extends object>(array: A & ReadArray) => A {
  const access = pool && pool.size > 0 ? poolAccess.get(pool) : undefined;
  return (array) => {
    arrays.noteOpened(rootOf(array));
    return checkedArray(array, arrays, access);
  };
}

/**
 * Returns an array that checks its chunks.
 *
 * @param pool The pool whose threads decode chunks.
 */
export function checkedArray<A extends object>(
  array: A & ReadArray,
  arrays: TranslatedArrays,
  pool?: PoolAccess,
): A {
  const original = array.getChunk.bind(array);
  const { getChunk: inherited } = Object.getPrototypeOf(array);
  const isOwn = array.getChunk === inherited;
  const byThread = isOwn && pool
    ? readByThread(array, arrays, pool)
    : undefined;
  const getChunk: ReadArray["getChunk"] = async (coordinates, ...options) => {
    let chunk: Chunk;
    try {
      chunk = await byThread?.(coordinates, options[0]) ??
        await original(coordinates, ...options);
    } catch (error) {
      if (isUnnamed(error)) {
        nameChunk(error, await keyOf(arrays, array, coordinates));
      }
      throw error;
    }
    const { data, shape } = chunk;
    const count = shape.reduce((product, length) => product * length, 1);
    if (data.length === count) return chunk;
    const key = await keyOf(arrays, array, coordinates);
    throw new DamageError(
      `Chunk ${describe(coordinates)}${
        key === undefined ? "" : sentence` at ${key}`
      } decodes to ${data.length} elements, where its shape ${
        describe(shape)
      } has ${count}`,
      key === undefined ? {} : { key },
    );
  };
  if (isOwn) noteOwnMethod(getChunk);
  // zarrita has just made the array, which may get the method as its own: a proxy would
  // slow down each access. An array of another extension may be a proxy itself.
  const members = { getChunk };
  return isOwn ? Object.assign(array, members) : overlay(array, members);
}

/** The key of a chunk as the view shows it. */
export function shownKey(
  array: Pick<ZarritaArray, "resolve">,
  coordinates: readonly number[],
): StoreKey {
  return array.resolve(["c", ...coordinates].join("/")).path as StoreKey;
}

/** The key in the store of a chunk; `undefined` for a chunk of Zarr v2, which has other keys. */
async function keyOf(
  arrays: TranslatedArrays,
  array: ReadArray,
  coordinates: readonly number[],
): Promise<string | undefined> {
  const found = await arrays.at(rootOf(array));
  return found?.placeOf(coordinates)?.key;
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

/**
 * Makes a function that reads chunks and has threads of a pool decode them. It returns
 * `undefined` for what zarrita is to read: chunks that are small, or cheap to decode, and
 * those on which a thread has failed.
 */
function readByThread(
  array: ReadArray,
  arrays: TranslatedArrays,
  pool: PoolAccess,
): (coordinates: number[], options: unknown) => Promise<Chunk | undefined> {
  let takes: Promise<boolean> | undefined;
  return async (coordinates, options) => {
    const elements = await elementsOf(array as ZarritaArray, arrays);
    if (elements === undefined) return undefined;
    takes ??= pool.takes(elements.format);
    if (!await takes) return undefined;
    const { Elements, chunkBytes, format, size } = elements;
    const bytes = await array.store.get(shownKey(array, coordinates), options);
    if (bytes === undefined) return emptyChunk(array, elements);
    const rows = rowsOf(bytes);
    const decoded = await pool.decode(format, { bytes, rows });
    if (decoded === undefined) return undefined;
    const { buffer } = ownBytes(decoded.bytes);
    const data = new Elements(buffer, 0, chunkBytes / size);
    return { data, shape: array.chunks, stride: decoded.strides };
  };
}

/** An absent chunk. */
function emptyChunk(
  { chunks, fillValue }: ReadArray,
  elements: ArrayElements,
): Chunk {
  const { Elements, chunkBytes, size, stridesOf } = elements;
  const data = new Elements(chunkBytes / size);
  data.fill(fillValue);
  const stride = stridesOf(chunks, chunks.map((_, i) => i));
  return { data, shape: chunks, stride };
}

/**
 * Overrides members of an object without changing it; `undefined` hides a member. All
 * other members belong to the object itself, private ones included.
 */
function overlay<T extends object>(
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
