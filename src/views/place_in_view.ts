import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";
import type { TranslatedArrays } from "./translated_arrays.ts";
import {
  type Place,
  splitPlainKey,
  type TranslatedArray,
} from "./translation.ts";

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
