import type { ParsedArray } from "../arrays/mod.ts";
import { ListedParts } from "../concat_parts/mod.ts";
import { ChunkKeyError } from "../errors/mod.ts";
import type { StoreKey, StoreOptions } from "../stores/mod.ts";
import { documentKey, type Place, rootIn } from "./node_location.ts";
import type { Node } from "./read_nodes.ts";

/** The kind of a listed key of an array. */
type ListedKey =
  | { readonly kind: "chunk"; readonly coordinates: readonly number[] }
  /**
   * `part`: a further part of a chunk; `stray`: the key of a chunk that is stored in parts with
   * other keys; `file`: any other key.
   */
  | { readonly kind: "part" | "stray" | "file" };

/** Distinguishes the chunks of an array from other keys below the array. */
export class ArrayKeys {
  readonly array: ParsedArray;
  /** The prefix of the array's keys, without a last `/`. */
  readonly root: string;
  readonly #prefix: string;
  readonly #parts: ListedParts;
  readonly #suffixes: readonly string[];
  /** The key that was decoded last, since most keys are decoded several times in a row. */
  #latest: { key: StoreKey; coordinates: number[] | undefined } | undefined;

  constructor(array: ParsedArray, root: string) {
    this.array = array;
    this.root = root;
    this.#prefix = `${root}/`;
    const { parts } = array;
    this.#suffixes = parts.map(({ keySuffix }) => keySuffix);
    this.#parts = new ListedParts(
      parts,
      (key) => this.#coordinatesOf(key) !== undefined,
    );
  }

  /** Takes the next key of a listing. The first part of a chunk counts as the chunk. */
  take(key: StoreKey): ListedKey {
    const chunk = this.#parts.take(key);
    if (chunk === undefined) {
      return {
        kind: this.#coordinatesOf(key) === undefined ? "file" : "stray",
      };
    }
    if (!chunk.isFirst) return { kind: "part" };
    return { kind: "chunk", coordinates: this.#coordinatesOf(chunk.key)! };
  }

  /** The key of the chunk that the object of a key belongs to; `undefined` for other keys. */
  chunkOf(key: StoreKey): StoreKey | undefined {
    return this.#parts.chunkOf(key);
  }

  /** Whether a key is that of a chunk or of a part. */
  isTaken(key: StoreKey): boolean {
    return this.#parts.chunkOf(key) !== undefined ||
      this.#coordinatesOf(key) !== undefined;
  }

  /** Whether a key is that of a chunk outside of the grid, or of a part of such a chunk. */
  isOutsideGrid(key: StoreKey): boolean {
    const { keys, gridShape } = this.array;
    const relative = key.slice(this.#prefix.length);
    return ["", ...this.#suffixes].some((suffix) => {
      if (!relative.endsWith(suffix)) return false;
      const chunk = relative.slice(0, relative.length - suffix.length);
      try {
        keys.decode(chunk, gridShape.length);
        return this.array.coordinatesOf(chunk) === undefined;
      } catch (error) {
        if (error instanceof ChunkKeyError) return false;
        throw error;
      }
    });
  }

  #coordinatesOf(key: StoreKey): number[] | undefined {
    if (this.#latest?.key !== key) {
      const coordinates = key.startsWith(this.#prefix)
        ? this.array.coordinatesOf(key.slice(this.#prefix.length))
        : undefined;
      this.#latest = { key, coordinates };
    }
    return this.#latest.coordinates;
  }
}

/** The callbacks of a listing of a hierarchy, which waits for those that take time. */
export interface ListingEvents {
  /** A chunk of the array at a path. */
  chunk(path: string, coordinates: readonly number[]): void | Promise<void>;
  /**
   * Any other key, such as that of a text file.
   *
   * @param path The path of the array that it lies in; `undefined` outside of arrays.
   */
  file(key: StoreKey, path: string | undefined): void | Promise<void>;
  /** An object at the key of a chunk that is stored in other parts, of the array at a path. */
  stray?(key: StoreKey, path: string): void | Promise<void>;
  /** Whether a key is passed over, as those of nodes that are left out. */
  isIgnored?(key: StoreKey): boolean;
  /** Each key that is not passed over. */
  each?(key: StoreKey): void;
}

/**
 * Lists the chunks and the other files of a hierarchy, without the documents of its
 * nodes, also those of Zarr v2 that were read.
 *
 * @param arrays The keys of each array, by the array's path. Default: those of the nodes.
 */
export async function listHierarchy(
  place: Place,
  nodes: readonly Node[],
  events: ListingEvents,
  options: StoreOptions,
  arrays: ReadonlyMap<string, ArrayKeys> = keysOfNodes(place, nodes),
): Promise<void> {
  const documents = new Set<StoreKey>(
    nodes.flatMap(({ path, v2Documents }) => [
      documentKey(place, path),
      ...v2Documents,
    ]),
  );
  const byRoot = new Map<string, string>();
  for (const path of arrays.keys()) byRoot.set(rootIn(place, path), path);
  const prefix = `${place.root}/` as StoreKey;
  for await (const key of place.store.list!(prefix, options)) {
    if (documents.has(key) || events.isIgnored?.(key)) continue;
    events.each?.(key);
    const path = arrayOf(key, byRoot, prefix.length - 1);
    const listed = path === undefined ? undefined : arrays.get(path)!.take(key);
    const { kind = "file" } = listed ?? {};
    let done: void | Promise<void> = undefined;
    if (listed?.kind === "chunk") {
      done = events.chunk(path!, listed.coordinates);
    } else if (kind === "stray") done = events.stray?.(key, path!);
    else if (kind === "file") done = events.file(key, path);
    if (done !== undefined) await done;
  }
}

function keysOfNodes(
  place: Place,
  nodes: readonly Node[],
): Map<string, ArrayKeys> {
  return new Map(
    nodes.flatMap(({ path, array }) =>
      array ? [[path, new ArrayKeys(array, rootIn(place, path))]] : []
    ),
  );
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
