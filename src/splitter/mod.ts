/** Splitting and joining of bytes over streams and files, natively and in Wasm. Start at `streams.ts`. */
export { type ByteSource, sourceOf } from "./sources_and_sinks.ts";
export { joinedStream } from "./joined_source.ts";
export {
  assertChunkSize,
  chunkSizes,
  type Part,
  storingOrder,
} from "./stream_options.ts";
export { Splitter } from "./splitter.ts";
export {
  type ConcatOptions,
  type EngineName,
  type PartReport,
  settingsOf,
  type SplitOptions,
  type SplitReport,
} from "./stream_options.ts";
export { concatStream, splitStream } from "./streams.ts";
