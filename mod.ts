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
 * - {@linkcode v2View}: Zarr v2 arrays, shown as Zarr v3.
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

export {
  ArrayChunks,
  arrayMetadata,
  type ArrayMetadataOptions,
  createArrayChunks,
  openArrayChunks,
  type SetChunkOptions,
} from "./src/arrays/mod.ts";
export { Crc32c, crc32c } from "./src/checksum/mod.ts";
export {
  type ChunkKeyEncoding,
  DefaultChunkKeyEncoding,
  FanoutChunkKeyEncoding,
  parseChunkKeyEncoding,
  registerChunkKeyEncoding,
  SuffixChunkKeyEncoding,
  TemplateChunkKeyEncoding,
  V2ChunkKeyEncoding,
} from "./src/chunk_key_encoding/mod.ts";
export {
  type ApplyOptions,
  type ComposedStore,
  ConcatParts,
} from "./src/concat_parts/mod.ts";
export {
  ChecksumError,
  ChunkKeyError,
  DamageError,
  MetadataError,
  MissingPartError,
  OtherBytesError,
  PartSizeError,
  PendingWriteError,
  SizeLimitError,
  UnfinishedWriteError,
} from "./src/errors/mod.ts";
export type {
  ArrayMetadata,
  ConvertV2Options,
  NamedConfiguration,
  RegularChunkGrid,
} from "./src/metadata/mod.ts";
export {
  assertShardIndex,
  decodeShardIndex,
  encodeShard,
  encodeShardIndex,
  type EncodeShardOptions,
  parseShardLayout,
  readInnerChunk,
  readShardIndex,
  type ReadShardRange,
  type ShardContainer,
  type ShardIndex,
  shardIndexSize,
  type ShardLayout,
} from "./src/shards/mod.ts";
export {
  type ConcatOptions,
  concatStream,
  type EngineName,
  type Part,
  type PartReport,
  type SplitOptions,
  type SplitReport,
  splitStream,
} from "./src/splitter/mod.ts";
export {
  type Backend,
  BaseStore,
  BaseWritableStore,
  type ByteRange,
  type ByteReader,
  type ByteWriter,
  type ChangeOptions,
  FileSystemStore,
  type FileSystemStoreOptions,
  type GetOptions,
  HttpStore,
  type HttpStoreOptions,
  MemoryStore,
  type PendingValues,
  type ReadOptions,
  recover,
  type RecoverOptions,
  type Recovery,
  type Snapshot,
  type Store,
  type StoreKey,
  type StoreOptions,
  type StoreVersion,
  type Update,
  type ValuesOptions,
} from "./src/stores/mod.ts";
export {
  type KeyTable,
  mapKeys,
  type MapKeysOptions,
  type MappedStore,
  type PlainStore,
  plainView,
  v2View,
} from "./src/views/mod.ts";
