/**
 * Measures what the README shows, and writes it as charts and tables into
 * `bench/results/`: `deno task bench:results`
 */
import { deno } from "../tools/deno.ts";
import { drawChart, type Panel } from "./chart.ts";
import { concatRows } from "./concat.ts";
import { type Crc32cRow, measureCrc32c } from "./crc32c.ts";
import { isMet, sizeText } from "./crc32c_table.ts";
import { describeMachine } from "./machine.ts";
import { splitRows } from "./split.ts";
import { type StreamRow, WHOLE_SPLIT } from "./stream_rows.ts";
import { STREAM_NOTE, streamTables } from "./stream_table.ts";
import { markdownOf, type Table } from "./table.ts";

const FOLDER = new URL("results/", import.meta.url);

const checksums = await measureCrc32c();
const splits = await splitRows();
const joins = await concatRows();

await Deno.mkdir(FOLDER, { recursive: true });
await write(
  "crc32c.svg",
  drawChart("CRC32C of data in memory, in GB/s", [crc32cPanel(checksums)]),
);
await write(
  "split.svg",
  drawChart("splitStream in memory, in GB/s", streamPanels(splits)),
);
await write(
  "concat.svg",
  drawChart("concatStream in memory, in GB/s", streamPanels(joins)),
);
await write(
  "results.md",
  [
    "# Results",
    "",
    `Written by \`deno task bench:results\` on ${
      new Date().toISOString().slice(0, 10)
    }:`,
    "",
    ...(await describeMachine()).map((line) => `- ${line}`),
    "",
    markdownOf(crc32cTable(checksums)),
    "Medians, in GB/s of 10^9 bytes, of data in an ordinary `Uint8Array`: the copy into Wasm memory is included.",
    "",
    "![CRC32C](crc32c.svg)",
    "",
    ...streamTables("`splitStream` in memory", splits).map(markdownOf),
    STREAM_NOTE,
    "",
    "![splitStream](split.svg)",
    "",
    ...streamTables("`concatStream` in memory", joins).map(markdownOf),
    STREAM_NOTE,
    "",
    "![concatStream](concat.svg)",
  ].join("\n"),
);
await deno(["fmt", "--quiet", FOLDER.pathname], { output: "inherit" });

async function write(name: string, text: string): Promise<void> {
  await Deno.writeTextFile(new URL(name, FOLDER), `${text}\n`);
  console.log(`Wrote bench/results/${name}`);
}

function crc32cTable(rows: readonly Crc32cRow[]): Table {
  const names = rows[0]!.speeds.map(({ name }) => name);
  return {
    title: "CRC32C",
    head: ["Data", ...names, "Targets"],
    rows: rows.map(({ size, speeds }) => [
      sizeText(size),
      ...speeds.map(({ gigabytesPerSecond }) =>
        gigabytesPerSecond?.toFixed(2) ?? "cannot run"
      ),
      speeds.filter(({ target }) => target !== undefined).map((speed) =>
        `${speed.ratio?.toFixed(1)} x ${speed.name} (${speed.target} x ${
          isMet(speed) ? "met" : "missed"
        })`
      ).join(", "),
    ]),
  };
}

function crc32cPanel(rows: readonly Crc32cRow[]): Panel {
  return {
    title: "data in an ordinary Uint8Array, the copy into Wasm memory included",
    series: rows[0]!.speeds.map(({ name }, i) => ({
      name,
      isOurs: i < 2,
      points: rows.flatMap(({ size, speeds }) => {
        const speed = speeds[i]!.gigabytesPerSecond;
        return speed === undefined ? [] : [[size, speed] as const];
      }),
    })),
  };
}

function streamPanels(rows: readonly StreamRow[]): Panel[] {
  return [false, true].map((hasChecksum) => {
    const shown = rows.filter((row) => row.hasChecksum === hasChecksum);
    return {
      title: hasChecksum
        ? "with CRC32C"
        : "without CRC32C: nothing is copied, and all engines are the same",
      series: shown[0]!.timings.map(({ name }, i) => ({
        name,
        isOurs: name === "auto",
        points: shown.map(({ size, timings }) =>
          [size, size / timings[i]!.median / 1e6] as const
        ),
      })).filter(({ name }) => name !== WHOLE_SPLIT),
    };
  });
}
