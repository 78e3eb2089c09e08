/**
 * Runs benchmarks, and prints their tables: `deno task bench [NAME…] [options]`. All of them
 * take up to ten minutes on two processors.
 *
 *     --quick           few sizes and rounds, to see that a benchmark works
 *     --seconds=0.2     how long each row is measured, after the least number of rounds
 *     --rounds=N        measures each row in at most N rounds
 *     --beside=MODULE   the mod.ts of another version, measured in the same rounds as `before`
 *     --disk=FOLDER     where files on disk are made
 *     --write           writes the tables and charts of these benchmarks into bench/results/
 */
import { benchChunks } from "./chunks.ts";
import { benchCodecs } from "./codecs.ts";
import { benchConvert, benchRecode } from "./convert.ts";
import { benchCrc32c } from "./crc32c.ts";
import { benchField } from "./field.ts";
import { benchFiles } from "./files.ts";
import { benchKeys } from "./keys.ts";
import { benchJoin, benchSplit } from "./memory.ts";
import { parseArguments } from "./options.ts";
import { benchPeaks } from "./peaks.ts";
import { benchRead } from "./read.ts";
import { score, tablesOf, textOf } from "./report.ts";
import { type Benchmark, writeResults } from "./results.ts";
import { benchServe } from "./serve.ts";
import { benchStart } from "./start.ts";
import { benchVolume } from "./volume.ts";

/** All benchmarks by name, in the order in which they run. */
const BENCHMARKS: Readonly<Record<string, Benchmark>> = {
  keys: { title: "Chunk keys", run: benchKeys },
  crc32c: { title: "CRC32C", run: benchCrc32c },
  split: { title: "Splitting in memory", run: benchSplit },
  join: { title: "Joining in memory", run: benchJoin },
  files: { title: "Splitting and joining files", run: benchFiles },
  chunks: { title: "Chunks of several files", run: benchChunks },
  codecs: { title: "Codecs", run: benchCodecs },
  read: { title: "Reading with zarrita", run: benchRead },
  volume: { title: "A volume in shards", run: benchVolume },
  field: { title: "The comparison of the field", run: benchField },
  convert: { title: "Converting", run: benchConvert },
  recode: { title: "Recoding", run: benchRecode },
  peaks: { title: "Peak memory", run: benchPeaks },
  serve: { title: "Serving", run: benchServe },
  start: { title: "Starting the command", run: benchStart },
};

const { names, writes, options } = await parseArguments(Deno.args);
for (const name of names) {
  if (Object.hasOwn(BENCHMARKS, name)) continue;
  throw new RangeError(
    `Expected benchmarks of ${
      Object.keys(BENCHMARKS).join(", ")
    }, found ${name}`,
  );
}

const chosen = Object.entries(BENCHMARKS)
  .filter(([name]) => names.length === 0 || names.includes(name));
for (const [i, [name, { title, run }]] of chosen.entries()) {
  const minutes = (performance.now() / 60_000).toFixed(1);
  console.log(
    `${title} (${name}, ${
      i + 1
    } of ${chosen.length}, after ${minutes} minutes)\n`,
  );
  const report = await run(options);
  for (const table of tablesOf(report)) console.log(textOf(table));
  console.log(`${report.note} ${score(report)}\n`);
  if (writes) await writeResults(name, report, options, BENCHMARKS);
}
