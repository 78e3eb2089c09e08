/** Splitting and joining of bytes over streams and files, natively and in Wasm. Start at `streams.ts`. */
export { type ByteSource, sourceOf } from "./sources_and_sinks.ts";
export { joinedStream } from "./joined_source.ts";
export { Splitter } from "./splitter.ts";
export {
  assertChunkSize,
  chunkSizes,
  type ConcatOptions,
  type EngineName,
  type Part,
  type PartReport,
  settingsOf,
  type SplitOptions,
  type SplitReport,
  storingOrder,
} from "./stream_options.ts";
export { concatStream, splitStream } from "./streams.ts";
