/**
 * Arrays: the metadata of a new one (`compose_metadata.ts`), what metadata says
 * (`parsed_array.ts`, `parse_array.ts`), and the encoded chunks of an opened one by their
 * grid coordinates (`array_chunks.ts`).
 */
export {
  ArrayChunks,
  createArrayChunks,
  openArrayChunks,
  parsedArrayOf,
  type SetChunkOptions,
} from "./array_chunks.ts";
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
export {
  arrayMetadata,
  type ArrayMetadataOptions,
} from "./compose_metadata.ts";
export { assertStorable, parseArray } from "./parse_array.ts";
export {
  type ChunkLevel,
  chunksOf,
  isInGrid,
  mostBytes,
  type ParsedArray,
  shardFormOf,
  shardOf,
  unsizedPart,
} from "./parsed_array.ts";
export { resolveParts } from "./part_notation.ts";
export {
  arrayRoot,
  documentIn,
  hasDocument,
  missingArray,
  readDocument,
} from "./read_document.ts";
export {
  assertShardInGrid,
  type FileRecoding,
  LARGEST_FILE,
  parseShardFiles,
  RECODING_RULES,
  type ShardFiles,
  type StoredEncoding,
  storedEncoding,
  withFileRecord,
  withoutStorage,
} from "./shard_files.ts";
