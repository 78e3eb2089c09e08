/**
 * Blocks of elements: the encoded chunks of an array (`encoded_chunks.ts`), the codecs that
 * decode them into blocks and encode chunks of blocks (`element_codecs.ts`), also those of
 * whole shards (`whole_shards.ts`), and blocks that are read (`read_block.ts`) and written
 * (`write_block.ts`).
 */
export {
  changedError,
  ElementCodecs,
  undecodedError,
} from "./element_codecs.ts";
export {
  describeType,
  type ElementForm,
  elementForm,
  fillBytes,
} from "./element_form.ts";
export {
  type ChunkDivision,
  EncodedChunks,
  innermostChunks,
  wholeChunks,
} from "./encoded_chunks.ts";
export {
  type ChunkPiece,
  type ChunkSource,
  type FoundChunk,
  readBlock,
  readChunks,
} from "./read_block.ts";
export {
  blockOf,
  chunkOf,
  type Run,
  type Section,
  sectionsIn,
  sectionsOf,
} from "./sections.ts";
export {
  forEachStored,
  placeOf,
  writeBlock,
  type WrittenChunk,
} from "./write_block.ts";
export { innermostEncoding } from "./whole_shards.ts";
