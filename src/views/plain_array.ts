import { chunksOf, type ParsedArray } from "../arrays/mod.ts";
import { describe } from "../errors/mod.ts";
import {
  assertStoreKey,
  type Backend,
  backendOf,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";
import type { Place } from "./view_backend.ts";

/**
 * An array with other keys, or in parts, that a view shows with `default` keys and without
 * parts. Other views of arrays extend this class.
 */
export class PlainArray {
  /** The prefix of the array's keys, without a last `/`. */
  readonly root: string;
  readonly array: ParsedArray;
  /** The backend of whole chunks. */
  readonly backend: Backend;

  /** @param store The store that holds the array. */
  constructor(store: Store, root: string, array: ParsedArray) {
    this.root = root;
    this.array = array;
    this.backend = chunksOf(backendOf(store), root, array);
  }

  /** The number of chunks that the view shows along each dimension. */
  get gridShape(): readonly number[] {
    return this.array.gridShape;
  }

  /**
   * Returns where a chunk is stored, by its key in the view relative to the array;
   * `undefined` for a key outside the chunk grid.
   */
  placeOf(plainKey: string): Place | undefined {
    const coordinates = gridCoordinates(plainKey, this.gridShape);
    return coordinates &&
      { backend: this.backend, key: this.keyOf(coordinates) };
  }

  /** The key that a stored chunk has. */
  keyOf(coordinates: readonly number[]): StoreKey {
    const key = `${this.root}/${this.array.keys.encode(coordinates)}`;
    assertStoreKey(key); // Registered encodings may return any text.
    return key as StoreKey;
  }

  /** Drops all cached data about chunks, which others may have changed. */
  refresh(): void {}

  /** Lists the keys of all values that the view shows in the array. */
  async *list(options: StoreOptions | undefined): AsyncGenerator<StoreKey> {
    const root: StoreKey = `${this.root as StoreKey}/`;
    for await (const key of this.backend.list!(root, options)) {
      const stored = this.array.coordinatesOf(key.slice(root.length));
      if (stored !== undefined) {
        for await (const shown of this.shownChunks(stored, options)) {
          yield `${root}${["c", ...shown].join("/")}`;
        }
      } // A chunk of the view hides any other value under its key.
      else if (!isPlainKey(key.slice(root.length))) yield key;
    }
  }

  /** Returns the coordinates of the chunks of the view that a stored chunk holds. */
  protected shownChunks(
    stored: readonly number[],
    _options: StoreOptions | undefined,
  ):
    | Iterable<readonly number[]>
    | AsyncIterable<readonly number[]> {
    return [stored];
  }
}

/** A chunk key of the `default` encoding with the separator `/`. */
const PLAIN_KEY = /^c(?:\/(?:0|[1-9]\d*))*$/;

/** Splits the key of a chunk in a view; returns `undefined` for other keys. */
export function splitPlainKey(
  key: StoreKey,
): { root: string; plainKey: string } | undefined {
  const end = key.lastIndexOf("/c");
  if (end < 0) return undefined;
  const plainKey = key.slice(end + 1);
  return PLAIN_KEY.test(plainKey)
    ? { root: key.slice(0, end), plainKey }
    : undefined;
}

/** Whether a key, relative to its array, is that of a chunk in a view. */
export function isPlainKey(key: string): boolean {
  return splitPlainKey(`/${key}`)?.root === "";
}

/** The coordinates in the key of a chunk, as {@linkcode splitPlainKey} gives it; `undefined` for a key outside the chunk grid. */
export function gridCoordinates(
  plainKey: string,
  gridShape: readonly number[],
): number[] | undefined {
  const names = plainKey.split("/");
  const rank = names.length - 1; // The first name is "c".
  if (rank !== gridShape.length) return undefined;
  const coordinates = new Array<number>(rank);
  for (let i = 0; i < rank; i++) {
    const coordinate = Number(names[i + 1]);
    if (coordinate >= gridShape[i]!) return undefined;
    coordinates[i] = coordinate;
  }
  return coordinates;
}

/** An error for the change of a chunk whose key is outside the chunk grid. */
export function outsideGrid(
  plainKey: string,
  { root, gridShape }: PlainArray,
): RangeError {
  return new RangeError(
    `Key ${
      describe(`${root}/${plainKey}`)
    } is outside the chunk grid of its array, whose shape is ${
      describe(gridShape)
    }`,
  );
}
