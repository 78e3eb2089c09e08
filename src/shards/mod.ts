/**
 * Shards: the codec `sharding_indexed` (`shard_layout.ts`), indexes (`shard_index.ts`), and
 * inner chunks that are read (`shard_reader.ts`) and changed (`shard_writer.ts`). A shard is
 * a value of a backend; in which objects it is stored is not known here.
 */
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
  mayHaveRecords,
} from "./file_record.ts";
export { readInnerChunk } from "./read_shard.ts";
export {
  assertExtents,
  assertShardIndex,
  coordinatesInShard,
  decodeShardIndex,
  encodeShardIndex,
  type Extent,
  placeInShard,
  readShardIndex,
  type ReadShardRange,
  type ShardIndex,
  shardIndexSize,
} from "./shard_index.ts";
export {
  type InnerPath,
  parseShardLayout,
  type ShardForm,
  type ShardLayout,
} from "./shard_layout.ts";
export { ShardReader } from "./shard_reader.ts";
export {
  assertOtherBytes,
  type ChangesOf,
  setShard,
  ShardWriter,
} from "./shard_writer.ts";
export {
  type ChunkBytes,
  decodeShard,
  innerChunksOf,
  readIndex,
} from "./read_shard.ts";
