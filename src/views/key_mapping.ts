import { arrayRoot } from "../arrays/mod.ts";
import { describe } from "../errors/mod.ts";
import { assertStoreKey, type StoreKey } from "../stores/mod.ts";

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

/** A map of keys to other keys, in both directions. */
export interface KeyMapping {
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
export function tableMapping(table: KeyTable, path: string): KeyMapping {
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
export function functionMapping(
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
