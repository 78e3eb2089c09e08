import { isBesideDocument, isV2Document } from "../arrays/mod.ts";
import { DamageError, describe, MetadataError } from "../errors/mod.ts";
import { copyBytes } from "../runtime/mod.ts";
import {
  abortable,
  assertByteRange,
  assertStorePrefix,
  assertValue,
  discard,
  readRange,
  readSize,
  readStream,
  readValue,
  remove,
  resolveByteRange,
  type Store,
  type StoreKey,
  type StoreOptions,
  toBytes,
  toStream,
  write,
} from "../stores/mod.ts";
import { TranslatedArrays } from "./translated_arrays.ts";
import {
  outsideGrid,
  type Place,
  splitPlainKey,
  type TranslatedArray,
  type Translation,
} from "./translation.ts";
import {
  isAnyDocument,
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
 * @param options `arrays`: the store's arrays under the translation; `read`: reads a
 * whole value at its place; `writeTo`: stores the value of a key at its place.
 */
export function viewStore<S extends Store>(
  store: S,
  translation: Translation,
  {
    arrays = new TranslatedArrays(store, translation),
    read = readPlace,
    writeTo = writePlace,
  }: {
    arrays?: TranslatedArrays;
    read?: typeof readPlace;
    writeTo?: typeof writePlace;
  } = {},
): PlainStore<S> {
  const documents = new ViewDocuments(store, translation, arrays);

  const placeOf = (key: StoreKey, options: StoreOptions | undefined) =>
    placeInView(store, arrays, key, options);

  /** Returns the place of a value to change, and refuses keys outside the chunk grid. */
  async function placeToChange(
    key: StoreKey,
    options: StoreOptions | undefined,
  ): Promise<Place> {
    options?.signal?.throwIfAborted();
    const parts = splitPlainKey(key);
    const array = parts && await arrays.at(parts.root);
    if (array === undefined) return { store, key };
    const place = array.placeOf(parts!.plainKey);
    if (place === undefined) throw outsideGrid(parts!.plainKey, array);
    return place;
  }

  const reading: Required<Pick<Store, "get" | "getRange" | "stream" | "size">> =
    {
      // Not an async function, since each promise counts for small chunks.
      get(key, options) {
        try {
          if (isAnyDocument(key)) return documents.read(key, options);
          const place = placeOf(key, options);
          return place instanceof Promise
            ? place.then((place) => place && read(place, options))
            : place
            ? read(place, options)
            : Promise.resolve(undefined);
        } catch (error) {
          return Promise.reject(error);
        }
      },
      async getRange(key, range, options) {
        assertByteRange(range);
        if (isAnyDocument(key)) {
          const bytes = await documents.read(key, options);
          if (bytes === undefined) return undefined;
          const { start, end } = resolveByteRange(range, bytes.length);
          return copyBytes(bytes, start, end);
        }
        const place = await placeOf(key, options);
        return place && await readRange(place.store, place.key, range, options);
      },
      async stream(key, options) {
        if (isAnyDocument(key)) {
          const bytes = await documents.read(key, options);
          return bytes && abortable(toStream(bytes), options?.signal);
        }
        const place = await placeOf(key, options);
        return place && await readStream(place.store, place.key, options);
      },
      async size(key, options) {
        if (isAnyDocument(key)) {
          return (await documents.read(key, options))?.length;
        }
        const place = await placeOf(key, options);
        return place && await readSize(place.store, place.key, options);
      },
    };

  const changing: Pick<Store, "set" | "delete" | "list"> = {};
  if (store.set) {
    changing.set = async (key, value, options) => {
      try {
        assertValue(value);
        if (isDocument(key)) {
          const bytes = value instanceof Uint8Array
            ? value
            : await toBytes(value, options);
          const view = { store, translation, arrays };
          return await writeViewDocument(view, key, bytes, options);
        }
        await assertShown(store, key, options);
        const place = await placeToChange(key, options);
        await writeTo(key, place, value, options);
      } catch (error) {
        await discard(value, error);
        throw error;
      }
    };
  }
  if (store.delete) {
    changing.delete = async (key, options) => {
      const place = isDocument(key)
        ? { store, key }
        : await placeToChange(key, options);
      try {
        await remove(place.store, place.key, options);
      } finally {
        if (isDocument(key)) arrays.invalidate(rootOf(key));
      }
    };
  }
  if (store.list) {
    changing.list = (prefix = "/", options) =>
      listView(store, arrays, prefix, options);
  }
  return { ...reading, ...changing } as PlainStore<S>;
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

function readPlace(
  { store, key }: Place,
  options: StoreOptions | undefined,
): Promise<Uint8Array | undefined> {
  return readValue(store, key, options);
}

function writePlace(
  _key: StoreKey,
  { store, key }: Place,
  value: Uint8Array | ReadableStream<Uint8Array>,
  options: StoreOptions | undefined,
): Promise<void> {
  return write(store, key, value, options);
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
): Place | undefined | Promise<Place | undefined> {
  options?.signal?.throwIfAborted();
  const parts = splitPlainKey(key);
  const array = parts && arrays.at(parts.root);
  const placeIn = (array: TranslatedArray | undefined) =>
    array ? array.placeOf(parts!.plainKey) : { store, key };
  return array instanceof Promise ? array.then(placeIn) : placeIn(array);
}
