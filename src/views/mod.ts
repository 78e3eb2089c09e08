/** Stores that show another store in a different form: plain arrays, and other keys. */
export {
  type KeyTable,
  mapKeys,
  type MapKeysOptions,
  type MappedStore,
} from "./map_keys.ts";
export {
  isAnyDocument,
  PLAIN,
  PLAIN_KEYS,
  type PlainStore,
  plainView,
  StoreView,
} from "./plain_view.ts";
export {
  PlainArray,
  splitPlainKey,
  type TranslatedArrays,
  type Translation,
} from "./translated_arrays.ts";
export { type ComposedDocument, composeV2Document, v2View } from "./v2_view.ts";
export type { Place } from "./view_backend.ts";
