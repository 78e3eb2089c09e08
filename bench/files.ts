/** Splits and joins the files of a shard beside `cp`: `deno task bench files` */
import { ConcatParts, FileSystemStore } from "../mod.ts";
import {
  chooseStandardLibrary,
  type StandardLibrary,
} from "../tools/standard_library.ts";
import { MIB } from "./bytes.ts";
import { command } from "./command.ts";
import {
  type Comparison,
  GIGABYTES,
  type Goal,
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

const SIZE = 256 * MIB;
const COPY = ["copy"];
const TWO_COPIES = ["copy", "copy2"];

/** Splitting and joining beside `cp`, which computes no checksum. */
const FILE_GOAL: Goal = { of: "auto", against: ["cp"], least: 0.9 };
/** The same by a stream, whose pieces lie in memory of their own. */
const PIPE_GOAL: Goal = { ...FILE_GOAL, least: 0.7 };
const COMMAND_GOAL: Goal = { ...FILE_GOAL, of: "command" };

/** How a row splits or joins. */
type Checksum = "none" | "compute" | "verify";

/** A contestant, and the files that it makes. */
interface FileContestant extends Contestant {
  readonly makes: readonly string[];
}

/** A row: what is done, who does it, and how fast it must be. */
type Work = readonly [string, readonly FileContestant[], readonly Goal[]];

/** A shard of 256 MiB in memory and on disk, and the memory that it takes. */
export async function benchFiles(options: Options): Promise<Report> {
  const size = options.quick ? 16 * MIB : SIZE;
  const effort: Effort = options.quick
    ? { seconds: 0, least: 3, warmUps: 1 }
    : { ...options, least: 9, warmUps: 1 };
  const folders = await makeFolders(options.disk);
  const comparisons: Comparison[] = [];
  try {
    const library = await chooseStandardLibrary();
    for (const folder of folders) {
      comparisons.push(
        await measureFolder(folder, size, effort, { ...options, library }),
      );
    }
    const disk = folders.find(({ isDisk }) => isDisk)!;
    const shards = options.quick ? [64 * MIB] : [256 * MIB, 2048 * MIB];
    return {
      comparisons,
      tables: [await measurePeaks(disk.path, shards)],
      note:
        `One shard in three parts, each time into new files, without waiting for the disk (no \`fsync\`). \`cp\` and \`cat\` are processes, whose start takes about 1 ms; the rows of \`zarr-parts\` include the start of Deno. Load average before: ${
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
  options: Options & { readonly library: StandardLibrary },
): Promise<Comparison> {
  const comparison = {
    title: `${sizeText(size)} in files ${folder.description}`,
    heads: ["Work"],
    unit: GIGABYTES,
  };
  const free = await freeSpace(folder.path);
  if (free !== undefined && free < 4.5 * size) {
    return {
      ...comparison,
      title: `${comparison.title}: too little room`,
      rows: [],
    };
  }
  const crc32c = await makeShard(folder.path, size);
  const rows: Row[] = [];
  for (
    const [label, contestants, goals] of [
      ...works(folder.path, size, crc32c, options),
      ...commands(folder.path, size, options.library),
    ]
  ) {
    const timings = await measureFiles(folder, contestants, effort);
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

/** Copies the shard by `cp`, once for each name. */
function copying(
  folder: string,
  size: number,
  makes: readonly string[],
): FileContestant {
  return {
    name: "cp",
    amount: size * makes.length,
    makes,
    async run() {
      for (const name of makes) await command("cp", ["shard", name], folder);
      return size * makes.length;
    },
  };
}

/** The rows of the command line, whose start is measured, too. */
function commands(
  folder: string,
  size: number,
  { run }: StandardLibrary,
): Work[] {
  const program = new URL("../src/cli/main.ts", import.meta.url).href;
  const list = SHARD_PARTS.parts.map(({ keySuffix, size }) =>
    size === undefined ? keySuffix : `${keySuffix}:${size}`
  );
  const work = (
    name: string,
    makes: readonly string[],
    ...args: readonly string[]
  ): Work => {
    const contestant: FileContestant = {
      name: "command",
      amount: size,
      makes,
      async run() {
        const { code, output } = await run([
          ...["run", "--no-check", "-A", program, name, ...args],
          ...["--parts", list.join(","), "--crc32c", "--quiet"],
        ], { cwd: folder, output: "piped" });
        if (code !== 0) throw new Error(`zarr-parts ${name} failed: ${output}`);
        return size;
      },
    };
    const label = `zarr-parts ${name}, CRC32C verified`;
    return [label, [copying(folder, size, COPY), contestant], [COMMAND_GOAL]];
  };
  return [
    work("split", PARTS_MADE, "shard", "--to", "cut"),
    work("join", COPY, "part", "--to", "copy"),
  ];
}

/** The rows of the package. */
function works(
  folder: string,
  size: number,
  crc32c: number,
  { beside }: Options,
): Work[] {
  const path = (name: string) => `${folder}/${name}`;
  function check(found: number | undefined): void {
    if (found === undefined || found === crc32c) return;
    throw new Error(`Expected the CRC32C ${crc32c}, found ${found}`);
  }
  const cp = copying(folder, size, COPY);
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
  const joined = (checksum: Checksum, { library, engine }: Way) =>
    library.concatStream(
      SHARD_PARTS,
      ({ keySuffix }) => Deno.open(path(`part${keySuffix}`)),
      { engine, crc32c: checksum, onReport: ({ crc32c }) => check(crc32c) },
    );
  const join = (checksum: Checksum) => (way: Way) => {
    const store = new way.library.FileSystemStore(folder);
    return {
      async run() {
        await store.set("/copy", joined(checksum, way));
        return size;
      },
    };
  };
  const pipe = (way: Way) => ({
    async run() {
      const file = await Deno.create(path("copy"));
      await joined("compute", way).pipeTo(file.writable);
      return size;
    },
  });
  type Run = (way: Way) => { run(): Promise<unknown> };
  const both = (...works: readonly Run[]) => (way: Way) => {
    const runs = works.map((work) => work(way));
    return {
      async run() {
        for (const { run } of runs) await run();
        return size;
      },
    };
  };
  const engines = (
    makes: readonly string[],
    contestant: Parameters<typeof engineContestants>[2],
    amount = size,
  ) =>
    engineContestants(amount, beside, contestant)
      .map((contestant) => ({ ...contestant, makes }));
  const pair = (
    label: string,
    ...works: readonly Run[]
  ): Work => [label, [
    copying(folder, size, TWO_COPIES),
    ...engines([...PARTS_MADE, ...COPY], both(...works), 2 * size),
  ], [FILE_GOAL]];

  const goals = [AUTO_GOAL, FILE_GOAL];
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
    ], [AUTO_GOAL]],
    ["split, CRC32C", [cp, ...engines(PARTS_MADE, split("compute"))], goals],
    ["join, no CRC32C", [
      cp,
      cat,
      ...engines(COPY, join("none")),
      throughStores(
        COPY,
        async () => await store.set("/copy", (await parts.stream("/part"))!),
      ),
    ], [AUTO_GOAL]],
    ["join, CRC32C", [cp, cat, ...engines(COPY, join("compute"))], goals],
    [
      "join, CRC32C verified",
      [cp, cat, ...engines(COPY, join("verify"))],
      goals,
    ],
    pair("split, then join, CRC32C", split("compute"), join("compute")),
    pair("join, then split, CRC32C", join("compute"), split("compute")),
    [
      "join, piped to file.writable, CRC32C",
      [cp, ...engines(COPY, pipe)],
      [PIPE_GOAL],
    ],
  ];
}
