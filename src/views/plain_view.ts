import { hasDocument, parseArray, readDocument } from "../arrays/mod.ts";
import {
  DamageError,
  inDocument,
  MetadataError,
  sentence,
} from "../errors/mod.ts";
import {
  changeNodes,
  changeZarrJson,
  isArrayDocument,
  isMembers,
  isV2Document,
  type Members,
  nodePaths,
  parseExactZarrJson,
  parseZarrJson,
  showZarrJson,
  v2Folders,
  withNumbers,
  withoutV2Nodes,
} from "../metadata/mod.ts";
import { runConcurrently } from "../runtime/mod.ts";
import {
  assertStore,
  type Backend,
  backendOf,
  describeStore,
  keyProblem,
  type Store,
  type StoreKey,
  storeOf,
  type StoreOptions,
} from "../stores/mod.ts";
import {
  PlainArray,
  splitPlainKey,
  TranslatedArrays,
  type Translation,
} from "./translated_arrays.ts";
import {
  computedValues,
  documentBackend,
  type Place,
  viewBackend,
} from "./view_backend.ts";

/**
 * Shows a store as if every array in it, at any depth, had `default` chunk keys
 * and no storage transformers, so that other Zarr programs can read, write and
 * copy the arrays. Each `zarr.json` is changed accordingly, also in consolidated
 * metadata. All other values are shown as they are stored. For an array that is
 * plain already, a chunk costs one look-up in memory.
 *
 * When the `zarr.json` of an array is written back, the stored chunk key encoding
 * and storage transformers are kept.
 *
 * The view reads the metadata of an array once, with the first of its chunks. The
 * view notices changes that are made through it, but not those of others.
 *
 * @param store Any store.
 * @returns The view. Its methods reject with a {@linkcode MetadataError} if an
 * array's metadata is not understood, and with the errors of `ConcatParts.apply` for
 * incomplete chunks. A key outside the chunk grid has no value: reading it gives
 * `undefined`, and writing or deleting it is a `RangeError`.
 * @throws {TypeError} If `store` is not a store.
 *
 * @example
 * ```ts
 * import { arrayMetadata, createArrayChunks, MemoryStore, plainView } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const stored = new MemoryStore();
 * const metadata = arrayMetadata({
 *   shape: [4, 4],
 *   dataType: "uint8",
 *   chunkShape: [2, 2],
 *   codecs: ["crc32c"],
 *   suffix: ".bin",
 *   parts: ["", ".crc32c"],
 * });
 * const chunks = await createArrayChunks(stored, "elevation", metadata);
 * await chunks.set([0, 1], new Uint8Array(8));
 *
 * const plain = plainView(stored);
 * assertEquals((await plain.get("/elevation/c/0/1"))?.length, 8);
 * assertEquals((await Array.fromAsync(plain.list())).sort(), [
 *   "/elevation/c/0/1",
 *   "/elevation/zarr.json",
 * ]);
 * const document = new TextDecoder().decode(await plain.get("/elevation/zarr.json"));
 * assertEquals(JSON.parse(document).chunk_key_encoding.name, "default");
 * ```
 */
export function plainView<S extends Store>(store: S): PlainStore<S> {
  assertStore(store);
  return new StoreView(store, PLAIN).toStore("plainView");
}

/**
 * A store that shows all arrays plain. It can read, and it can write, delete and
 * list if the store below can.
 *
 * @typeParam S The store below.
 *
 * @example
 * ```ts
 * import { MemoryStore, type PlainStore, plainView } from "@zarr-parts/zarr-parts";
 *
 * const store: PlainStore<MemoryStore> = plainView(new MemoryStore());
 * await store.set("/zarr.json", new TextEncoder().encode("{}"));
 * ```
 */
export type PlainStore<S extends Store = Store> =
  & Required<Pick<Store, "get" | "getRange" | "stream" | "size">>
  & Pick<S, Extract<keyof S, "set" | "delete" | "list">>;

/** The chunk key encoding of every array in a plain view. */
export const PLAIN_KEYS = {
  name: "default",
  configuration: { separator: "/" },
};

/** The translation of `plainView`: `default` keys and no storage transformers. */
export const PLAIN: Translation = {
  toShown(document) {
    if (!isTranslated(document)) return document;
    const { storage_transformers: _, ...rest } = document as Members;
    return { ...rest, chunk_key_encoding: PLAIN_KEYS };
  },

  toStored(document, stored) {
    if (
      !isTranslated(stored) || !isArrayDocument(document) ||
      isTranslated(document)
    ) return document;
    const { chunk_key_encoding, storage_transformers } = stored as Members;
    return {
      ...document,
      chunk_key_encoding,
      ...storage_transformers === undefined ? {} : { storage_transformers },
    };
  },

  open(store, root, document) {
    return isTranslated(document)
      ? new PlainArray(store, root, parseArray(document))
      : undefined;
  },
};

/** Whether a document is that of an array with other keys than `default`, or with storage transformers. */
function isTranslated(document: unknown): boolean {
  if (!isArrayDocument(document)) return false;
  const { chunk_key_encoding, storage_transformers } = document;
  return !isPlainKeys(chunk_key_encoding) ||
    Array.isArray(storage_transformers) && storage_transformers.length > 0;
}

/** Whether an encoding is `default` with the separator `/`. */
function isPlainKeys(encoding: unknown): boolean {
  if (encoding === "default") return true;
  if (!isMembers(encoding) || encoding.name !== "default") return false;
  const { configuration = {} } = encoding;
  return isMembers(configuration) && (configuration.separator ?? "/") === "/";
}

const DOCUMENT = "/zarr.json";

/** The number of nodes whose `zarr.json` is looked for at the same time. */
const AT_ONCE = 16;

/** A store through a translation: its documents, and its chunks under `default` keys. */
export class StoreView {
  readonly store: Store;
  readonly translation: Translation;
  readonly arrays: TranslatedArrays;
  /** The view as a backend. */
  readonly backend: Backend;
  readonly #below: Backend;

  constructor(store: Store, translation: Translation) {
    this.store = store;
    this.translation = translation;
    this.arrays = new TranslatedArrays(store, translation);
    const below = this.#below = backendOf(store);
    const documents: Backend = {
      ...documentBackend(store, below, {
        show: (key, stored) =>
          Promise.resolve(stored && this.#shownDocument(key, stored)),
        toStored: (key, bytes, stored, options) =>
          this.#storedDocument(key, bytes, stored, options),
        changed: (key) => {
          if (isDocument(key)) this.arrays.invalidate(rootOf(key));
        },
      }),
      read: (_, task, options) =>
        task(computedValues((key) => this.readDocument(key, options))),
    };
    this.backend = viewBackend(below, {
      placeOf: (key, options, isChange) => {
        const isComputed = isChange ? isDocument(key) : isAnyDocument(key);
        if (isComputed) return { backend: documents, key };
        return isChange
          ? this.#placeToChange(key, options)
          : this.placeOf(key, options);
      },
      list: (prefix, options) => this.#list(prefix, options),
    });
  }

  /** Reads a document, also one of Zarr v2, and converts it to the one that is shown. */
  async readDocument(
    key: StoreKey,
    options: StoreOptions | undefined,
  ): Promise<Uint8Array | undefined> {
    if (isV2Document(key)) {
      return await readV2Document(this.store, key, options);
    }
    const bytes = await this.arrays.readDocument(rootOf(key), options);
    return bytes && this.#shownDocument(key, bytes);
  }

  /** Converts a stored document to the one that is shown. */
  #shownDocument(key: StoreKey, bytes: Uint8Array): Uint8Array {
    const { store, translation } = this;
    const show = (document: unknown) => {
      translation.check?.(withNumbers(document));
      return changeNodes(
        document,
        (node, path) => shownNode(translation, node, path),
      );
    };
    return inDocument(
      key,
      describeStore(store),
      () => showZarrJson(bytes, show),
    );
  }

  /**
   * Converts a document that is written to the one that is stored.
   *
   * @param stored The document that it replaces.
   */
  async #storedDocument(
    key: StoreKey,
    bytes: Uint8Array,
    stored: Uint8Array | undefined,
    options: StoreOptions | undefined,
  ): Promise<Uint8Array> {
    const { store, translation } = this;
    const storeName = describeStore(store);
    const document = inDocument(key, storeName, () => parseZarrJson(bytes));
    const nodes = new Map<string, unknown>();
    for (const path of nodePaths(document)) {
      const below = `${rootOf(key)}/${path}${DOCUMENT}`;
      const isKey = keyProblem(below.slice(1)) === undefined;
      const bytes = path === ""
        ? stored
        : isKey && await readDocument(store, below as StoreKey, options);
      nodes.set(path, parsedOrNothing(bytes || undefined));
    }
    const toStored = (node: unknown, path: string) =>
      translation.toStored(node, nodes.get(path));
    return inDocument(
      key,
      storeName,
      () =>
        changeZarrJson(bytes, (document) => changeNodes(document, toStored)),
    );
  }

  /**
   * Finds where a value is stored that is no document; `undefined` for a key outside the
   * chunk grid of its array. Returns a promise only for the first key of an array.
   */
  placeOf(
    key: StoreKey,
    options?: StoreOptions,
  ): Place | undefined | Promise<Place | undefined> {
    options?.signal?.throwIfAborted();
    const parts = splitPlainKey(key);
    const array = parts && this.arrays.at(parts.root);
    const placeIn = (array: PlainArray | undefined) =>
      array ? array.placeOf(parts!.coordinates) : { backend: this.#below, key };
    return array instanceof Promise ? array.then(placeIn) : placeIn(array);
  }

  /** Finds the place to change a value at that is no `zarr.json`, and refuses keys that are not shown. */
  async #placeToChange(
    key: StoreKey,
    options?: StoreOptions,
  ): Promise<Place> {
    if (await this.#isHidden(key, options)) {
      throw new RangeError(
        sentence`Key ${key} is that of Zarr v2 metadata beside a zarr.json, which is not shown`,
      );
    }
    const place = await this.placeOf(key, options);
    if (place !== undefined) return place;
    const { gridShape } = (await this.arrays.at(splitPlainKey(key)!.root))!;
    throw new RangeError(
      sentence`Key ${key} is outside the chunk grid of its array, whose shape is ${gridShape}`,
    );
  }

  /** Drops what is cached of the node of a document that was read. */
  forget(key: StoreKey): void {
    this.arrays.delete(rootOf(key));
  }

  /**
   * Returns the view as a store.
   *
   * @param name The name of the view in messages.
   */
  toStore<S extends Store>(name: string): PlainStore<S> {
    const toString = () => `${name}(${describeStore(this.store)})`;
    return storeOf(this.backend, toString) as Store as PlainStore<S>;
  }

  /** Whether a key is that of a document of Zarr v2 beside a `zarr.json`. */
  async #isHidden(
    key: StoreKey,
    options: StoreOptions | undefined,
  ): Promise<boolean> {
    return isV2Document(key) &&
      await hasDocument(this.store, keyBeside(key), options);
  }

  /** Lists the keys that are shown. */
  async *#list(
    prefix: StoreKey,
    options: StoreOptions | undefined,
  ): AsyncGenerator<StoreKey> {
    const translated = await this.#arraysWithin(prefix, options);
    const roots = new Set(translated.map(({ root }) => root));
    const isInArray = (key: StoreKey) =>
      foldersOf(key).some((folder) => roots.has(folder));
    if (!isInArray(prefix)) {
      for await (const key of this.#below.list!(prefix, options)) {
        if (!isInArray(key) && !await this.#isHidden(key, options)) yield key;
      }
    }
    let damage: DamageError | undefined;
    for (const array of translated) {
      try {
        for await (const key of array.list(options)) {
          const isShown = key.startsWith(prefix) &&
            !await this.#isHidden(key, options);
          if (isShown) yield key;
        }
      } catch (error) {
        if (!(error instanceof DamageError)) throw error;
        damage ??= error;
      }
    }
    // Thrown last, so that the keys of the other arrays are listed.
    if (damage !== undefined) throw damage;
  }

  /** Returns the translated arrays that have keys with a prefix. */
  async #arraysWithin(
    prefix: StoreKey,
    options: StoreOptions | undefined,
  ): Promise<PlainArray[]> {
    const found: PlainArray[] = [];
    for (const root of foldersOf(prefix)) {
      const array = await this.#arrayAt(root);
      if (array !== undefined) return [array]; // Arrays hold no nodes.
    }
    for await (const key of this.#below.list!(prefix, options)) {
      if (!isDocument(key)) continue;
      const array = await this.#arrayAt(rootOf(key));
      if (array !== undefined) found.push(array);
    }
    return found;
  }

  /**
   * Returns the translated array at a root. An array with metadata that is not
   * understood is listed as it is stored.
   */
  async #arrayAt(root: string): Promise<PlainArray | undefined> {
    try {
      return await this.arrays.at(root);
    } catch (error) {
      if (error instanceof MetadataError) return undefined;
      throw error;
    }
  }
}

/** Returns all folders above a key or prefix: "", "/a" and "/a/b" for "/a/b/c". */
function foldersOf(prefix: StoreKey): string[] {
  const names = prefix.split("/");
  return names.slice(1).map((_, i) => names.slice(0, i + 1).join("/"));
}

/** Whether a key is that of a document, `…/zarr.json`. */
export function isDocument(key: StoreKey): boolean {
  return key.endsWith(DOCUMENT);
}

/** Whether a key is that of a document of Zarr v3 or v2. */
export function isAnyDocument(key: StoreKey): boolean {
  return isDocument(key) || isV2Document(key);
}

/** Returns the root of a document's node, without a last `/`. */
export function rootOf(key: StoreKey): "" | StoreKey {
  return key.slice(0, key.lastIndexOf("/")) as "" | StoreKey;
}

/** The key of the `zarr.json` beside a document of Zarr v2. */
function keyBeside(key: StoreKey): StoreKey {
  return `${rootOf(key)}${DOCUMENT}`;
}

/** Converts the document of a node; `undefined` for one in consolidated metadata that is not understood, so that the node's own document is read. */
function shownNode(
  translation: Translation,
  node: unknown,
  path: string,
): unknown {
  try {
    if (path !== "") translation.check?.(withNumbers(node));
  } catch (error) {
    if (error instanceof MetadataError) return undefined;
    throw error;
  }
  return translation.toShown(node);
}

/** Parses a stored document; returns `undefined` for one that is not valid, which the write repairs. */
function parsedOrNothing(bytes: Uint8Array | undefined): unknown {
  try {
    return bytes && parseExactZarrJson(bytes);
  } catch {
    return undefined;
  }
}

/**
 * Reads a document of Zarr v2 as readers of JSON can read it; `undefined` for one beside a
 * `zarr.json`. Consolidated metadata is read without the nodes that have a `zarr.json`.
 */
async function readV2Document(
  store: Store,
  key: StoreKey,
  options: StoreOptions | undefined,
): Promise<Uint8Array | undefined> {
  const bytes = await readDocument(store, key, options);
  const isShown = bytes !== undefined &&
    !await hasDocument(store, keyBeside(key), options);
  if (!isShown) return undefined;
  try {
    if (!key.endsWith("/.zmetadata")) return showZarrJson(bytes);
    const root = rootOf(key);
    const hidden = new Set<string>();
    await runConcurrently([...v2Folders(bytes)], AT_ONCE, async (folder) => {
      const beside: StoreKey = `${root}/${folder}zarr.json`;
      if (await hasDocument(store, beside, options)) hidden.add(folder);
    });
    return showZarrJson(
      withoutV2Nodes(bytes, (folder) => hidden.has(folder)),
    );
  } catch (error) {
    if (error instanceof MetadataError) return bytes; // Bytes that are not JSON are shown as they are stored.
    throw error;
  }
}
