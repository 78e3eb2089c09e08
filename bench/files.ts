/**
 * How fast a shard file is cut into files of its parts and joined again, beside
 * what copies it as it is, and how much memory that takes: `deno task bench`
 *
 *     --mib=1024       the size of the shard
 *     --rounds=9       how often each contestant has its turn
 *     --memory=1,8     the sizes in GiB of the shards that memory is measured with
 *     --disk=FOLDER    where files on disk are made
 */
import { parseArgs } from "node:util";
import { command } from "./command.ts";
import { type FileContestant, fileContestants } from "./file_contestants.ts";
import { type Folder, freeSpace, makeFolders } from "./folders.ts";
import { type Timing, timings } from "./measure_async.ts";
import { printPeaks } from "./peak_memory.ts";
import {
  assertRight,
  makeShard,
  removeFiles,
  totalSize,
} from "./shard_files.ts";
import { type Table, textOf } from "./table.ts";

const { values } = parseArgs({
  options: {
    mib: { type: "string", default: "1024" },
    rounds: { type: "string", default: "9" },
    memory: { type: "string", default: "1,8" },
    disk: { type: "string" },
  },
});
const size = Number(values.mib) * 1024 ** 2;
const rounds = Number(values.rounds);
const memory = values.memory.split(",").filter(Boolean).map(Number);

console.log(
  `Load average before: ${
    Deno.loadavg()[0]!.toFixed(2)
  } on ${navigator.hardwareConcurrency} cores; what else runs slows those most that read and write at once\n`,
);
const folders = await makeFolders(values.disk);
try {
  for (const folder of folders) await measureFolder(folder);
  const disk = folders.find(({ isDisk }) => isDisk)!;
  await printPeaks(disk.path, memory.map((gibibytes) => gibibytes * 1024 ** 3));
} finally {
  for (const { path } of folders) await Deno.remove(path, { recursive: true });
}

async function measureFolder(folder: Folder): Promise<void> {
  const free = await freeSpace(folder.path);
  if (free !== undefined && free < 3.5 * size) {
    console.log(`${folder.description}: not measured, too little room\n`);
    return;
  }
  const crc32c = await makeShard(folder.path, size);
  const contestants = fileContestants(folder.path, { size, crc32c });

  async function prepare(): Promise<void> {
    await removeFiles(folder.path, contestants.flatMap(({ makes }) => makes));
    // What an earlier run left to be written would slow the next one.
    if (folder.isDisk) await command("sync", []);
  }
  for (const contestant of contestants) {
    await prepare();
    await contestant.run();
    await assertRight(folder.path, contestant.makes);
  }
  const measured = await timings(
    contestants.map(({ name, makes, run }) => ({
      name,
      prepare,
      async run() {
        await run();
        return await totalSize(folder.path, makes);
      },
    })),
    rounds,
    1,
  );
  console.log(textOf(tableOf(folder, contestants, measured)));
}

function tableOf(
  { description }: Folder,
  contestants: readonly FileContestant[],
  measured: readonly Timing[],
): Table {
  const cp = measured[0]!.median;
  return {
    title:
      `${values.mib} MiB, ${description}: medians of ${rounds} interleaved rounds, each into new files, without sync`,
    head: ["", "ms", "least", "GB/s", "of cp", "target"],
    rows: measured.map(({ name, median, least }, i) => {
      const { target } = contestants[i]!;
      const ratio = cp / median;
      return [
        name,
        median.toFixed(0),
        least.toFixed(0),
        (size / median / 1e6).toFixed(2),
        ratio.toFixed(2),
        target === undefined
          ? ""
          : `${target} ${ratio >= target ? "met" : "missed"}`,
      ];
    }),
  };
}
