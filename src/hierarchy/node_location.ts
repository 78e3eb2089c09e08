import { arrayRoot } from "../arrays/mod.ts";
import { describe } from "../errors/mod.ts";
import {
  assertStore,
  describeStore,
  type Store,
  type StoreKey,
} from "../stores/mod.ts";

/**
 * The place of an array or a group: a store and a path in it. The locations of zarrita
 * are such places.
 *
 * @example
 * ```ts
 * import { MemoryStore } from "@zarr-parts/zarr-parts";
 * import type { NodeLocation } from "@zarr-parts/zarr-parts/jobs";
 *
 * const location: NodeLocation = { store: new MemoryStore(), path: "temperature/monthly" };
 * ```
 */
export interface NodeLocation {
  /** The store that holds the node. */
  readonly store: Store;
  /** The node's path in the store, such as `temperature/monthly`. Default: the root. */
  readonly path?: string | undefined;
}

/** The key, below the outermost node, of the file in a target whose conversion is not finished. */
export const MARKER: StoreKey = "/.zarr-parts-unfinished.json";

/** The place of a node, checked. */
export interface Place {
  readonly store: Store;
  /** The prefix of the node's keys, without a last `/`. */
  readonly root: "" | StoreKey;
}

/**
 * Checks a store or a location.
 *
 * @throws {TypeError} If it is neither, or the path is not a string.
 * @throws {RangeError} If the path is not names joined by `/`.
 */
export function placeOf(location: Store | NodeLocation): Place {
  const isLocation = typeof location === "object" && location !== null &&
    "store" in location && !("get" in location);
  const { store, path = "" } = isLocation
    ? location
    : { store: location as Store };
  assertStore(store);
  return { store, root: arrayRoot(path) };
}

/** Names a place in messages. */
export function describePlace({ store, root }: Place): string {
  return `${describe(root || "/")} in ${describeStore(store)}`;
}

/** The prefix of the keys of a node below a place, without a last `/`. */
export function rootIn({ root }: Place, path: string): "" | StoreKey {
  return path === "" ? root : `${root as StoreKey}/${path}`;
}

/** The path in the store of a node below a place. */
export function pathIn(place: Place, path: string): string {
  return rootIn(place, path).slice(1);
}

/** The key of the document of a node below a place. */
export function documentKey(place: Place, path: string): StoreKey {
  return `${rootIn(place, path) as StoreKey}/zarr.json`;
}
