import {
  chunksOf,
  isInGrid,
  type ParsedArray,
  readDocument,
} from "../arrays/mod.ts";
import { inDocument } from "../errors/mod.ts";
import { parseZarrJson } from "../metadata/mod.ts";
import { copyBytes, isSameBytes } from "../runtime/mod.ts";
import {
  type Backend,
  backendOf,
  describeStore,
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

  /** Returns where a chunk of the view is stored; `undefined` for one outside the chunk grid. */
  placeOf(coordinates: readonly number[]): Place | undefined {
    return isInGrid(coordinates, this.gridShape)
      ? { backend: this.backend, key: this.keyOf(coordinates) }
      : undefined;
  }

  /** The key that a stored chunk has. */
  keyOf(coordinates: readonly number[]): StoreKey {
    return this.array.keyOf(this.root, coordinates);
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
      else if (!PLAIN_KEY.test(key.slice(root.length))) yield key;
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
  ): PlainArray | undefined;
}

/** The document of a node, as it was read last. */
interface CachedNode {
  readonly bytes: Uint8Array;
  /** The array of the document, once it is opened; none for a node that is shown as it is stored. */
  opened?: { readonly array: PlainArray | undefined };
  /** Whether the document was read through the view since the array was opened the last time. */
  isRead: boolean;
}

/**
 * Caches the translated arrays of a store, and the last documents that were read.
 * Absent nodes are not cached, since they may be created later.
 */
export class TranslatedArrays {
  readonly #store: Store;
  readonly #translation: Translation;
  readonly #nodes = new Map<string, CachedNode>();
  readonly #opening = new Map<string, Promise<PlainArray | undefined>>();
  /** The number of documents that were written or deleted through the view. */
  #changes = 0;

  constructor(store: Store, translation: Translation) {
    this.#store = store;
    this.#translation = translation;
  }

  /**
   * Returns the translated array at a root, or `undefined` if no node is there or
   * the node is shown as it is stored. Returns a promise only for the first call.
   */
  at(
    root: string,
  ): PlainArray | undefined | Promise<PlainArray | undefined> {
    const { opened } = this.#nodes.get(root) ?? {};
    if (opened) return opened.array;
    const opening = this.#opening.get(root) ??
      this.#open(root).finally(() => this.#opening.delete(root));
    this.#opening.set(root, opening);
    return opening;
  }

  /** Reads the stored document of a node, or returns the one that its array was made of; `undefined` if there is none. */
  async document(root: string): Promise<unknown> {
    await this.at(root);
    const bytes = this.#nodes.get(root)?.bytes;
    return bytes && parseZarrJson(bytes);
  }

  /**
   * Reads the document of a node for a user of the view. The array is opened again if
   * another program has changed the document.
   */
  async readDocument(
    root: string,
    options: StoreOptions | undefined,
  ): Promise<Uint8Array | undefined> {
    const node = await this.#load(root, options);
    if (node === undefined) return undefined;
    node.opened?.array?.refresh();
    node.isRead = true;
    return node.bytes;
  }

  /**
   * Notes that an array is opened. If its document was not read for this, a layer above
   * the view has kept the document, and the view reads it again with the next chunk.
   */
  noteOpened(root: string): void {
    const node = this.#nodes.get(root);
    if (node?.isRead) node.isRead = false;
    else this.delete(root);
  }

  /** Reads an array's document again, and returns the array as it is now. */
  async reload(root: string): Promise<PlainArray | undefined> {
    await this.#load(root);
    return await this.at(root);
  }

  /** Removes a node from the cache. */
  delete(root: string): void {
    this.#nodes.delete(root);
    this.#opening.delete(root);
  }

  /** Removes a node whose document is written or deleted through the view. */
  invalidate(root: string): void {
    this.#changes++;
    this.delete(root);
  }

  /** Reads the document of a node, and caches it unless it is written meanwhile. */
  async #load(
    root: string,
    options?: StoreOptions,
  ): Promise<CachedNode | undefined> {
    const changes = this.#changes;
    const bytes = await readDocument(this.#store, documentOf(root), options);
    const isLatest = this.#changes === changes;
    if (bytes === undefined) {
      if (isLatest) this.delete(root);
      return undefined;
    }
    const known = this.#nodes.get(root);
    if (known && isSameBytes(known.bytes, bytes)) return known;
    const node = { bytes: copyBytes(bytes), isRead: known?.isRead ?? false };
    if (isLatest) {
      this.delete(root);
      this.#nodes.set(root, node);
    }
    return node;
  }

  /** Opens the array of a document. One that is not understood is read again by the next call. */
  async #open(root: string): Promise<PlainArray | undefined> {
    const node = this.#nodes.get(root) ?? await this.#load(root);
    if (node === undefined) return undefined;
    try {
      node.opened ??= {
        array: inDocument(documentOf(root), describeStore(this.#store), () => {
          const document = parseZarrJson(node.bytes);
          return this.#translation.open(this.#store, root, document);
        }),
      };
      return node.opened.array;
    } catch (error) {
      this.delete(root);
      throw error;
    }
  }
}

/** A chunk key of the `default` encoding with the separator `/`. */
const PLAIN_KEY = /^c(?:\/(?:0|[1-9]\d*))*$/;

/** Splits the key of a chunk in a view into the root of its array and its coordinates; returns `undefined` for other keys. */
export function splitPlainKey(
  key: StoreKey,
): { root: string; coordinates: number[] } | undefined {
  const end = key.lastIndexOf("/c");
  if (end < 0) return undefined;
  const plainKey = key.slice(end + 1);
  if (!PLAIN_KEY.test(plainKey)) return undefined;
  const [, ...digits] = plainKey.split("/");
  return { root: key.slice(0, end), coordinates: digits.map(Number) };
}

function documentOf(root: string): StoreKey {
  return `${root}/zarr.json` as StoreKey;
}
