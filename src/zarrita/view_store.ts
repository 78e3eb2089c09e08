import {
  assertStoreKey,
  type Forwarding,
  forwardingStore,
  remove,
  type Store,
  toBytes,
  write,
} from "../stores/mod.ts";
import { isAnyDocument, isDocument, type StoreView } from "../views/mod.ts";

/**
 * Returns a view as a store.
 *
 * @param options `read` reads a whole chunk at its place.
 */
export function viewStore(
  view: StoreView,
  options: Required<Pick<Forwarding, "read">>,
): Store & Required<Pick<Store, "get" | "getRange" | "stream" | "size">> {
  const { store } = view;
  /** The documents as they are shown. */
  const shown: Store = {
    get: (key, options) => view.readDocument(key, options),
  };
  return forwardingStore(store, {
    placeToRead(key, options) {
      assertStoreKey(key);
      return isAnyDocument(key)
        ? { store: shown, key }
        : view.placeOf(key, options);
    },
    placeToChange(key, options) {
      assertStoreKey(key);
      return isDocument(key)
        ? { store, key }
        : view.placeToChange(key, options);
    },
    read: (place, readOptions) =>
      place.store === shown
        ? view.readDocument(place.key, readOptions)
        : options.read(place, readOptions),
    write: async (key, place, value, writeOptions) => {
      if (!isDocument(key)) {
        return await write(place.store, place.key, value, writeOptions);
      }
      const bytes = value instanceof Uint8Array
        ? value
        : await toBytes(value, writeOptions);
      const documents = view.toStore<Required<Store>>("");
      await documents.set(key, bytes, writeOptions);
    },
    delete: async (key, place, options) => {
      try {
        await remove(place.store, place.key, options);
      } finally {
        view.invalidate(key);
      }
    },
    list: (prefix, options) => view.backend.list!(prefix, options),
  });
}
