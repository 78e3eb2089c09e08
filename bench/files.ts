/** Splits and joins the files of a shard beside `cp`: `deno task bench files` */
import { ConcatParts, FileSystemStore } from "../mod.ts";
import { MIB } from "./bytes.ts";
import { command } from "./command.ts";
import {
  type Comparison,
  GIGABYTES,
  type Report,
  type Row,
  sizeText,
} from "./comparison.ts";
import {
  AUTO_GOAL,
  engineContestants,
  reportNumber,
  SHARD_PARTS,
  type Way,
} from "./engines.ts";
import {
  type Folder,
  freeSpace,
  makeFolders,
  removeFolders,
} from "./folders.ts";
import {
  type Contestant,
  type Effort,
  measure,
  type Timing,
} from "./measure.ts";
import type { Options } from "./options.ts";
import { measurePeaks } from "./peak_memory.ts";
import {
  assertRight,
  makeShard,
  PARTS_MADE,
  PARTS_TO_JOIN,
  removeFiles,
  totalSize,
} from "./shard_files.ts";

const SIZE = 1024 * MIB;
const COPY = ["copy"];

/** How a row splits or joins. */
type Checksum = "none" | "compute" | "verify";

/** A contestant, and the files that it makes. */
interface FileContestant extends Contestant {
  readonly makes: readonly string[];
}

/** A shard of 1 GiB in memory and on disk, and the memory that it takes. */
export async function benchFiles(options: Options): Promise<Report> {
  const size = options.quick ? 16 * MIB : SIZE;
  const effort: Effort = options.quick
    ? { seconds: 0, least: 3, warmUps: 1 }
    : { ...options, least: 9, warmUps: 1 };
  const folders = await makeFolders(options.disk);
  const comparisons: Comparison[] = [];
  try {
    for (const folder of folders) {
      comparisons.push(await measureFolder(folder, size, effort, options));
    }
    const disk = folders.find(({ isDisk }) => isDisk)!;
    const shards = options.quick ? [64 * MIB] : [1024 * MIB, 8 * 1024 * MIB];
    return {
      comparisons,
      tables: [await measurePeaks(disk.path, shards)],
      note:
        `One shard in three parts, each time into new files, without waiting for the disk (no \`fsync\`). \`cp\` and \`cat\` are processes, whose start takes about 1 ms. Load average before: ${
          Deno.loadavg()[0]!.toFixed(2)
        } on ${navigator.hardwareConcurrency} cores; other programs slow those most that read and write at once.`,
    };
  } finally {
    await removeFolders(folders);
  }
}

async function measureFolder(
  folder: Folder,
  size: number,
  effort: Effort,
  options: Options,
): Promise<Comparison> {
  const comparison = {
    title: `${sizeText(size)} in files ${folder.description}`,
    heads: ["Work"],
    unit: GIGABYTES,
  };
  const free = await freeSpace(folder.path);
  if (free !== undefined && free < 3.5 * size) {
    return {
      ...comparison,
      title: `${comparison.title}: too little room`,
      rows: [],
    };
  }
  const crc32c = await makeShard(folder.path, size);
  const rows: Row[] = [];
  for (
    const [label, contestants] of works(folder.path, size, crc32c, options)
  ) {
    const timings = await measureFiles(folder, contestants, effort);
    const goals = label.endsWith("no CRC32C")
      ? [AUTO_GOAL]
      : [AUTO_GOAL, { of: "auto", against: ["cp"], least: 1 }];
    rows.push({ labels: [label], timings, goals });
  }
  return { ...comparison, rows };
}

/** Measures contestants, whose files are compared byte by byte beforehand. */
async function measureFiles(
  { path, isDisk }: Folder,
  contestants: readonly FileContestant[],
  effort: Effort,
): Promise<Timing[]> {
  const made = contestants.flatMap(({ makes }) => makes);
  async function prepare(): Promise<void> {
    await removeFiles(path, made);
    // Data that an earlier run left to be written would slow the next one.
    if (isDisk) await command("sync", []);
  }
  for (const { run, makes } of contestants) {
    await prepare();
    await run();
    await assertRight(path, makes);
  }
  const measured = contestants.map(({ makes, run, ...rest }) => ({
    ...rest,
    prepare,
    async run() {
      await run();
      return await totalSize(path, makes);
    },
  }));
  return await measure(measured, effort);
}

/** The rows: what is done, and who does it. */
function works(
  folder: string,
  size: number,
  crc32c: number,
  { beside }: Options,
): [string, FileContestant[]][] {
  const path = (name: string) => `${folder}/${name}`;
  function check(found: number | undefined): void {
    if (found === undefined || found === crc32c) return;
    throw new Error(`Expected the CRC32C ${crc32c}, found ${found}`);
  }
  const cp: FileContestant = {
    name: "cp",
    amount: size,
    makes: COPY,
    async run() {
      await command("cp", ["shard", "copy"], folder);
      return size;
    },
  };
  const cat: FileContestant = {
    ...cp,
    name: "cat",
    async run() {
      const script = `cat ${PARTS_TO_JOIN.join(" ")} > copy`;
      await command("sh", ["-c", script], folder);
      return size;
    },
  };
  const split = (checksum: Checksum) => ({ library, engine }: Way) => ({
    async run() {
      const report = await library.splitStream(
        await Deno.open(path("shard")),
        SHARD_PARTS,
        ({ keySuffix }) => Deno.create(path(`cut${keySuffix}`)),
        { engine, crc32c: checksum, chunkSize: size },
      );
      check(report.crc32c);
      return reportNumber(report);
    },
  });
  const join = (checksum: Checksum) => ({ library, engine }: Way) => {
    const store = new library.FileSystemStore(folder);
    return {
      async run() {
        const chunk = library.concatStream(
          SHARD_PARTS,
          ({ keySuffix }) => Deno.open(path(`part${keySuffix}`)),
          { engine, crc32c: checksum, onReport: ({ crc32c }) => check(crc32c) },
        );
        await store.set("/copy", chunk);
        return size;
      },
    };
  };
  const engines = (
    makes: readonly string[],
    contestant: Parameters<typeof engineContestants>[2],
  ) =>
    engineContestants(size, beside, contestant)
      .map((contestant) => ({ ...contestant, makes }));

  const store = new FileSystemStore(folder);
  const parts = new ConcatParts(SHARD_PARTS.parts).apply(store);
  const throughStores = (
    makes: readonly string[],
    run: () => Promise<void>,
  ) => ({
    name: "stores",
    amount: size,
    makes,
    async run() {
      await run();
      return size;
    },
  });
  return [
    ["split, no CRC32C", [
      cp,
      ...engines(PARTS_MADE, split("none")),
      throughStores(
        PARTS_MADE,
        async () => await parts.set("/cut", (await store.stream("/shard"))!),
      ),
    ]],
    ["split, CRC32C", [cp, ...engines(PARTS_MADE, split("compute"))]],
    ["join, no CRC32C", [
      cp,
      cat,
      ...engines(COPY, join("none")),
      throughStores(
        COPY,
        async () => await store.set("/copy", (await parts.stream("/part"))!),
      ),
    ]],
    ["join, CRC32C", [cp, cat, ...engines(COPY, join("compute"))]],
    ["join, CRC32C verified", [cp, cat, ...engines(COPY, join("verify"))]],
  ];
}
