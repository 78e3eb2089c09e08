import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";

/** How a view changes nodes: their documents, and the places of their chunks. */
export interface Translation {
  /**
   * Checks the document of a node before it is shown. Without this function, a document
   * that is not understood is shown as it is stored.
   *
   * @throws {MetadataError} If the document is not understood.
   */
  check?(document: unknown): void;
  /** Converts a stored document to the one that is shown; returns the same object if nothing changes. */
  toShown(document: unknown): unknown;
  /**
   * Converts a document that is written to the one that is stored. Members that
   * the view has changed keep their stored values.
   *
   * @param stored The stored document, or `undefined` if there is none.
   */
  toStored(document: unknown, stored: unknown): unknown;
  /**
   * Opens the array of a document. Returns `undefined` for other nodes, and for
   * arrays that are shown as they are stored.
   *
   * @param root The prefix of the array's keys, without a last `/`.
   */
  open(
    store: Store,
    root: string,
    document: unknown,
  ): TranslatedArray | undefined;
}

/** An array whose chunks have other places than a view shows. */
export interface TranslatedArray {
  /** The prefix of the array's keys, without a last `/`. */
  readonly root: string;
  /** The number of chunks that the view shows along each dimension. */
  readonly gridShape: readonly number[];
  /**
   * Returns where a chunk is stored, by its key in the view relative to the array;
   * `undefined` for a key outside the chunk grid.
   */
  placeOf(plainKey: string): Place | undefined;
  /** Drops all cached data about chunks, which others may have changed. */
  refresh?(): void;
  /** Lists the keys of all values that the view shows in the array. */
  list(options: StoreOptions | undefined): AsyncIterable<StoreKey>;
}

/** The place of a stored value. */
export interface Place {
  readonly store: Store;
  readonly key: StoreKey;
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
