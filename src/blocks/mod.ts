/**
 * Blocks of elements: the elements of an array in memory (`element_form.ts`), and the codecs
 * that decode chunks into blocks and encode chunks of blocks (`element_codecs.ts`), also those
 * of whole shards (`whole_shards.ts`).
 */
export {
  BlockMemory,
  type Box,
  coordinatesIn,
  type GridRange,
  placeIn,
  rangeOf,
} from "./boxes.ts";
export {
  changedError,
  ElementCodecs,
  type EncodedChunk,
  type ThreadsInUse,
} from "./element_codecs.ts";
export {
  describeType,
  type ElementForm,
  elementForm,
  fillBytes,
} from "./element_form.ts";
export {
  hasCodecsBesideShards,
  hasShards,
  innermostEncoding,
} from "./whole_shards.ts";
