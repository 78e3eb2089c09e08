/** The chunk key encodings, and the parser that finds one by its name in metadata. */
export {
  type ChunkKeyEncoding,
  DefaultChunkKeyEncoding,
  innermostEncoding,
  SuffixChunkKeyEncoding,
  V2ChunkKeyEncoding,
} from "./chunk_key_encoding.ts";
export { FanoutChunkKeyEncoding } from "./fanout_chunk_key_encoding.ts";
export {
  isOwnEncoding,
  parseChunkKeyEncoding,
  registerChunkKeyEncoding,
  toChunkKeyEncoding,
} from "./parse_chunk_key_encoding.ts";
export { TemplateChunkKeyEncoding } from "./template_chunk_key_encoding.ts";
