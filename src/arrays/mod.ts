export { ArrayChunks } from "./array_chunks.ts";
export {
  arrayRoot,
  ArrayStorage,
  chunksOfGrid,
  countOfGrid,
  storageOf,
  unsizedPart,
} from "./array_storage.ts";
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
export {
  assertShardInGrid,
  parseShardFiles,
  type ShardFiles,
  withFileRecord,
} from "./shard_files.ts";
export {
  assertShare,
  chunksOfShare,
  countInShare,
  hash,
  isInShare,
  type Share,
} from "./share.ts";
export {
  isBesideDocument,
  isV2Document,
  readV2Document,
  V2_DOCUMENTS,
  withoutV2Nodes,
} from "./v2_documents.ts";
export type { SetChunkOptions } from "./whole_shards.ts";
