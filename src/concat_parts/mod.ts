/**
 * The storage transformer `concat-parts`: its metadata (`concat_parts.ts`, `part_schema.ts`,
 * `part_keys.ts`), and the backend of whole chunks over one of their parts
 * (`parts_backend.ts`), which is arithmetic: which bytes of a chunk lie where in which part.
 */
export {
  type ApplyOptions,
  type ComposedStore,
  ConcatParts,
} from "./concat_parts.ts";
export {
  assertPartKeys,
  type FlatPart,
  flatParts,
  sampleKeys,
} from "./part_keys.ts";
export { checkConfiguration } from "./concat_parts.ts";
export { ListedParts, partsBackend } from "./parts_backend.ts";
