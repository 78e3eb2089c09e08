import { ArrayStorage, unsizedPart } from "../arrays/mod.ts";
import {
  DefaultChunkKeyEncoding,
  splitCoordinates,
} from "../chunk_key_encoding/mod.ts";
import { describe } from "../errors/mod.ts";
import type { ShardBody } from "../shards/mod.ts";
import {
  assertStoreKey,
  type Place,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";

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

const PLAIN_ENCODING = /* @__PURE__ */ new DefaultChunkKeyEncoding();

/** Shows an array with other keys or with parts under `default` keys and without parts. */
export class PlainArray implements TranslatedArray {
  readonly root: string;
  /** The store of whole chunks. */
  readonly store: Store;
  /** The store of parts. */
  readonly #parts: Store;
  readonly #storage: ArrayStorage;

  constructor(store: Store, root: string, document: unknown) {
    this.root = root;
    this.#parts = store;
    this.#storage = new ArrayStorage(document);
    this.store = this.#storage.transform(store, root);
  }

  /** The size of all head parts in bytes; 0 if every part has a size. */
  get headSize(): number {
    return this.body?.offset ?? 0;
  }

  /** The first unsized part of each chunk, or the chunk if it has no parts; `null` if every part has a size. */
  get body(): ShardBody | null {
    const part = unsizedPart(this.#storage.layers);
    return part ? { store: this.#parts, ...part } : null;
  }

  get gridShape(): readonly number[] {
    return this.#storage.gridShape;
  }

  placeOf(plainKey: string): Place | undefined {
    const coordinates = gridCoordinates(plainKey, this.gridShape);
    return coordinates && this.at(coordinates);
  }

  /** Returns the store of whole chunks, and the key of a chunk in it. */
  at(coordinates: readonly number[]): Place {
    const key: StoreKey = `${this.root as StoreKey}/${
      this.#storage.keyEncoding.encode(coordinates)
    }`;
    assertStoreKey(key); // Registered encodings may return any text.
    return { store: this.store, key };
  }

  async *list(options: StoreOptions | undefined): AsyncGenerator<StoreKey> {
    const root: StoreKey = `${this.root as StoreKey}/`;
    for await (const found of this.find(options)) {
      if (typeof found !== "string") {
        yield `${root}${PLAIN_ENCODING.encode(found)}`;
      } // A chunk of the view hides any other value under its key.
      else if (!isPlainKey(found.slice(root.length))) yield found;
    }
  }

  /** Lists the coordinates of stored chunks, and the keys of all other values. */
  async *find(
    options: StoreOptions | undefined,
  ): AsyncGenerator<number[] | StoreKey> {
    const root: StoreKey = `${this.root as StoreKey}/`;
    for await (const key of this.store.list!(root, options)) {
      yield this.#storage.coordinatesOf(key.slice(root.length)) ?? key;
    }
  }
}

/** Parses the key of a chunk in a view; returns `undefined` for a key outside the chunk grid. */
export function gridCoordinates(
  plainKey: string,
  gridShape: readonly number[],
): number[] | undefined {
  const coordinates = splitCoordinates(plainKey, 1, "/");
  const isChunk = coordinates?.length === gridShape.length &&
    coordinates.every((coordinate, i) => coordinate < gridShape[i]!);
  return isChunk ? coordinates : undefined;
}

/** An error for the change of a chunk whose key is outside the chunk grid. */
export function outsideGrid(
  plainKey: string,
  { root, gridShape }: TranslatedArray,
): RangeError {
  return new RangeError(
    `Key ${
      describe(`${root}/${plainKey}`)
    } is outside the chunk grid of its array, whose shape is ${
      describe(gridShape)
    }`,
  );
}
