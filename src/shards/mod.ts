export {
  assertFirstBytes,
  encodeShard,
  type EncodeShardOptions,
  type ShardContainer,
} from "./encode_shard.ts";
export {
  assertFileSize,
  decodeFileRecord,
  encodeFileRecord,
  FILE_RECORD_SIZE,
  type FileRecord,
} from "./file_record.ts";
export {
  type ChunkBase,
  InnerChunks,
  InnerChunkStore,
  isBase,
} from "./inner_chunks.ts";
export {
  coordinatesInShard,
  type Extent,
  type InnerPath,
} from "./inner_extents.ts";
export {
  assertOtherBytes,
  findFirstBytes,
  FirstBytes,
  mayHaveRecords,
  otherBytesLost,
  readFirstBytes,
  type StoredShard,
} from "./other_bytes.ts";
export type { ShardBody } from "./range_batches.ts";
export {
  placeInShard,
  readInnerChunk,
  readShardIndex,
  type ReadShardRange,
} from "./read_inner_chunk.ts";
export { ShardChanges } from "./shard_changes.ts";
export {
  assertExtents,
  assertShardIndex,
  decodeShardIndex,
  encodeShardIndex,
  type ShardIndex,
  shardIndexSize,
} from "./shard_index.ts";
export { parseShardLayout, type ShardLayout } from "./shard_layout.ts";
export type { ChangesOf } from "./shard_writer.ts";
