import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";

/** How a view shows nodes otherwise than they are stored. */
export interface Translation {
  /** A node's document as it is shown; the same object where it is shown as it is stored. */
  toShown(document: unknown): unknown;
  /**
   * The document to store when a node is given one: what was shown, and comes
   * back so, stays as it is stored.
   *
   * @param stored The document that stands there, if there is one.
   */
  toStored(document: unknown, stored: unknown): unknown;
  /**
   * The array with a document, or `undefined` if its chunks are where they are
   * shown, or if it is no array.
   *
   * @param root The array's place in the store, without a last `/`.
   */
  open(
    store: Store,
    root: string,
    document: unknown,
  ): TranslatedArray | undefined;
}

/** An array whose chunks are stored otherwise than a view shows them. */
export interface TranslatedArray {
  /** The array's place, without a last `/`. */
  readonly root: string;
  /** Where the chunk is that the view shows under a key, relative to the array. */
  placeOf(plainKey: string): Place;
  /** Forgets what was read of chunks, since others may have changed them. */
  refresh?(): void;
  /** The keys of all that the view shows in the array. */
  list(options: StoreOptions | undefined): AsyncIterable<StoreKey>;
}

/** Where what a view shows under a key is stored. */
export interface Place {
  readonly store: Store;
  readonly key: StoreKey;
}

/** A key of the `default` encoding. */
const PLAIN_KEY = /^c(?:\/(?:0|[1-9]\d*))*$/;

/** An array's root and the chunk's key below it, if a key may be that of a chunk in a view. */
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

/** Whether a view shows a chunk under a key, relative to its array. */
export function isPlainKey(key: string): boolean {
  return splitPlainKey(`/${key}`)?.root === "";
}
