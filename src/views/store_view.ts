import { DamageError, describe, MetadataError } from "../errors/mod.ts";
import { isV2Document } from "../metadata/mod.ts";
import {
  assertStorePrefix,
  type Forwarding,
  forwardingStore,
  type FoundPlace,
  type Place,
  readValue,
  remove,
  type Store,
  type StoreKey,
  type StoreOptions,
  toBytes,
  write,
} from "../stores/mod.ts";
import {
  outsideGrid,
  splitPlainKey,
  type TranslatedArray,
  TranslatedArrays,
  type Translation,
} from "./translated_arrays.ts";
import {
  isAnyDocument,
  isBesideDocument,
  isDocument,
  readViewDocument,
  rootOf,
  type View,
  writeViewDocument,
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

  constructor(store: Store, translation: Translation) {
    this.store = store;
    this.translation = translation;
    this.arrays = new TranslatedArrays(store, translation);
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
  placeOf(key: StoreKey, options?: StoreOptions): FoundPlace {
    options?.signal?.throwIfAborted();
    const parts = splitPlainKey(key);
    const array = parts && this.arrays.at(parts.root);
    const placeIn = (array: TranslatedArray | undefined) =>
      array ? array.placeOf(parts!.plainKey) : { store: this.store, key };
    return array instanceof Promise ? array.then(placeIn) : placeIn(array);
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
   * @param options `name`: the name of the view in messages; `read` reads a whole chunk at
   * its place; `write` stores the chunk of a key at its place.
   */
  toStore<S extends Store>(
    {
      name,
      read = ({ store, key }, options) => readValue(store, key, options),
      write: writeTo = (_, { store, key }, value, options) =>
        write(store, key, value, options),
    }: Pick<Forwarding, "name" | "read" | "write"> = {},
  ): PlainStore<S> {
    const { store } = this;
    /** The documents as they are shown. */
    const shown: Store = {
      get: (key, options) => this.readDocument(key, options),
    };
    return forwardingStore(store, {
      name,
      placeToRead: (key, options) =>
        isAnyDocument(key) ? { store: shown, key } : this.placeOf(key, options),
      placeToChange: (key, options) =>
        isDocument(key) ? { store, key } : this.#placeToChange(key, options),
      read: (place, options) =>
        place.store === shown
          ? this.readDocument(place.key, options)
          : read(place, options),
      write: async (key, place, value, options) => {
        if (!isDocument(key)) {
          await assertShown(store, key, options);
          return await writeTo(key, place, value, options);
        }
        const bytes = value instanceof Uint8Array
          ? value
          : await toBytes(value, options);
        await writeViewDocument(this, key, bytes, options);
      },
      delete: async (key, place, options) => {
        try {
          await remove(place.store, place.key, options);
        } finally {
          this.invalidate(key);
        }
      },
      list: (prefix, options) => listView(store, this.arrays, prefix, options),
    }) as PlainStore<S>;
  }

  /** Finds the place of a chunk to change, and refuses keys outside the chunk grid. */
  async #placeToChange(
    key: StoreKey,
    options: StoreOptions | undefined,
  ): Promise<Place> {
    const place = await this.placeOf(key, options);
    if (place !== undefined) return place;
    const { root, plainKey } = splitPlainKey(key)!;
    throw outsideGrid(plainKey, (await this.arrays.at(root))!);
  }
}

/** Refuses a document of Zarr v2 beside a `zarr.json`, which is not shown. */
async function assertShown(
  store: Store,
  key: StoreKey,
  options: StoreOptions | undefined,
): Promise<void> {
  const isHidden = isV2Document(key) &&
    await isBesideDocument(store, key, options);
  if (!isHidden) return;
  throw new RangeError(
    `Key ${
      describe(key)
    } is that of Zarr v2 metadata beside a zarr.json, which is not shown`,
  );
}

const DOCUMENT = "/zarr.json";

/** Lists the keys that a view shows: those of Zarr v2 metadata only if no `zarr.json` is beside. */
async function* listView(
  store: Store,
  arrays: TranslatedArrays,
  prefix: StoreKey,
  options: StoreOptions | undefined,
): AsyncGenerator<StoreKey> {
  for await (const key of listAll(store, arrays, prefix, options)) {
    const isHidden = isV2Document(key) &&
      await isBesideDocument(store, key, options);
    if (!isHidden) yield key;
  }
}

async function* listAll(
  store: Store,
  arrays: TranslatedArrays,
  prefix: StoreKey,
  options: StoreOptions | undefined,
): AsyncGenerator<StoreKey> {
  assertStorePrefix(prefix);
  const translated = await arraysWithin(store, arrays, prefix, options);
  const roots = new Set(translated.map(({ root }) => root));
  const isInArray = (key: StoreKey) =>
    foldersOf(key).some((folder) => roots.has(folder));
  if (!isInArray(prefix)) {
    for await (const key of store.list!(prefix, options)) {
      if (!isInArray(key)) yield key;
    }
  }
  let damage: DamageError | undefined;
  for (const array of translated) {
    try {
      for await (const key of array.list(options)) {
        if (key.startsWith(prefix)) yield key;
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
async function arraysWithin(
  store: Store,
  arrays: TranslatedArrays,
  prefix: StoreKey,
  options: StoreOptions | undefined,
): Promise<TranslatedArray[]> {
  const found: TranslatedArray[] = [];
  for (const root of foldersOf(prefix)) {
    const array = await arrayAt(arrays, root);
    if (array !== undefined) return [array]; // Arrays hold no nodes.
  }
  for await (const key of store.list!(prefix, options)) {
    if (!key.endsWith(DOCUMENT)) continue;
    const array = await arrayAt(arrays, key.slice(0, -DOCUMENT.length));
    if (array !== undefined) found.push(array);
  }
  return found;
}

/**
 * Returns the translated array at a root. An array with metadata that is not
 * understood is listed as it is stored.
 */
async function arrayAt(
  arrays: TranslatedArrays,
  root: string,
): Promise<TranslatedArray | undefined> {
  try {
    return await arrays.at(root);
  } catch (error) {
    if (error instanceof MetadataError) return undefined;
    throw error;
  }
}

/** Returns all folders above a key or prefix: "", "/a" and "/a/b" for "/a/b/c". */
function foldersOf(prefix: StoreKey): string[] {
  const names = prefix.split("/");
  return names.slice(1).map((_, i) => names.slice(0, i + 1).join("/"));
}
