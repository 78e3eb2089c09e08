/**
 * How fast a chunk is joined as a stream from parts in memory, by each engine and
 * with nothing between: `deno task bench`
 */
import { concatStream } from "../src/splitter/concat_stream.ts";
import type { AsyncContestant } from "./measure_async.ts";
import {
  drop,
  randomBytes,
  streamOf,
  throughWasmMemory,
} from "./memory_streams.ts";
import { PARTS } from "./shard_parts.ts";
import { ENGINES, measureStreams, type StreamRow } from "./stream_rows.ts";
import { printStreamRows } from "./stream_table.ts";

/** Joins chunks of all sizes. */
export function concatRows(): Promise<StreamRow[]> {
  return measureStreams((size, hasChecksum) => {
    const parts = PARTS.split(randomBytes(size));
    const byKeySuffix = new Map(
      PARTS.parts.map(({ keySuffix }, i) => [keySuffix, parts[i]!]),
    );
    const open = ({ keySuffix }: { keySuffix: string }) =>
      streamOf(byKeySuffix.get(keySuffix)!);

    const engines = ENGINES.map((engine): AsyncContestant => ({
      name: engine,
      async run() {
        let checksum: number | undefined;
        const size = await drop(concatStream(PARTS, open, {
          engine,
          crc32c: hasChecksum ? "compute" : "none",
          onReport: (report) => checksum = report.crc32c,
        }));
        return size + (checksum ?? 0);
      },
    }));
    if (hasChecksum) return { engines, copying: [] };
    const change = throughWasmMemory();
    return {
      engines: [...engines, {
        name: "streams, not joined",
        async run() {
          let size = 0;
          for (const part of PARTS.parts) size += await drop(open(part));
          return size;
        },
      }],
      copying: [{
        name: "through Wasm memory",
        run: () => drop(concatStream(PARTS, open), change),
      }, {
        name: "ConcatParts.concat",
        run: () => Promise.resolve(PARTS.concat(parts).length),
      }],
    };
  });
}

if (import.meta.main) printStreamRows("concat", await concatRows());
