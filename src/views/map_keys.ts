import { describe } from "../metadata/describe.ts";
import { assertStore } from "../stores/assert_store.ts";
import {
  readRange,
  readSize,
  readStream,
  readValue,
  remove,
  write,
} from "../stores/capabilities.ts";
import { describeStore, inspectAsString } from "../stores/describe_store.ts";
import { hasGroups } from "../stores/has_groups.ts";
import type { Store, StoreKey } from "../stores/store.ts";
import { assertStoreKey } from "../stores/store_key.ts";
import { discard } from "../stores/given_value.ts";
import {
  functionMapping,
  type KeyFunction,
  type KeyTable,
  tableMapping,
} from "./key_mapping.ts";
import { listMapped } from "./list_mapped.ts";
import { mappedGroup } from "./mapped_group.ts";

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
