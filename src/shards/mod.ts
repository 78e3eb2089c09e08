/**
 * Shards: the codec `sharding_indexed` (`shard_layout.ts`), indexes (`shard_index.ts`), and
 * inner chunks that are read and changed (`inner_chunks.ts`). `ShardReader` reads them by
 * an `IndexCache` and `RangeBatches`.
 */
export type { ChangesOf } from "./change_shard.ts";
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
export { type ChunkBase, InnerChunks } from "./inner_chunks.ts";
export { assertOtherBytes } from "./other_bytes.ts";
export type { ShardBody } from "./range_batches.ts";
export { readInnerChunk } from "./read_inner_chunk.ts";
export { deleteShard, setShard, type ShardPlace } from "./replace_shard.ts";
export { ShardChanges } from "./shard_changes.ts";
export {
  assertExtents,
  assertShardIndex,
  decodeShardIndex,
  encodeShardIndex,
  type Extent,
  readShardIndex,
  type ReadShardRange,
  type ShardIndex,
  shardIndexSize,
} from "./shard_index.ts";
export {
  type InnerPath,
  parseShardLayout,
  type ShardLayout,
} from "./shard_layout.ts";
export { coordinatesInShard, placeInShard } from "./shard_reader.ts";
