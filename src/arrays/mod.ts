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
