/**
 * Zarr v3's `suffix` chunk key encoding and `concat-parts` storage transformer:
 * chunks under keys with a file extension, stored as several objects and read
 * as one.
 *
 * - {@linkcode openArrayChunks} and {@linkcode createArrayChunks}: the encoded
 *   chunks of an array by grid coordinates.
 * - {@linkcode parseChunkKeyEncoding}: which key a chunk is stored under.
 * - {@linkcode ConcatParts}: a chunk as several stored parts.
 * - {@linkcode MemoryStore}, {@linkcode FileSystemStore}, {@linkcode HttpStore}:
 *   where bytes live.
 *
 * @example An array of TIFF files with their checksums beside them
 * ```ts
 * import { createArrayChunks, MemoryStore } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const store = new MemoryStore();
 * const chunks = await createArrayChunks(store, "", {
 *   zarr_format: 3,
 *   node_type: "array",
 *   shape: [1000, 1000],
 *   data_type: "uint8",
 *   chunk_grid: { name: "regular", configuration: { chunk_shape: [500, 500] } },
 *   chunk_key_encoding: { name: "suffix", configuration: { suffix: ".tiff" } },
 *   fill_value: 0,
 *   codecs: [{ name: "bytes" }, { name: "crc32c" }],
 *   storage_transformers: [{
 *     name: "concat-parts",
 *     configuration: { parts: [{ key_suffix: "" }, { key_suffix: ".crc32c", size: 4 }] },
 *   }],
 * });
 * await chunks.set([0, 1], new Uint8Array(250_004));
 * assertEquals((await Array.fromAsync(store.list())).sort(), [
 *   "/c/0/1.tiff",
 *   "/c/0/1.tiff.crc32c",
 *   "/zarr.json",
 * ]);
 * ```
 *
 * @module
 */
export { arrayMetadata } from "./src/arrays/array_metadata.ts";
export type { ArrayMetadataOptions } from "./src/arrays/array_metadata_options.ts";
export { ArrayChunks } from "./src/arrays/array_chunks.ts";
export {
  createArrayChunks,
  openArrayChunks,
} from "./src/arrays/open_array_chunks.ts";
export { plainView } from "./src/views/plain_view.ts";
export type { PlainStore } from "./src/views/store_view.ts";
export type { ChunkKeyEncoding } from "./src/chunk_key_encoding/chunk_key_encoding.ts";
export { ChunkKeyError } from "./src/chunk_key_encoding/chunk_key_error.ts";
export { DefaultChunkKeyEncoding } from "./src/chunk_key_encoding/default_chunk_key_encoding.ts";
export { parseChunkKeyEncoding } from "./src/chunk_key_encoding/parse_chunk_key_encoding.ts";
export { registerChunkKeyEncoding } from "./src/chunk_key_encoding/registry.ts";
export { SuffixChunkKeyEncoding } from "./src/chunk_key_encoding/suffix_chunk_key_encoding.ts";
export { V2ChunkKeyEncoding } from "./src/chunk_key_encoding/v2_chunk_key_encoding.ts";
export type {
  ApplyOptions,
  ComposedStore,
} from "./src/concat_parts/composed_store.ts";
export { ConcatParts } from "./src/concat_parts/concat_parts.ts";
export { concatStream } from "./src/splitter/concat_stream.ts";
export { MissingPartError } from "./src/concat_parts/missing_part_error.ts";
export type { Part } from "./src/splitter/part.ts";
export { PartSizeError } from "./src/splitter/part_size_error.ts";
export { splitStream } from "./src/splitter/split_stream.ts";
export type {
  ConcatOptions,
  PartReport,
  SplitOptions,
  SplitReport,
} from "./src/splitter/stream_options.ts";
export { ChecksumError } from "./src/checksum/checksum_error.ts";
export { Crc32c, crc32c } from "./src/checksum/crc32c.ts";
export type { EngineName } from "./src/checksum/engine.ts";
export type {
  ArrayMetadata,
  NamedConfiguration,
  RegularChunkGrid,
} from "./src/metadata/array_metadata.ts";
export { MetadataError } from "./src/metadata/metadata_error.ts";
export { assertShardIndex } from "./src/shards/assert_shard_index.ts";
export {
  encodeShard,
  type EncodeShardOptions,
} from "./src/shards/encode_shard.ts";
export {
  readInnerChunk,
  readShardIndex,
  type ReadShardRange,
} from "./src/shards/read_inner_chunk.ts";
export {
  decodeShardIndex,
  encodeShardIndex,
  type ShardIndex,
  shardIndexSize,
} from "./src/shards/shard_index.ts";
export {
  parseShardLayout,
  type ShardLayout,
} from "./src/shards/shard_layout.ts";
export type { ByteReader, ByteWriter } from "./src/stores/byte_io.ts";
export { FileSystemStore } from "./src/stores/file_system.ts";
export { HttpStore, type HttpStoreOptions } from "./src/stores/http.ts";
export { MemoryStore } from "./src/stores/memory.ts";
export type {
  ByteRange,
  Store,
  StoreKey,
  StoreOptions,
  StoreSnapshot,
} from "./src/stores/store.ts";
