/** Codecs for zarrita, by `registerCodecs` and `loadCodec`, independent of stores. */
export { TYPED_ARRAYS } from "./cast_elements.ts";
export {
  type BytesEntry,
  type Chunk,
  type ChunkMetadata,
  type ChunkRows,
  chunkRows,
  type CodecEntry,
  keyOf,
  noteKey,
  rowsOf,
} from "./codec.ts";
export {
  type ChunkEncoding,
  type Codecs,
  decodeChunk,
} from "./decode_chunk.ts";
export { decodedLength, MOST_DECODED, storedForm } from "./decoded_length.ts";
export { stridesOf, transposeOrder } from "./element_bytes.ts";
export { encodeStored } from "./encode_stored.ts";
export { findJpegHeader, readJpegTables } from "./jpeg/segments.ts";
export { namedCodec, SHORT_NAMES } from "./named_codec.ts";
export {
  type CodecRegistry,
  loadCodec,
  registerCodecs,
} from "./register_codecs.ts";
