/**
 * What stores of chunks in parts do beyond reading whole chunks and ranges. Loaded
 * on first use.
 */
export { ChunkWriter } from "./chunk_writer.ts";
export { listChunks } from "./list_chunks.ts";
export { storeStream } from "./store_stream.ts";
export { streamChunk } from "./stream_chunk.ts";
export { deleteChunk, writeChunk } from "./write_chunk.ts";
