/**
 * The storage transformer `concat-parts`: its metadata and the backend of whole chunks over
 * one of their parts (`concat_parts.ts`), the keys of parts (`part_keys.ts`), and which bytes
 * of a chunk lie where in which part (`read_parts.ts`).
 */
export {
  type ApplyOptions,
  checkConfiguration,
  type ComposedStore,
  ConcatParts,
  ListedParts,
  partsBackend,
} from "./concat_parts.ts";
export {
  assertPartKeys,
  type FlatPart,
  flatParts,
  sampleKeys,
} from "./part_keys.ts";
export { sizeTogether } from "./read_parts.ts";
