import { hasDocument } from "../arrays/mod.ts";
import { DamageError, describe, MetadataError } from "../errors/mod.ts";
import { isV2Document } from "../metadata/mod.ts";
import {
  type Backend,
  backendOf,
  describeStore,
  type Store,
  type StoreKey,
  storeOf,
  type StoreOptions,
} from "../stores/mod.ts";
import { documentBackend } from "./document_backend.ts";
import {
  outsideGrid,
  type PlainArray,
  splitPlainKey,
  TranslatedArrays,
  type Translation,
} from "./translated_arrays.ts";
import { computedValues, type Place, viewBackend } from "./view_backend.ts";
import {
  isAnyDocument,
  isDocument,
  keyBeside,
  readViewDocument,
  rootOf,
  shownDocument,
  storedDocument,
  type View,
} from "./view_documents.ts";

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

/** A store through a translation: its documents, and its chunks under `default` keys. */
export class StoreView implements View {
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
          Promise.resolve(stored && shownDocument(this, key, stored)),
        toStored: (key, bytes, stored, options) =>
          storedDocument(this, key, bytes, stored, options),
        changed: (key) => this.invalidate(key),
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

  /** Reads a document, also one of Zarr v2, as it is shown. */
  readDocument(
    key: StoreKey,
    options: StoreOptions | undefined,
  ): Promise<Uint8Array | undefined> {
    return readViewDocument(this, key, options);
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
      array ? array.placeOf(parts!.plainKey) : { backend: this.#below, key };
    return array instanceof Promise ? array.then(placeIn) : placeIn(array);
  }

  /** Finds the place to change a value at that is no `zarr.json`, and refuses keys that are not shown. */
  async #placeToChange(
    key: StoreKey,
    options?: StoreOptions,
  ): Promise<Place> {
    if (await this.#isHidden(key, options)) {
      throw new RangeError(
        `Key ${
          describe(key)
        } is that of Zarr v2 metadata beside a zarr.json, which is not shown`,
      );
    }
    const place = await this.placeOf(key, options);
    if (place !== undefined) return place;
    const { root, plainKey } = splitPlainKey(key)!;
    throw outsideGrid(plainKey, (await this.arrays.at(root))!);
  }

  /** Drops what is cached of the node of a document that was read. */
  forget(key: StoreKey): void {
    this.arrays.delete(rootOf(key));
  }

  /** Drops what is cached of the node of a document that was changed. */
  invalidate(key: StoreKey): void {
    if (isDocument(key)) this.arrays.invalidate(rootOf(key));
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
