/**
 * Arrays: the metadata of a new one (`compose_metadata.ts`), what parsed metadata says of
 * keys and parts (`array_storage.ts`), and the encoded chunks of an opened one by their grid
 * coordinates (`open_array_chunks.ts`, `array_chunks.ts`).
 */
export { ArrayChunks, type SetChunkOptions } from "./array_chunks.ts";
export {
  arrayRoot,
  ArrayStorage,
  storageOf,
  unsizedPart,
} from "./array_storage.ts";
export {
  assertShare,
  ChunkList,
  chunksOfGrid,
  compareChunks,
  countOfGrid,
  hash,
  isInShare,
  type Share,
} from "./chunk_grid.ts";
export { assertPortableKeys, completeMetadata } from "./complete_metadata.ts";
export {
  arrayMetadata,
  type ArrayMetadataOptions,
} from "./compose_metadata.ts";
export { missingArray } from "./missing_array.ts";
export {
  createArrayChunks,
  openArrayChunks,
  readDocument,
} from "./open_array_chunks.ts";
export { assertIndexPart, resolveParts } from "./part_notation.ts";
