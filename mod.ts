/**
 * Zarr v3 arrays whose chunks have a file extension and are stored as several
 * files, which read as one: the `suffix` chunk key encoding and the `concat-parts`
 * storage transformer.
 *
 * - {@linkcode arrayMetadata}, {@linkcode createArrayChunks} and
 *   {@linkcode openArrayChunks}: the encoded chunks of an array by grid
 *   coordinates. `withZarrParts` in `./zarrita` reads and writes elements.
 * - {@linkcode ConcatParts}, {@linkcode splitStream} and {@linkcode concatStream}:
 *   a chunk as several parts, in memory, in a store, and as streams and files.
 * - {@linkcode parseChunkKeyEncoding}: the key that a chunk is stored under.
 * - {@linkcode plainView}: a store for programs that know neither extension.
 * - {@linkcode MemoryStore}, {@linkcode FileSystemStore}, {@linkcode HttpStore}:
 *   where bytes are stored.
 *
 * @example Chunks with their checksums in files of their own
 * ```ts
 * import { arrayMetadata, crc32c, createArrayChunks, MemoryStore } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const store = new MemoryStore();
 * const metadata = arrayMetadata({
 *   shape: [1000, 1000],
 *   dataType: "uint8",
 *   chunkShape: [500, 500],
 *   codecs: ["crc32c"],
 *   suffix: ".raw",
 *   parts: ["", ".crc32c"],
 * });
 * const chunks = await createArrayChunks(store, "", metadata);
 *
 * const chunk = new Uint8Array(250_004).fill(42, 0, 250_000);
 * const checksum = crc32c(chunk.subarray(0, 250_000));
 * new DataView(chunk.buffer).setUint32(250_000, checksum, true);
 * await chunks.set([0, 1], chunk);
 *
 * assertEquals((await Array.fromAsync(store.list())).sort(), [
 *   "/c/0/1.raw",
 *   "/c/0/1.raw.crc32c",
 *   "/zarr.json",
 * ]);
 * ```
 *
 * @module
 */
export { arrayMetadata } from "./src/arrays/array_metadata.ts";
export type { ArrayMetadataOptions } from "./src/arrays/array_metadata_options.ts";
export { ArrayChunks } from "./src/arrays/array_chunks.ts";
export type { SetChunkOptions } from "./src/arrays/set_chunk_options.ts";
export {
  createArrayChunks,
  openArrayChunks,
} from "./src/arrays/open_array_chunks.ts";
export {
  mapKeys,
  type MapKeysOptions,
  type MappedStore,
} from "./src/views/map_keys.ts";
export type { KeyFunction, KeyTable } from "./src/views/key_mapping.ts";
export { plainView } from "./src/views/plain_view.ts";
export type { PlainStore } from "./src/views/store_view.ts";
export type { ChunkKeyEncoding } from "./src/chunk_key_encoding/chunk_key_encoding.ts";
export { ChunkKeyError } from "./src/chunk_key_encoding/chunk_key_error.ts";
export { DefaultChunkKeyEncoding } from "./src/chunk_key_encoding/default_chunk_key_encoding.ts";
export { FanoutChunkKeyEncoding } from "./src/chunk_key_encoding/fanout_chunk_key_encoding.ts";
export { parseChunkKeyEncoding } from "./src/chunk_key_encoding/parse_chunk_key_encoding.ts";
export { registerChunkKeyEncoding } from "./src/chunk_key_encoding/registry.ts";
export { SuffixChunkKeyEncoding } from "./src/chunk_key_encoding/suffix_chunk_key_encoding.ts";
export { TemplateChunkKeyEncoding } from "./src/chunk_key_encoding/template_chunk_key_encoding.ts";
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
export { DamageError } from "./src/errors/damage_error.ts";
export { ChecksumError } from "./src/checksum/checksum_error.ts";
export { Crc32c, crc32c } from "./src/checksum/crc32c.ts";
export type { EngineName } from "./src/splitter/engine.ts";
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
export { OtherBytesError } from "./src/shards/other_bytes_error.ts";
export type { ShardContainer } from "./src/shards/shard_container.ts";
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
export {
  FileSystemStore,
  type FileSystemStoreOptions,
} from "./src/stores/file_system/file_system_store.ts";
export { HttpStore } from "./src/stores/http/http_store.ts";
export type { HttpStoreOptions } from "./src/stores/http/requests.ts";
export { WritableHttpStore } from "./src/stores/http/writable_http_store.ts";
export { MemoryStore } from "./src/stores/memory_store.ts";
export { PendingWriteError } from "./src/stores/pending_write_error.ts";
export { SizeLimitError } from "./src/stores/size_limit_error.ts";
export type {
  ByteRange,
  GetOptions,
  Store,
  StoreKey,
  StoreOptions,
} from "./src/stores/store.ts";
export type {
  GroupValues,
  GroupWriter,
  StoreGroup,
  StoreVersion,
} from "./src/stores/store_group.ts";
export { UnfinishedWriteError } from "./src/stores/unfinished_write_error.ts";
export {
  recover,
  type RecoverOptions,
  type Recovery,
} from "./src/stores/recover.ts";
