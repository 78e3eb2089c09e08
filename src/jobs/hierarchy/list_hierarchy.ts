import { hash } from "../../arrays/mod.ts";
import type { StoreKey, StoreOptions } from "../../stores/mod.ts";
import type { ArrayKeys } from "./array_keys.ts";
import { documentKey, pathIn, type Place } from "./node_location.ts";
import type { Node } from "./read_nodes.ts";

/** The callbacks of a listing of a hierarchy. */
export interface ListingEvents {
  /** A chunk of the array at a path. */
  chunk(path: string, coordinates: readonly number[]): void;
  /**
   * Any other key, such as that of a text file.
   *
   * @param path The path of the array that it lies in; `undefined` outside of arrays.
   */
  file(key: StoreKey, path: string | undefined): void;
  /** An object at the key of a chunk that is stored in other parts, of the array at a path. */
  stray?(key: StoreKey, path: string): void;
}

/**
 * Lists the chunks and the other files of a hierarchy, without the documents of its
 * nodes.
 *
 * @param arrays The keys of each array, by the array's path.
 * @returns A number that depends on all chunks and files, in any order.
 */
export async function listHierarchy(
  place: Place,
  nodes: readonly Node[],
  arrays: ReadonlyMap<string, ArrayKeys>,
  events: ListingEvents,
  options: StoreOptions,
): Promise<number> {
  const documents = new Set<StoreKey>(
    nodes.map(({ path }) => documentKey(place, path)),
  );
  const byRoot = new Map<string, string>();
  for (const path of arrays.keys()) byRoot.set(rootOf(place, path), path);
  let fingerprint = 0;
  const prefix = `${place.root}/` as StoreKey;
  for await (const key of place.store.list!(prefix, options)) {
    if (documents.has(key)) continue;
    const path = arrayOf(key, byRoot, prefix.length - 1);
    const listed = path === undefined ? undefined : arrays.get(path)!.take(key);
    if (listed?.kind === "stray") events.stray?.(key, path!);
    if (listed?.kind === "part" || listed?.kind === "stray") continue;
    if (listed?.kind === "chunk") events.chunk(path!, listed.coordinates);
    else events.file(key, path);
    // Parts are listed in any order, and any of them may be the first.
    const name = listed?.kind === "chunk"
      ? `${path} ${listed.coordinates}`
      : key;
    fingerprint = addHash(fingerprint, name);
  }
  return fingerprint;
}

function rootOf(place: Place, path: string): string {
  const name = pathIn(place, path);
  return name === "" ? "" : `/${name}`;
}

/** The path of the innermost array that a key lies in. */
function arrayOf(
  key: StoreKey,
  byRoot: ReadonlyMap<string, string>,
  shortest: number,
): string | undefined {
  for (
    let end = key.lastIndexOf("/");
    end >= shortest && end >= 0;
    end = end === 0 ? -1 : key.lastIndexOf("/", end - 1)
  ) {
    const path = byRoot.get(key.slice(0, end));
    if (path !== undefined) return path;
  }
  return undefined;
}

/** Sums stay below this number, so that adding a hash of 32 bits never rounds. */
const LIMIT = 2 ** 52;

/** Adds the hash of a text to a sum of hashes, which does not depend on their order. */
export function addHash(sum: number, text: string): number {
  return (sum + hash(text)) % LIMIT;
}
