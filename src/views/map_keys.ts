import { arrayRoot } from "../arrays/mod.ts";
import {
  BOOLEAN,
  checkOptions,
  describe,
  FUNCTION,
  type OptionRules,
  TEXT,
} from "../errors/mod.ts";
import {
  assertInGroup,
  assertStore,
  assertStoreKey,
  assertStorePrefix,
  forwardingGroup,
  forwardingStore,
  type GroupValues,
  type Store,
  type StoreGroup,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";

/**
 * Returns the key that a value is stored under; `undefined` or the same key for a key
 * that is not mapped.
 *
 * @param key A key with a leading `/`.
 *
 * @example
 * ```ts
 * import type { KeyFunction } from "@zarr-parts/zarr-parts";
 *
 * const toUpperCase: KeyFunction = (key) =>
 *   key.endsWith(".tif") ? key.replace(".tif", ".TIF") as `/${string}` : undefined;
 * ```
 */
export type KeyFunction = (key: StoreKey) => StoreKey | undefined;

/**
 * The keys that values are stored under, by the keys that a store shows. Keys without a
 * leading `/` are relative, as URLs are.
 *
 * @example
 * ```ts
 * import type { KeyTable } from "@zarr-parts/zarr-parts";
 *
 * const table: KeyTable = { "c/0/0.tiff": "../downloads/S2A_T32TMT_B04.tif" };
 * ```
 */
export type KeyTable =
  | ReadonlyMap<string, string>
  | Readonly<Record<string, string>>;

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

const OPTIONS: OptionRules<MapKeysOptions> = {
  path: TEXT,
  inverse: FUNCTION,
  showTargets: BOOLEAN,
};

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
  checkOptions(options, OPTIONS, "mapKeys");
  const { path = "", inverse, showTargets = false } = options;
  if (typeof keys !== "function" && inverse !== undefined) {
    throw new TypeError(
      `Expected "inverse" beside a function alone: a table has its own inverse`,
    );
  }
  const mapping = typeof keys === "function"
    ? functionMapping(keys, inverse)
    : tableMapping(keys, path);

  /** Returns the key that a value is stored under; `undefined` for a key that is not shown. */
  function targetOf(key: StoreKey): StoreKey | undefined {
    assertStoreKey(key);
    const target = mapping.targetOf(key);
    if (target !== undefined || showTargets) return target ?? key;
    return mapping.sourceOf(key) === undefined ? key : undefined;
  }

  /** Returns the key that a value is stored under, and refuses a key that is not shown. */
  function targetToChange(key: StoreKey): StoreKey {
    const target = targetOf(key);
    if (target !== undefined) return target;
    throw new RangeError(
      `Key ${describe(key)} is not shown, since ${
        describe(mapping.sourceOf(key))
      } is mapped to it: change that key instead`,
    );
  }

  const mapped = forwardingStore(store, {
    name: "mapKeys",
    placeToRead(key) {
      const target = targetOf(key);
      return target && { store, key: target };
    },
    placeToChange: (key) => ({ store, key: targetToChange(key) }),
    list: (prefix, options) =>
      listMapped(store, mapping, showTargets, prefix, options),
    group(key, keys) {
      const shown = keys.map(targetOf).filter((target) => target !== undefined);
      // Stores that show the values under other keys have the same lock, that of the
      // target.
      const below = store.group!(targetOf(key) ?? key, shown);
      return mappedGroup(below, keys, { targetOf, targetToChange });
    },
  });
  if (store.writer) {
    mapped.writer = async (key, options) =>
      await store.writer!(targetToChange(key), options);
  }
  const { getRangeOf, streamRangeOf } = store;
  if (getRangeOf) {
    mapped.getRangeOf = async (version, key, range, options) => {
      const target = targetOf(key);
      return target &&
        await getRangeOf.call(store, version, target, range, options);
    };
  }
  if (streamRangeOf) {
    mapped.streamRangeOf = async (version, key, range, options) => {
      const target = targetOf(key);
      return target &&
        await streamRangeOf.call(store, version, target, range, options);
    };
  }
  return mapped as Store as MappedStore<S>;
}

/**
 * Lists the keys of a store of mapped keys.
 *
 * @param showTargets Whether values are also listed by the keys that they are stored under.
 */
async function* listMapped(
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

/** Returns a group of values under the keys that a store of mapped keys shows. */
function mappedGroup(
  below: StoreGroup,
  keys: readonly StoreKey[],
  { targetOf, targetToChange }: {
    targetOf(key: StoreKey): StoreKey | undefined;
    targetToChange(key: StoreKey): StoreKey;
  },
): StoreGroup {
  const valuesOver = (values: GroupValues): GroupValues => ({
    ...forwardingStore(values, {
      placeToRead(key) {
        assertInGroup(keys, key);
        const target = targetOf(key);
        return target && { store: values, key: target };
      },
      placeToChange: (key) => ({ store: values, key: targetToChange(key) }),
    }),
    version(key) {
      // Groups over other groups also tell the versions of parts of their values.
      const target = targetOf(key);
      return target && values.version(target);
    },
  });
  const group = forwardingGroup(below, {
    values: valuesOver,
    writer: (writer) => ({
      set: (key, bytes) => writer.set(targetToChange(key), bytes),
      writer: (key) => writer.writer(targetToChange(key)),
      close: () => writer.close(),
      abort: (reason) => writer.abort(reason),
    }),
    assertChangeable: () => keys.forEach(targetToChange),
  });
  if (keys.some((key) => targetOf(key) !== undefined)) return group;
  // The group below has no keys, and is not asked.
  const nothing = valuesOver(NO_VALUES);
  return { ...group, read: (task) => task(nothing) };
}

/** The values of a group of which no key is shown. */
const NO_VALUES: GroupValues = {
  get: () => Promise.resolve(undefined),
  getRange: () => Promise.resolve(undefined),
  stream: () => Promise.resolve(undefined),
  size: () => Promise.resolve(undefined),
  version: () => undefined,
};

/** A map of keys to other keys, in both directions. */
interface KeyMapping {
  /** Returns the target of a key; `undefined` for a key that is not mapped. */
  targetOf(key: StoreKey): StoreKey | undefined;
  /** Returns the key that is mapped to a target; `undefined` for other keys. */
  sourceOf(target: StoreKey): StoreKey | undefined;
  /** Whether `sourceOf` knows all targets. */
  readonly hasSources: boolean;
  /** All mapped keys and their targets, if they are known. */
  readonly entries: ReadonlyMap<StoreKey, StoreKey> | undefined;
}

/**
 * Parses a table of keys.
 *
 * @param path The folder of relative keys.
 */
function tableMapping(table: KeyTable, path: string): KeyMapping {
  const folder = arrayRoot(path);
  const targets = new Map<StoreKey, StoreKey>();
  const sources = new Map<StoreKey, StoreKey>();
  for (const [from, to] of pairsOf(table)) {
    const source = resolveKey(folder, from);
    const target = resolveKey(folder, to);
    if (targets.has(source)) {
      throw new RangeError(
        `Key ${describe(source)} is mapped twice, to ${
          describe(targets.get(source))
        } and to ${describe(target)}`,
      );
    }
    const other = sources.get(target);
    if (other !== undefined) throw ambiguous(target, other, source);
    targets.set(source, target);
    sources.set(target, source);
  }
  return {
    targetOf: (key) => targets.get(key),
    sourceOf: (target) => sources.get(target),
    hasSources: true,
    entries: targets,
  };
}

/**
 * Returns the mapping of a function.
 *
 * @param inverse The inverse of the function. Without it, targets are not known as such.
 */
function functionMapping(
  map: KeyFunction,
  inverse: KeyFunction | undefined,
): KeyMapping {
  const call = (convert: KeyFunction, key: StoreKey) => {
    const converted = convert(key);
    if (converted === undefined || converted === key) return undefined;
    assertStoreKey(converted);
    return converted;
  };
  return {
    targetOf(key) {
      const target = call(map, key);
      if (target === undefined || inverse === undefined) return target;
      const source = call(inverse, target);
      if (source === key) return target;
      throw source === undefined
        ? notInverse(target, source, key)
        : ambiguous(target, source, key);
    },
    sourceOf(target) {
      const source = inverse && call(inverse, target);
      if (source === undefined) return undefined;
      const found = call(map, source);
      if (found !== target) throw notInverse(source, found, target);
      return source;
    },
    hasSources: inverse !== undefined,
    entries: undefined,
  };
}

function ambiguous(
  target: StoreKey,
  first: StoreKey,
  second: StoreKey,
): RangeError {
  return new RangeError(
    `Keys ${describe(first)} and ${describe(second)} are both mapped to ${
      describe(target)
    }, expected a target for each`,
  );
}

function notInverse(
  key: StoreKey,
  found: StoreKey | undefined,
  expected: StoreKey,
): RangeError {
  return new RangeError(
    `The function and its inverse disagree: they map ${describe(expected)} to ${
      describe(key)
    }, and that key to ${describe(found)}`,
  );
}

function pairsOf(table: KeyTable): Iterable<readonly [unknown, unknown]> {
  if (typeof table !== "object" || table === null) {
    throw new TypeError(
      `Expected a map of keys to keys, an object, a Map or a function, found ${
        describe(table)
      }`,
    );
  }
  return typeof table.entries === "function"
    ? table.entries()
    : Object.entries(table);
}

/** Resolves a key of a table: one without a leading `/` is relative to a folder. */
function resolveKey(folder: string, key: unknown): StoreKey {
  if (typeof key !== "string") {
    throw new TypeError(
      `Expected a map of keys to keys, strings, found the key ${describe(key)}`,
    );
  }
  if (key.startsWith("/")) {
    assertStoreKey(key);
    return key as StoreKey;
  }
  let base = folder;
  let rest = key;
  while (rest.startsWith("../")) {
    if (base === "") {
      throw new RangeError(
        `Key ${describe(key)} leads out of the store from ${
          describe(folder || "/")
        }`,
      );
    }
    base = base.slice(0, base.lastIndexOf("/"));
    rest = rest.slice("../".length);
  }
  const resolved: StoreKey = `${base as StoreKey}/${rest}`;
  assertStoreKey(resolved);
  return resolved;
}
