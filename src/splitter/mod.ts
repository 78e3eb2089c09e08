/** Splitting and joining of bytes over streams and files, natively and in Wasm. Start at `streams.ts`. */
export { type ByteSink, PartSinks, sinkOf } from "./byte_sink.ts";
export { type ByteSource, sourceOf } from "./byte_source.ts";
export type { EngineName } from "./engine.ts";
export { JoinedSource, joinedStream } from "./joined_source.ts";
export { openNative } from "./native_splitter.ts";
export { type Part, type Splitter, storingOrder } from "./splitter.ts";
export {
  assertChunkSize,
  chunkSizes,
  type ConcatOptions,
  type PartReport,
  refuseLength,
  settingsOf,
  type SplitOptions,
  type SplitReport,
  startSplitter,
} from "./stream_options.ts";
export { concatStream, splitSource, splitStream } from "./streams.ts";
