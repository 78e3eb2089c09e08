/** Splits and joins the files of a shard beside `cp`: `deno task bench files` */
import { ConcatParts, Crc32c, FileSystemStore } from "../mod.ts";
import {
  chooseStandardLibrary,
  type StandardLibrary,
} from "../tools/standard_library.ts";
import { MIB, randomBytes, SHARD_PARTS } from "./data.ts";
import {
  AUTO_GOAL,
  BEFORE,
  engineContestants,
  reportNumber,
  type Way,
} from "./engines.ts";
import {
  command,
  type Folder,
  freeSpace,
  loadText,
  makeFolders,
  removeFolders,
  settle,
} from "./folders.ts";
import { type Contestant, type Effort, measure } from "./measure.ts";
import type { Options } from "./options.ts";
import {
  type Comparison,
  GIGABYTES,
  type Goal,
  type Report,
  type Row,
  sizeText,
} from "./report.ts";

const SIZE = 128 * MIB;
const { parts } = SHARD_PARTS;
/** The files that are joined, and those that splitting makes. */
const PARTS = parts.map(({ keySuffix }) => `part${keySuffix}`);
const CUT = parts.map(({ keySuffix }) => `cut${keySuffix}`);
const COPY = ["copy"];

/** Splitting and joining beside `cp`, which computes no checksum. */
const FILE_GOAL: Goal = { of: "auto", against: ["cp"], bound: 0.9 };
const PIPE_GOAL: Goal = { ...FILE_GOAL, bound: 0.75 };
const STORES_GOAL: Goal = { ...FILE_GOAL, of: "stores" };
const COMMAND_GOAL: Goal = { ...FILE_GOAL, of: "command" };

/** A contestant, and the files that it makes. */
interface FileContestant extends Contestant {
  readonly makes: readonly string[];
}

/** A row: what is done, who does it, and how fast it must be. */
interface Work {
  readonly label: string;
  readonly contestants: readonly FileContestant[];
  readonly goals: readonly Goal[];
}

/** A shard of 128 MiB in memory, by each engine, and on disk, by the one that is chosen. */
export async function benchFiles(options: Options): Promise<Report> {
  const size = options.quick ? 16 * MIB : SIZE;
  const effort: Effort = options.quick
    ? { seconds: 0, least: 3, warmUps: 1 }
    : { ...options, least: 5, warmUps: 1 };
  const folders = await makeFolders(options.disk);
  const comparisons: Comparison[] = [];
  try {
    const library = await chooseStandardLibrary();
    for (const folder of folders) {
      const title = `${sizeText(size)} in files ${folder.description}`;
      const rows: Row[] = [];
      const free = await freeSpace(folder.path);
      const hasRoom = free === undefined || free >= 4.5 * size;
      if (hasRoom) {
        const crc32c = await makeShard(folder.path, size);
        for (
          const { label, contestants, goals } of [
            ...works(folder, size, crc32c, options),
            ...folder.isDisk ? [] : commands(folder.path, size, library),
          ]
        ) {
          const timings = await measureFiles(folder, contestants, effort);
          rows.push({ labels: [label], timings, goals });
        }
      }
      comparisons.push({
        title: hasRoom ? title : `${title}: too little room`,
        heads: ["Work"],
        unit: GIGABYTES,
        rows,
      });
    }
    return {
      comparisons,
      note:
        `One shard in three parts, each time into new files, without waiting for the disk (no \`fsync\`). \`cp\` and \`cat\` are processes, whose start takes about 1 ms; the rows of \`zarr-parts\` include the start of Deno. ${loadText()} Other programs slow those most that read and write at once.`,
    };
  } finally {
    await removeFolders(folders);
  }
}

/**
 * Makes a file `shard` that ends with the CRC32C of the bytes before, and files
 * of its parts.
 *
 * @returns The CRC32C of the whole shard.
 */
async function makeShard(folder: string, size: number): Promise<number> {
  const checksum = new Crc32c();
  const block = randomBytes(MIB);
  let left = size - 4;
  const bytes = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (left <= 0) {
        const end = new Uint8Array(4);
        new DataView(end.buffer).setUint32(0, checksum.digest(), true);
        checksum.update(end);
        controller.enqueue(end);
        return controller.close();
      }
      block[0]!++; // Neighbouring blocks differ, so that one in the wrong place is found.
      const piece = block.slice(0, left);
      checksum.update(piece);
      controller.enqueue(piece);
      left -= piece.length;
    },
  });
  await Deno.writeFile(`${folder}/shard`, bytes);
  const sized = parts.reduce((sum, { size }) => sum + (size ?? 0), 0);
  let start = 1;
  for (const [i, part] of parts.entries()) {
    const length = part.size ?? size - sized;
    const cut = `tail -c +${start} shard | head -c ${length} > ${PARTS[i]}`;
    await command("sh", ["-c", cut], folder);
    start += length;
  }
  return checksum.digest();
}

/** Measures contestants, whose files are compared byte by byte beforehand. */
async function measureFiles(
  folder: Folder,
  contestants: readonly FileContestant[],
  effort: Effort,
) {
  const { path } = folder;
  const made = contestants.flatMap(({ makes }) => makes);
  async function prepare(): Promise<void> {
    for (const name of made) {
      await Deno.remove(`${path}/${name}`).catch(() => {}); // The first run finds none.
    }
    await settle(folder);
  }
  for (const { run, makes } of contestants) {
    await prepare();
    await run();
    for (const name of makes) {
      const expected = PARTS[CUT.indexOf(name)] ?? "shard";
      await command("cmp", [name, expected], path);
    }
  }
  const measured = contestants.map(({ makes, run, ...rest }) => ({
    ...rest,
    prepare,
    async run() {
      await run();
      let sum = 0;
      for (const name of makes) {
        sum += (await Deno.stat(`${path}/${name}`)).size;
      }
      return sum;
    },
  }));
  return await measure(measured, effort);
}

/** A contestant that makes files of one shard; its result is the size of these files. */
function contestant(
  name: string,
  amount: number,
  makes: readonly string[],
  work: () => Promise<unknown>,
): FileContestant {
  return {
    name,
    amount,
    makes,
    async run() {
      await work();
      return 0;
    },
  };
}

function copying(folder: string, size: number): FileContestant {
  const run = () => command("cp", ["shard", "copy"], folder);
  return contestant("cp", size, COPY, run);
}

/** The rows of the command line, whose start is measured, too. */
function commands(
  folder: string,
  size: number,
  { run }: StandardLibrary,
): Work[] {
  const program = new URL("../src/cli/main.ts", import.meta.url).href;
  const list = parts.map(({ keySuffix, size }) =>
    size === undefined ? keySuffix : `${keySuffix}:${size}`
  );
  const work = (
    name: string,
    makes: readonly string[],
    ...args: readonly string[]
  ): Work => ({
    label: `zarr-parts ${name}, CRC32C verified`,
    contestants: [
      copying(folder, size),
      contestant("command", size, makes, async () => {
        const { code, output } = await run([
          ...["run", "--no-check", "-A", program, name, ...args],
          ...["--parts", list.join(","), "--crc32c", "--quiet"],
        ], { cwd: folder, output: "piped" });
        if (code !== 0) throw new Error(`zarr-parts ${name} failed: ${output}`);
      }),
    ],
    goals: [COMMAND_GOAL],
  });
  return [
    work("split", CUT, "shard", "--to", "cut"),
    work("join", COPY, "part", "--to", "copy"),
  ];
}

/** The rows of the package. */
function works(
  { path: folder, isDisk }: Folder,
  size: number,
  crc32c: number,
  { beside }: Options,
): Work[] {
  const path = (name: string) => `${folder}/${name}`;
  function check(found: number | undefined): void {
    if (found === undefined || found === crc32c) return;
    throw new Error(`Expected the CRC32C ${crc32c}, found ${found}`);
  }
  const split =
    (checksum: "none" | "compute") => ({ library, engine }: Way) =>
    async () => {
      const report = await library.splitStream(
        await Deno.open(path("shard")),
        SHARD_PARTS,
        ({ keySuffix }) => Deno.create(path(`cut${keySuffix}`)),
        { engine, crc32c: checksum, chunkSize: size },
      );
      check(report.crc32c);
      return reportNumber(report);
    };
  const joined = (
    checksum: "none" | "compute",
    { library, engine }: Way,
  ) =>
    library.concatStream(
      SHARD_PARTS,
      ({ keySuffix }) => Deno.open(path(`part${keySuffix}`)),
      { engine, crc32c: checksum, onReport: ({ crc32c }) => check(crc32c) },
    );
  const join = (checksum: "none" | "compute") => (way: Way) => {
    const store = new way.library.FileSystemStore(folder);
    return () => store.set("/copy", joined(checksum, way));
  };
  const pipe = (way: Way) => async () => {
    const file = await Deno.create(path("copy"));
    await joined("compute", way).pipeTo(file.writable);
  };
  const store = new FileSystemStore(folder);
  const inParts = new ConcatParts(parts).apply(store);
  const stores = {
    split: async () => inParts.set("/cut", (await store.stream("/shard"))!),
    join: async () => store.set("/copy", (await inParts.stream("/part"))!),
  };

  const cat = () =>
    command("sh", ["-c", `cat ${PARTS.join(" ")} > copy`], folder);
  const engines = (
    makes: readonly string[],
    work: (way: Way) => () => Promise<unknown>,
  ): FileContestant[] =>
    engineContestants(size, beside, (way) => ({
      run: async () => {
        await work(way)();
        return 0;
      },
    }))
      .filter(({ name }) => !isDisk || name === "auto" || name === BEFORE)
      .map((each) => ({ ...each, makes }));
  const row = (
    label: string,
    goals: readonly Goal[],
    ...contestants: readonly FileContestant[]
  ): Work => ({
    label,
    contestants: [copying(folder, size), ...contestants],
    goals,
  });
  const goals = [AUTO_GOAL, FILE_GOAL];
  return [
    row("split, no CRC32C", [AUTO_GOAL], ...engines(CUT, split("none"))),
    row("split, CRC32C", goals, ...engines(CUT, split("compute"))),
    row(
      "split by stores",
      [STORES_GOAL],
      contestant("stores", size, CUT, stores.split),
    ),
    row(
      "join, no CRC32C",
      [AUTO_GOAL],
      contestant("cat", size, COPY, cat),
      ...engines(COPY, join("none")),
    ),
    row("join, CRC32C", goals, ...engines(COPY, join("compute"))),
    row(
      "join by stores",
      [STORES_GOAL],
      contestant("stores", size, COPY, stores.join),
    ),
    row(
      "join, piped to file.writable, CRC32C",
      [AUTO_GOAL, PIPE_GOAL],
      ...engines(COPY, pipe),
    ),
  ];
}
