export { type ChunkRows, chunkRows, keyOf, noteKey } from "./codec.ts";
export { decodedLength, isSized } from "./decoded_length.ts";
export { withEncodingThreads } from "./encode_natively.ts";
export { numberAt, segments } from "./jpeg/decode_jpeg.ts";
export { isFrameMarker, refusalOf } from "./jpeg/frame.ts";
export { readHuffman, readQuantization } from "./jpeg/tables.ts";
export { type CodecRegistry, registerCodecs } from "./register_codecs.ts";
