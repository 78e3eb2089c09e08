/** The operations of composed stores on chunks. Loaded on first use. */
export { composedGroup } from "./composed_group.ts";
export { Composition } from "./composition.ts";
export { listChunks } from "./list_chunks.ts";
export { readChunk, readChunkSize } from "./read_chunk.ts";
export { readChunkRange } from "./read_chunk_range.ts";
export { storeStream } from "./store_stream.ts";
export { streamChunk } from "./stream_chunk.ts";
export { deleteChunk, writeChunk } from "./write_chunk.ts";
