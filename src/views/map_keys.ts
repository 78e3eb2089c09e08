import { arrayRoot } from "../arrays/mod.ts";
import {
  BOOLEAN,
  checkOptions,
  type OptionRules,
  sentence,
  TEXT,
} from "../errors/mod.ts";
import {
  assertStore,
  assertStoreKey,
  type Backend,
  backendOf,
  describeStore,
  type Store,
  type StoreKey,
  storeOf,
  type StoreOptions,
} from "../stores/mod.ts";
import { viewBackend } from "./view_backend.ts";

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
   * The path that relative keys start from, such as that of the array. The
   * root of the store by default.
   */
  path?: string;
  /** Whether values are also shown under the keys that they are stored under. Off by default. */
  showTargets?: boolean;
}

const OPTIONS: OptionRules<MapKeysOptions> = {
  path: TEXT,
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
  & Pick<S, Extract<keyof S, "set" | "writer" | "delete" | "list">>;

/**
 * Shows values of a store under other keys, for files whose names follow no rule: the
 * array finds its chunks, and the files keep their names. All other values keep their
 * keys. A value is shown under its new key alone, unless `showTargets` is set; another
 * value that the store has under that key is not shown.
 *
 * Keys are mapped once: the target of a key is never mapped again. Writing and deleting
 * a key changes its target, together with the other parts of its chunk. Writers of one
 * shard wait for each other, also if some of them use the keys of the files.
 *
 * @param store Any store.
 * @param keys The keys that values are stored under, by the keys to show: an object (as
 * a JSON document holds it) or a `Map`. Relative keys, without a leading `/`, start from
 * `path`, and `../` leads to the folder above.
 * @param options `path`: where relative keys start; `showTargets`: whether values also
 * keep their own keys.
 * @returns The store. Changing a target by its own key is a `RangeError`, unless targets
 * are shown.
 * @throws {TypeError} If `store` is not a store, or `keys` is not one of the forms above.
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
 */
export function mapKeys<S extends Store>(
  store: S,
  keys: KeyTable,
  options: MapKeysOptions = {},
): MappedStore<S> {
  assertStore(store);
  checkOptions(options, OPTIONS, "mapKeys");
  const { path = "", showTargets = false } = options;
  const table = parseTable(keys, path);
  const { targets, sources } = table;
  const below = backendOf(store);
  const view = viewBackend(below, {
    placeOf(key, _, isChange) {
      const target = targets.get(key);
      const source = sources.get(key);
      const isShown = target !== undefined || showTargets || !source;
      if (isShown) return { backend: below, key: target ?? key };
      if (!isChange) return undefined;
      throw new RangeError(
        sentence`Key ${key} is not shown, since ${source} is mapped to it: change that key instead`,
      );
    },
    list: (prefix, options) =>
      listMapped(below, table, showTargets, prefix, options),
  });
  const toString = () => `mapKeys(${describeStore(store)})`;
  return storeOf(view, toString) as Store as MappedStore<S>;
}

/** A table of keys, in both directions. */
interface ParsedTable {
  /** The targets of keys, by the keys that are shown. */
  readonly targets: ReadonlyMap<StoreKey, StoreKey>;
  /** The keys that are shown, by their targets. */
  readonly sources: ReadonlyMap<StoreKey, StoreKey>;
}

/**
 * Lists the keys of a store of mapped keys.
 *
 * @param showTargets Whether values are also listed by the keys that they are stored under.
 */
async function* listMapped(
  below: Backend,
  { targets, sources }: ParsedTable,
  showTargets: boolean,
  prefix: StoreKey,
  options: StoreOptions | undefined,
): AsyncGenerator<StoreKey> {
  for await (const key of below.list!(prefix, options)) {
    const source = sources.get(key);
    if (source?.startsWith(prefix)) yield source;
    const isShown = !targets.has(key) && (source === undefined || showTargets);
    if (isShown) yield key;
  }
  const outside = new Set<StoreKey>();
  for (const [source, target] of targets) {
    if (source.startsWith(prefix) && !target.startsWith(prefix)) {
      outside.add(target);
    }
  }
  if (outside.size === 0) return;
  for await (const key of below.list!(sharedPrefix(outside), options)) {
    if (outside.has(key)) yield sources.get(key)!;
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

/**
 * Parses a table of keys.
 *
 * @param path The folder of relative keys.
 */
function parseTable(table: KeyTable, path: string): ParsedTable {
  const folder = arrayRoot(path);
  const targets = new Map<StoreKey, StoreKey>();
  const sources = new Map<StoreKey, StoreKey>();
  for (const [from, to] of pairsOf(table)) {
    const source = resolveKey(folder, from);
    const target = resolveKey(folder, to);
    const earlier = targets.get(source);
    if (earlier !== undefined) {
      throw new RangeError(
        sentence`Key ${source} is mapped twice, to ${earlier} and to ${target}`,
      );
    }
    const other = sources.get(target);
    if (other !== undefined) {
      throw new RangeError(
        sentence`Keys ${other} and ${source} are both mapped to ${target}, expected a target for each`,
      );
    }
    targets.set(source, target);
    sources.set(target, source);
  }
  return { targets, sources };
}

function pairsOf(table: KeyTable): Iterable<readonly [unknown, unknown]> {
  if (typeof table !== "object" || table === null) {
    throw new TypeError(
      sentence`Expected a map of keys to keys, an object or a Map, found ${table}`,
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
      sentence`Expected a map of keys to keys, strings, found the key ${key}`,
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
      const start = folder || "/";
      throw new RangeError(
        sentence`Key ${key} leads out of the store from ${start}`,
      );
    }
    base = base.slice(0, base.lastIndexOf("/"));
    rest = rest.slice("../".length);
  }
  const resolved: StoreKey = `${base as StoreKey}/${rest}`;
  assertStoreKey(resolved);
  return resolved;
}
