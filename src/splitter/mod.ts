/** Splitting and joining of bytes over streams and files, natively and in Wasm. Start at `streams.ts`. */
export { type ByteSink, PartSinks, sinkOf } from "./byte_sink.ts";
export { type ByteSource, sourceOf } from "./byte_source.ts";
export type { EngineName } from "./engine.ts";
export { JoinedSource, joinedStream } from "./joined_source.ts";
export { openNative } from "./native_engine.ts";
export {
  assertChunkSize,
  chunkSizes,
  type Part,
  storingOrder,
} from "./parts.ts";
export { Splitter } from "./splitter.ts";
export {
  type ConcatOptions,
  type PartReport,
  settingsOf,
  type SplitOptions,
  type SplitReport,
} from "./stream_options.ts";
export { concatStream, splitSource, splitStream } from "./streams.ts";
