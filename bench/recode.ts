/** Recodes arrays beside `zarrs_reencode`: `deno task bench recode` */
import { walk } from "@std/fs/walk";
import process from "node:process";
import { convert, type Recoding } from "../jobs.ts";
import { FileSystemStore } from "../mod.ts";
import { command } from "./command.ts";
import {
  type Comparison,
  GIGABYTES,
  type Report,
  sizeText,
} from "./comparison.ts";
import { makeFolders, removeFolders } from "./folders.ts";
import { type Contestant, type Effort, measure, median } from "./measure.ts";
import type { Options } from "./options.ts";
import { measureRecodePeaks } from "./recode_memory.ts";
import type { Table } from "./table.ts";
import { createVolume, writeVolume } from "./volume_arrays.ts";
import { makeVolume } from "./volume_data.ts";

/** A row of the tables: from which encoding to which. */
interface Work {
  readonly label: string;
  readonly from: Recoding;
  readonly to: Recoding & { readonly chunks: readonly number[] };
  /** The codec of the target for `zarrs_reencode`, by its level of zstd. */
  readonly level: number | undefined;
}

/** The converter of zarrs. */
const ZARRS = "zarrs_reencode";
const OURS = "convert";

const cube = (length: number) => [length, length, length];

/** @param scale The length of an array along each dimension, divided by 512. */
function worksOf(scale: number): Work[] {
  const [chunk, shard] = [cube(64 * scale), cube(256 * scale)];
  const single = { shards: null };
  return [
    {
      label: "no codec to zstd:5 in shards",
      from: { codecs: "none", chunks: chunk, ...single },
      to: { codecs: "zstd:5", chunks: chunk, shards: shard },
      level: 5,
    },
    {
      label: "blosc:lz4 to zstd:3, the same shards",
      from: { codecs: "blosc:lz4", chunks: chunk, shards: shard },
      to: { codecs: "zstd:3", chunks: chunk, shards: shard },
      level: 3,
    },
    {
      label: "gzip:1 to zstd:3, the same shards",
      from: { codecs: "gzip:1", chunks: chunk, shards: shard },
      to: { codecs: "zstd:3", chunks: chunk, shards: shard },
      level: 3,
    },
    {
      label: "small chunks to larger ones in shards, zstd:3",
      from: { codecs: "zstd:1", chunks: cube(32 * scale), ...single },
      to: { codecs: "zstd:3", chunks: chunk, shards: cube(128 * scale) },
      level: 3,
    },
    {
      label: "planes to cubes in shards, zstd:3",
      from: {
        codecs: "zstd:1",
        chunks: [1, 512 * scale, 512 * scale],
        ...single,
      },
      to: { codecs: "zstd:3", chunks: chunk, shards: shard },
      level: 3,
    },
    {
      label: "zstd to no codec, the same chunks",
      from: { codecs: "zstd:1", chunks: chunk, ...single },
      to: { codecs: "none", chunks: chunk, ...single },
      level: undefined,
    },
    {
      label: "other shards alone",
      from: { codecs: "zstd:0", chunks: chunk, shards: shard },
      to: { chunks: chunk, shards: cube(128 * scale) },
      level: 0,
    },
  ];
}

/** The arguments by which `zarrs_reencode` does the same. It changes the shape of chunks only in shards. */
function argumentsOf({ to: { chunks, shards }, level }: Work): string[] {
  const codecs = level === undefined ? [] : [
    { name: "zstd", configuration: { level, checksum: false } },
  ];
  return [
    ...["--bytes-to-bytes-codecs", JSON.stringify(codecs)],
    ...["--chunk-shape", chunks.join(",")],
    ...shards ? ["--shard-shape", shards.join(",")] : [],
  ];
}

/** A volume of 256 MiB, in memory, and the memory that an array of 8 GiB takes. */
export async function benchRecode(options: Options): Promise<Report> {
  const effort: Effort = { ...options, least: 3, warmUps: 1 };
  const folders = await makeFolders(options.disk);
  try {
    const { path, description } = folders[0]!;
    const { data, layouts } = makeVolume(options.quick);
    const volume = `${path}/volume`;
    await createVolume(volume, layouts.plain!);
    await writeVolume(volume, layouts.plain!, data);
    const hasZarrs = await command(ZARRS, ["--version"]).then(
      () => true,
      () => false,
    );
    const comparison: Comparison = {
      title: `${sizeText(data.byteLength)} of uint16 ${description}`,
      heads: ["Work"],
      unit: GIGABYTES,
      rows: [],
    };
    const rows = [];
    const efforts: string[][] = [];
    for (const work of worksOf(options.quick ? 0.25 : 1)) {
      const source = `${path}/source`;
      await Deno.remove(source, { recursive: true }).catch(() => {});
      await recode(volume, source, work.from);
      const { contestants, processorTimes } = contestantsOf(
        work,
        source,
        `${path}/target`,
        data.byteLength,
        hasZarrs,
      );
      const timings = await measure(contestants, effort);
      const goals = hasZarrs ? [{ of: OURS, against: [ZARRS], least: 1 }] : [];
      rows.push({ labels: [work.label], timings, goals });
      const [ours, theirs] = [OURS, ZARRS].map((name) => {
        const times = processorTimes.get(name);
        return times ? median(times) / 1000 : undefined;
      });
      efforts.push([
        work.label,
        ours!.toFixed(2),
        theirs?.toFixed(2) ?? "",
        theirs ? (theirs / ours!).toFixed(2) : "",
      ]);
    }
    const processors: Table = {
      title: "Processor time of all threads, in seconds",
      head: ["Work", OURS, ZARRS, `${ZARRS} / ${OURS}`],
      rows: efforts,
    };
    return {
      comparisons: [{ ...comparison, rows }],
      tables: [processors, await measureRecodePeaks(options)],
      note:
        `Sources are in memory, and each target is a new folder. ${OURS} runs in the process of the benchmark, with the start of its threads; ${ZARRS} is started each time, and is measured if it is on PATH (cargo install zarrs_tools). Processor time varies less than time where other programs run. rechunker is not measured: version 0.5.4, the newest, requires zarr-python before version 3 and fails with a later one, so that it reads and writes Zarr v2 alone, and no shards. Load average before: ${
          Deno.loadavg()[0]!.toFixed(2)
        } on ${navigator.hardwareConcurrency} cores.`,
    };
  } finally {
    await removeFolders(folders);
  }
}

function contestantsOf(
  work: Work,
  source: string,
  target: string,
  amount: number,
  hasZarrs: boolean,
): {
  contestants: Contestant[];
  /** The milliseconds of processor time of each run. */
  processorTimes: Map<string, number[]>;
} {
  const processorTimes = new Map<string, number[]>();
  const contestant = (
    name: string,
    run: () => Promise<number>,
  ): Contestant => ({
    name,
    amount,
    async prepare() {
      await Deno.remove(target, { recursive: true }).catch(() => {});
    },
    async run() {
      const times = processorTimes.get(name) ?? [];
      processorTimes.set(name, times);
      times.push(await run());
      return await countFiles(target);
    },
  });
  const contestants = [contestant(OURS, async () => {
    const before = process.cpuUsage();
    await recode(source, target, work.to);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  })];
  if (hasZarrs) {
    const args = [ZARRS, ...argumentsOf(work), source, target];
    const script = 'TIMEFORMAT="%U %S"; { time "$@" >/dev/null 2>&1; } 2>&1';
    contestants.push(contestant(ZARRS, async () => {
      const output = await command("bash", ["-c", script, "bash", ...args]);
      const [user = 0, system = 0] = output.split(" ").map(Number);
      return 1000 * (user + system);
    }));
  }
  return { contestants, processorTimes };
}

async function recode(
  from: string,
  to: string,
  recode: Recoding,
): Promise<void> {
  await convert(new FileSystemStore(from), new FileSystemStore(to), { recode });
}

/** Counts the files of an array, which are the same for all contestants. */
async function countFiles(folder: string): Promise<number> {
  const files = await Array.fromAsync(walk(folder, { includeDirs: false }));
  return files.length;
}
