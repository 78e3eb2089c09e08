import { sizeText } from "./crc32c_table.ts";
import type { Timing } from "./measure_async.ts";
import {
  ENGINES,
  NOISE,
  type StreamRow,
  verdict,
  WHOLE_SPLIT,
} from "./stream_rows.ts";
import { type Table, textOf } from "./table.ts";

/** What the tables do not say themselves. */
export const STREAM_NOTE =
  `Medians, in GB/s; pieces of 64 KiB. \`auto\` is level with the fastest engine where its median is within ${
    100 * NOISE
  } % of that one's, or the middle halves of their times overlap. Without CRC32C all engines run the same code: no byte is touched.`;

/** Two tables: without and with checksum. */
export function streamTables(
  task: string,
  rows: readonly StreamRow[],
): Table[] {
  return [false, true].map((hasChecksum) => {
    const shown = rows.filter((row) => row.hasChecksum === hasChecksum);
    const names = shown[0]!.timings.map(({ name }) => name);
    return {
      title: `${task}, ${hasChecksum ? "with" : "without"} CRC32C`,
      head: ["Chunk", ...names, "Wins", "`auto` / fastest"],
      rows: shown.map((row) => {
        const { winners, ratio, isLevel } = verdict(row);
        return [
          sizeText(row.size),
          ...row.timings.map((timing) => speedText(row.size, timing)),
          winners.length === ENGINES.length ? "none" : winners.join(", "),
          `${ratio.toFixed(2)} ${isLevel ? "level" : "SLOWER"}`,
        ];
      }),
    };
  });
}

/** Prints both tables. */
export function printStreamRows(
  task: string,
  rows: readonly StreamRow[],
): void {
  for (const table of streamTables(task, rows)) console.log(textOf(table));
  console.log(`${STREAM_NOTE}\n`);
}

/** GB/s; or a time, where that does not depend on the size. */
function speedText(size: number, { name, median }: Timing): string {
  return name === WHOLE_SPLIT
    ? `${(median * 1000).toFixed(1)} µs`
    : (size / median / 1e6).toFixed(2);
}
