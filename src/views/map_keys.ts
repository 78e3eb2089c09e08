import { describe } from "../errors/mod.ts";
import {
  assertInGroup,
  assertStore,
  assertStoreKey,
  assertStorePrefix,
  type ByteRange,
  describeStore,
  discard,
  type GetOptions,
  type GroupValues,
  hasGroups,
  inspectAsString,
  readRange,
  readSize,
  readStream,
  readValue,
  remove,
  type Store,
  type StoreGroup,
  type StoreKey,
  type StoreOptions,
  type StoreVersion,
  write,
} from "../stores/mod.ts";
import {
  functionMapping,
  type KeyFunction,
  type KeyMapping,
  type KeyTable,
  tableMapping,
} from "./key_mapping.ts";

/**
 * Options of {@linkcode mapKeys}.
 *
 * @example
 * ```ts
 * import { mapKeys, type MapKeysOptions, MemoryStore } from "@zarr-parts/zarr-parts";
 *
 * const options: MapKeysOptions = { path: "scene" };
 * // Shows the value of /raw/T32TMT_B04.bin as /scene/c/0/0.bin.
 * mapKeys(new MemoryStore(), { "c/0/0.bin": "../raw/T32TMT_B04.bin" }, options);
 * ```
 */
export interface MapKeysOptions {
  /**
   * The path that relative keys of a table start from, such as that of the array. The
   * root of the store by default.
   */
  path?: string;
  /**
   * The inverse of a function: returns the key that is mapped to a target, or `undefined`
   * for a key that is no target. Without it, the keys of the store cannot be listed, and
   * targets keep their own keys, too.
   */
  inverse?: KeyFunction;
  /** Whether values are also shown under the keys that they are stored under. Off by default. */
  showTargets?: boolean;
}

/**
 * A store of {@linkcode mapKeys}. It can read, and it can write, delete and list if the
 * store below can.
 *
 * @typeParam S The store below.
 *
 * @example
 * ```ts
 * import { mapKeys, type MappedStore, MemoryStore } from "@zarr-parts/zarr-parts";
 *
 * const store: MappedStore<MemoryStore> = mapKeys(new MemoryStore(), { a: "b" });
 * await store.set("/a", new Uint8Array([1])); // stored under /b
 * ```
 */
export type MappedStore<S extends Store = Store> =
  & Required<Pick<Store, "get" | "getRange" | "stream" | "size">>
  & Pick<
    S,
    Extract<
      keyof S,
      | "set"
      | "writer"
      | "delete"
      | "list"
      | "group"
      | "getRangeOf"
      | "streamRangeOf"
    >
  >;

/**
 * Shows values of a store under other keys, for files whose names follow no rule: the
 * array finds its chunks, and the files keep their names. All other values keep their
 * keys. A value is shown under its new key alone, unless `showTargets` is set; another
 * value that the store has under that key is not shown.
 *
 * Keys are mapped once: the target of a key is never mapped again. Writing and deleting
 * a key changes its target, together with the other parts of its chunk. Writers of one
 * shard wait for each other, also if some of them use the keys of the files; in a store
 * without `group`, only if they use the same mapped store.
 *
 * @param store Any store.
 * @param keys The keys that values are stored under, by the keys to show: an object (as
 * a JSON document holds it) or a `Map`, or a function that returns the key that a value
 * is stored under, and `undefined` for keys that are not mapped. A table may have
 * relative keys, without a leading `/`: they start from `path`, and `../` leads to the
 * folder above.
 * @param options `path`: where relative keys start; `inverse`: the inverse of a function;
 * `showTargets`: whether values also keep their own keys.
 * @returns The store. Changing a target by its own key is a `RangeError`, unless targets
 * are shown. With a function, its methods reject with a `RangeError` if the function
 * returns an invalid key or `inverse` is not its inverse, and `list` with a `TypeError`
 * if there is no `inverse`.
 * @throws {TypeError} If `store` is not a store, if `keys` is not one of the forms above,
 * or if `inverse` is given for a table.
 * @throws {RangeError} If a key of a table is invalid or is mapped twice, or if two keys
 * have the same target.
 *
 * @example
 * ```ts
 * import {
 *   arrayMetadata,
 *   createArrayChunks,
 *   mapKeys,
 *   MemoryStore,
 *   openArrayChunks,
 * } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const files = new MemoryStore([["/raw/T32TMT_B04.bin", new Uint8Array(4)]]);
 * const store = mapKeys(files, new Map([["/c/0.bin", "/raw/T32TMT_B04.bin"]]));
 * const metadata = arrayMetadata({
 *   shape: [8],
 *   dataType: "uint8",
 *   chunkShape: [4],
 *   suffix: ".bin",
 * });
 * await createArrayChunks(store, "", metadata);
 *
 * const chunks = await openArrayChunks(store);
 * assertEquals(await chunks.get([0]), new Uint8Array(4));
 * assertEquals(await Array.fromAsync(chunks.list()), [[0]]);
 * assertEquals((await Array.fromAsync(store.list())).sort(), ["/c/0.bin", "/zarr.json"]);
 * ```
 *
 * @example A table in a file beside the array
 * ```ts
 * import { FileSystemStore, mapKeys } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const folder = await Deno.makeTempDir();
 * await Deno.writeFile(`${folder}/T32TMT_B04.bin`, new Uint8Array([1, 2, 3]));
 * await Deno.writeTextFile(`${folder}/keys.json`, `{ "c/0/0.bin": "T32TMT_B04.bin" }`);
 *
 * const table = JSON.parse(await Deno.readTextFile(`${folder}/keys.json`));
 * const store = mapKeys(new FileSystemStore(folder), table);
 * assertEquals(await store.getRange("/c/0/0.bin", { suffixLength: 1 }), new Uint8Array([3]));
 * await Deno.remove(folder, { recursive: true });
 * ```
 */
export function mapKeys<S extends Store>(
  store: S,
  keys: KeyTable | KeyFunction,
  options: MapKeysOptions = {},
): MappedStore<S> {
  assertStore(store);
  const { path = "", inverse, showTargets = false } = options;
  if (typeof keys !== "function" && inverse !== undefined) {
    throw new TypeError(
      `Expected "inverse" beside a function alone: a table has its own inverse`,
    );
  }
  const mapping = typeof keys === "function"
    ? functionMapping(keys, inverse)
    : tableMapping(keys, path);

  /** Returns where a value is stored; `undefined` for a key that is not shown. */
  function placeOf(key: StoreKey): StoreKey | undefined {
    assertStoreKey(key);
    const target = mapping.targetOf(key);
    if (target !== undefined || showTargets) return target ?? key;
    return mapping.sourceOf(key) === undefined ? key : undefined;
  }

  /** Returns where a value is stored, and refuses a key that is not shown. */
  function placeToChange(key: StoreKey): StoreKey {
    const place = placeOf(key);
    if (place !== undefined) return place;
    throw new RangeError(
      `Key ${describe(key)} is not shown, since ${
        describe(mapping.sourceOf(key))
      } is mapped to it: change that key instead`,
    );
  }

  /** Reads the value of a key, if the key is shown. */
  function read<T>(
    key: StoreKey,
    from: (place: StoreKey) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    try {
      const place = placeOf(key);
      return place === undefined ? Promise.resolve(undefined) : from(place);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  const mapped: Store = {
    get: (key, options) => read(key, (at) => readValue(store, at, options)),
    getRange: (key, range, options) =>
      read(key, (at) => readRange(store, at, range, options)),
    stream: (key, options) => read(key, (at) => readStream(store, at, options)),
    size: (key, options) => read(key, (at) => readSize(store, at, options)),
  };
  if (store.set) {
    mapped.set = async (key, value, options) => {
      try {
        await write(store, placeToChange(key), value, options);
      } catch (error) {
        await discard(value, error);
        throw error;
      }
    };
  }
  if (store.writer) {
    mapped.writer = async (key, options) =>
      await store.writer!(placeToChange(key), options);
  }
  if (store.delete) {
    mapped.delete = async (key, options) =>
      await remove(store, placeToChange(key), options);
  }
  if (store.list) {
    mapped.list = (prefix = "/", options) =>
      listMapped(store, mapping, showTargets, prefix, options);
  }
  if (hasGroups(store)) {
    mapped.group = (key, keys) =>
      mappedGroup(store, { placeOf, placeToChange }, key, keys);
  }
  if (store.getRangeOf) {
    mapped.getRangeOf = (version, key, range, options) =>
      read(key, (at) => store.getRangeOf!(version, at, range, options));
  }
  if (store.streamRangeOf) {
    mapped.streamRangeOf = (version, key, range, options) =>
      read(key, (at) => store.streamRangeOf!(version, at, range, options));
  }
  Object.defineProperty(mapped, "toString", {
    value: () => `mapKeys(${describeStore(store)})`,
  });
  inspectAsString(mapped);
  return mapped as MappedStore<S>;
}

/**
 * Lists the keys of a store of mapped keys.
 *
 * @param showTargets Whether values are also listed by the keys that they are stored under.
 */
export async function* listMapped(
  store: Store,
  mapping: KeyMapping,
  showTargets: boolean,
  prefix: StoreKey,
  options: StoreOptions | undefined,
): AsyncGenerator<StoreKey> {
  assertStorePrefix(prefix);
  if (!mapping.hasSources) {
    throw new TypeError(
      'Cannot list keys that a function maps: expected its inverse, the option "inverse" of mapKeys',
    );
  }
  const { entries } = mapping;
  // The sources of a function are unknown, so that any key may be a target.
  const listed = entries === undefined ? "/" : prefix;
  for await (const key of store.list!(listed, options)) {
    const source = mapping.sourceOf(key);
    if (source?.startsWith(prefix)) yield source;
    const isShown = mapping.targetOf(key) === undefined &&
      (source === undefined || showTargets);
    if (isShown && key.startsWith(prefix)) yield key;
  }
  const outside = new Set<StoreKey>();
  for (const [source, target] of entries ?? []) {
    if (source.startsWith(prefix) && !target.startsWith(prefix)) {
      outside.add(target);
    }
  }
  if (outside.size === 0) return;
  for await (const key of store.list!(sharedPrefix(outside), options)) {
    if (outside.has(key)) yield mapping.sourceOf(key)!;
  }
}

/** Returns the longest prefix that keys share. */
function sharedPrefix(keys: Iterable<StoreKey>): StoreKey {
  let shared: string | undefined;
  for (const key of keys) {
    shared ??= key;
    while (!key.startsWith(shared)) shared = shared.slice(0, -1);
  }
  return shared as StoreKey;
}

/** Where the values of a store of mapped keys are stored. */
export interface Places {
  /** Returns where a value is stored; `undefined` for a key that is not shown. */
  placeOf(key: StoreKey): StoreKey | undefined;
  /** Returns where a value is stored, and refuses a key that is not shown. */
  placeToChange(key: StoreKey): StoreKey;
}

/**
 * Returns a group of values of a store of mapped keys: the group of the values' places.
 * The lock is that of the place of the chunk's key, so that stores that show the values
 * by other keys have the same one.
 */
export function mappedGroup(
  store: Required<Pick<Store, "group">>,
  places: Places,
  key: StoreKey,
  keys: readonly StoreKey[],
): StoreGroup {
  const shown = keys.map((each) => places.placeOf(each))
    .filter((place) => place !== undefined);
  const below = store.group(places.placeOf(key) ?? key, shown);
  return groupOver(below, places, keys);
}

function groupOver(
  below: StoreGroup,
  places: Places,
  keys: readonly StoreKey[],
): StoreGroup {
  const areHidden = keys.every((key) => places.placeOf(key) === undefined);
  const assertShown = () => keys.forEach((key) => places.placeToChange(key));
  return {
    read: (task, options) =>
      areHidden ? task(new MappedValues(undefined, places, keys)) : below.read(
        (values) => task(new MappedValues(values, places, keys)),
        options,
      ),
    ...below.write && {
      async write(options) {
        assertShown();
        const writer = await below.write!(options);
        return {
          set: (key, bytes) => writer.set(places.placeToChange(key), bytes),
          writer: (key) => writer.writer(places.placeToChange(key)),
          close: () => writer.close(),
          abort: (reason) => writer.abort(reason),
        };
      },
    },
    ...below.delete && {
      async delete(options) {
        assertShown();
        await below.delete!(options);
      },
    },
    ...below.lock && {
      async lock(task, options) {
        assertShown();
        return await below.lock!(
          (locked) => task(groupOver(locked, places, keys)),
          options,
        );
      },
    },
  };
}

/** The values of a group under the keys that are shown. */
class MappedValues implements GroupValues {
  readonly #below: GroupValues | undefined;
  readonly #places: Places;
  readonly #keys: readonly StoreKey[];

  /** @param below The values by their places; `undefined` if none of the keys is shown. */
  constructor(
    below: GroupValues | undefined,
    places: Places,
    keys: readonly StoreKey[],
  ) {
    this.#below = below;
    this.#places = places;
    this.#keys = keys;
  }

  get(key: StoreKey, options?: GetOptions): Promise<Uint8Array | undefined> {
    return this.#read(key, (values, place) => values.get(place, options));
  }

  getRange(
    key: StoreKey,
    range: ByteRange,
    options?: StoreOptions,
  ): Promise<Uint8Array | undefined> {
    return this.#read(
      key,
      (values, place) => values.getRange(place, range, options),
    );
  }

  stream(
    key: StoreKey,
    options?: StoreOptions,
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    return this.#read(key, (values, place) => values.stream(place, options));
  }

  size(key: StoreKey, options?: StoreOptions): Promise<number | undefined> {
    return this.#read(key, (values, place) => values.size(place, options));
  }

  version(key: StoreKey): StoreVersion | undefined {
    // Groups over other groups also tell the versions of parts of their values.
    const place = this.#places.placeOf(key);
    return place && this.#below?.version(place);
  }

  async #read<T>(
    key: StoreKey,
    read: (values: GroupValues, place: StoreKey) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    assertInGroup(this.#keys, key);
    const place = this.#places.placeOf(key);
    return place && this.#below && await read(this.#below, place);
  }
}
