/**
 * How fast a chunk in memory is cut into its parts as a stream, by each engine and
 * with nothing between: `deno task bench`
 */
import { splitStream } from "../src/splitter/split_stream.ts";
import type { AsyncContestant } from "./measure_async.ts";
import {
  Drop,
  randomBytes,
  streamOf,
  throughWasmMemory,
} from "./memory_streams.ts";
import { PARTS } from "./shard_parts.ts";
import {
  ENGINES,
  measureStreams,
  type StreamRow,
  WHOLE_SPLIT,
} from "./stream_rows.ts";
import { printStreamRows } from "./stream_table.ts";

/** Splits chunks of all sizes. */
export function splitRows(): Promise<StreamRow[]> {
  return measureStreams((size, hasChecksum) => {
    const chunk = randomBytes(size);
    const engines = ENGINES.map((engine): AsyncContestant => ({
      name: engine,
      async run() {
        const { size, crc32c } = await splitStream(
          streamOf(chunk),
          PARTS,
          () => new Drop(),
          { engine, crc32c: hasChecksum ? "compute" : "none" },
        );
        return crc32c ?? size;
      },
    }));
    return hasChecksum
      ? { engines, copying: [] }
      : { engines: [...engines, ...uncut(chunk)], copying: [inWasm(chunk)] };
  });
}

/** What the streams take by themselves, and what there is without streams. */
function uncut(chunk: Uint8Array): AsyncContestant[] {
  return [
    {
      name: "pipeTo, not cut",
      async run() {
        const sink = new Drop();
        await streamOf(chunk).pipeTo(sink);
        return sink.size;
      },
    },
    {
      name: WHOLE_SPLIT,
      run() {
        const parts = PARTS.split(chunk);
        return Promise.resolve(
          parts.reduce((size, { length }) => size + length, 0),
        );
      },
    },
  ];
}

function inWasm(chunk: Uint8Array): AsyncContestant {
  const change = throughWasmMemory();
  return {
    name: "through Wasm memory",
    async run() {
      const { size } = await splitStream(
        streamOf(chunk),
        PARTS,
        () => new Drop(change),
      );
      return size;
    },
  };
}

if (import.meta.main) printStreamRows("split", await splitRows());
