/**
 * The storage transformer `concat-parts`: its metadata (`concat_parts.ts`, `part_schema.ts`),
 * and the store of whole chunks that it makes of a store of parts (`composed_store.ts`).
 */
export {
  ChunkVersion,
  findChunkVersion,
  versionedChunk,
} from "./chunk_version.ts";
export {
  type ApplyOptions,
  applyParts,
  type ComposedStore,
} from "./composed_store.ts";
export { ConcatParts } from "./concat_parts.ts";
export {
  type FlatParts,
  flatParts,
  flattenLayers,
  ONE_OBJECT,
} from "./flat_parts.ts";
export {
  assertPartKeys,
  keySuffixes,
  sampleKeys,
  sharedKey,
} from "./part_keys.ts";
export { ListedParts, partsBackend } from "./parts_backend.ts";
export { checkConfiguration } from "./part_schema.ts";
export { readChunkRange } from "./read_chunk.ts";
export { StoredChunk } from "./stored_chunk.ts";
export { changeGroup } from "./write_chunk.ts";
