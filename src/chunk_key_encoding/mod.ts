export { type ChunkKeyEncoding } from "./chunk_key_encoding.ts";
export { DefaultChunkKeyEncoding } from "./default_chunk_key_encoding.ts";
export { FanoutChunkKeyEncoding } from "./fanout_chunk_key_encoding.ts";
export { loadEncodings } from "./load_encodings.ts";
export {
  parseChunkKeyEncoding,
  parseEncoding,
  toChunkKeyEncoding,
  useAllEncodings,
} from "./parse_chunk_key_encoding.ts";
export { registerChunkKeyEncoding } from "./registry.ts";
export {
  innermostEncoding,
  SuffixChunkKeyEncoding,
} from "./suffix_chunk_key_encoding.ts";
export { TemplateChunkKeyEncoding } from "./template_chunk_key_encoding.ts";
export { V2ChunkKeyEncoding } from "./v2_chunk_key_encoding.ts";
