/**
 * What stores of chunks in parts do beyond reading whole chunks and ranges. Loaded
 * on first use.
 */
export { deleteChunk, writeChunk } from "./change_parts.ts";
export { listChunks } from "./list_chunks.ts";
export { storeStream } from "./store_stream.ts";
export { streamChunk } from "./stream_chunk.ts";
