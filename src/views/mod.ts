export type { KeyFunction, KeyTable } from "./key_mapping.ts";
export { mapKeys, type MapKeysOptions, type MappedStore } from "./map_keys.ts";
export { PLAIN, PLAIN_KEYS, plainView } from "./plain_view.ts";
export { placeInView, type PlainStore, viewStore } from "./store_view.ts";
export {
  gridCoordinates,
  isPlainKey,
  outsideGrid,
  PlainArray,
  splitPlainKey,
  type TranslatedArray,
  TranslatedArrays,
  type Translation,
} from "./translated_arrays.ts";
export {
  isAnyDocument,
  isDocument,
  rootOf,
  ViewDocuments,
} from "./view_documents.ts";
