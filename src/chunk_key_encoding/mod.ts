/** The chunk key encodings, one file each, and the parser that finds one by its name in metadata. */
export type { ChunkKeyEncoding } from "./chunk_key_encoding.ts";
export { DefaultChunkKeyEncoding } from "./default_chunk_key_encoding.ts";
export { FanoutChunkKeyEncoding } from "./fanout_chunk_key_encoding.ts";
export {
  parseChunkKeyEncoding,
  registerChunkKeyEncoding,
  toChunkKeyEncoding,
} from "./parse_chunk_key_encoding.ts";
export {
  innermostEncoding,
  SuffixChunkKeyEncoding,
} from "./suffix_chunk_key_encoding.ts";
export { TemplateChunkKeyEncoding } from "./template_chunk_key_encoding.ts";
export { V2ChunkKeyEncoding } from "./v2_chunk_key_encoding.ts";
