import { isBesideDocument, isV2Document } from "../arrays/v2_documents.ts";
import { describe } from "../metadata/describe.ts";
import { listView } from "./list_view.ts";
import { outsideGrid } from "./plain_array.ts";
import { assertByteRange, resolveByteRange } from "../stores/byte_range.ts";
import {
  readRange,
  readSize,
  readStream,
  readValue,
  remove,
  write,
} from "../stores/capabilities.ts";
import { copyBytes } from "../stores/copy_bytes.ts";
import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";
import { assertValue, discard } from "../stores/given_value.ts";
import { abortable, toBytes, toStream } from "../stores/stream.ts";
import { TranslatedArrays } from "./translated_arrays.ts";
import { type Place, splitPlainKey, type Translation } from "./translation.ts";
import { placeInView } from "./place_in_view.ts";
import {
  isAnyDocument,
  isDocument,
  rootOf,
  ViewDocuments,
} from "./view_documents.ts";
import { writeViewDocument } from "./write_view_document.ts";

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
