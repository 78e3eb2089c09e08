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
  rootOf,
  ViewDocuments,
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

/**
 * Shows a store through a translation: its documents, and its chunks under
 * `default` keys.
 *
 * @param options `arrays`: the store's arrays under the translation; `name`: the name of
 * the view in messages; `read` reads a whole chunk at its place; `writeTo` stores the
 * chunk of a key at its place.
 */
export function viewStore<S extends Store>(
  store: S,
  translation: Translation,
  {
    arrays = new TranslatedArrays(store, translation),
    name,
    read = ({ store, key }, options) => readValue(store, key, options),
    writeTo = (_, { store, key }, value, options) =>
      write(store, key, value, options),
  }: {
    arrays?: TranslatedArrays;
    name?: string;
    read?: NonNullable<Forwarding["read"]>;
    writeTo?: NonNullable<Forwarding["write"]>;
  } = {},
): PlainStore<S> {
  const documents = new ViewDocuments(store, translation, arrays);
  /** The documents as they are shown. */
  const shown: Store = {
    get: (key, options) => documents.read(key, options),
  };

  /** Returns the place of a chunk to change, and refuses keys outside the chunk grid. */
  async function placeOfChunk(key: StoreKey): Promise<Place> {
    const parts = splitPlainKey(key);
    const array = parts && await arrays.at(parts.root);
    if (array === undefined) return { store, key };
    const place = array.placeOf(parts!.plainKey);
    if (place === undefined) throw outsideGrid(parts!.plainKey, array);
    return place;
  }

  return forwardingStore(store, {
    name,
    placeToRead: (key, options) =>
      isAnyDocument(key)
        ? { store: shown, key }
        : placeInView(store, arrays, key, options),
    placeToChange(key, options) {
      if (isDocument(key)) return { store, key };
      options?.signal?.throwIfAborted();
      return placeOfChunk(key);
    },
    read: (place, options) =>
      place.store === shown
        ? documents.read(place.key, options)
        : read(place, options),
    async write(key, place, value, options) {
      if (!isDocument(key)) {
        await assertShown(store, key, options);
        return await writeTo(key, place, value, options);
      }
      const bytes = value instanceof Uint8Array
        ? value
        : await toBytes(value, options);
      const view = { store, translation, arrays };
      await writeViewDocument(view, key, bytes, options);
    },
    async delete(key, place, options) {
      try {
        await remove(place.store, place.key, options);
      } finally {
        if (isDocument(key)) arrays.invalidate(rootOf(key));
      }
    },
    list: (prefix, options) => listView(store, arrays, prefix, options),
  }) as PlainStore<S>;
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
export async function* listView(
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

/**
 * Returns where the value of a key in a view is stored, for keys of no documents;
 * `undefined` for a key outside the chunk grid of its array. Returns a promise only
 * for the first key of an array.
 */
export function placeInView(
  store: Store,
  arrays: TranslatedArrays,
  key: StoreKey,
  options?: StoreOptions,
): FoundPlace {
  options?.signal?.throwIfAborted();
  const parts = splitPlainKey(key);
  const array = parts && arrays.at(parts.root);
  const placeIn = (array: TranslatedArray | undefined) =>
    array ? array.placeOf(parts!.plainKey) : { store, key };
  return array instanceof Promise ? array.then(placeIn) : placeIn(array);
}
