/** Converts arrays beside `cp -r`: `deno task bench convert` */
import { FileSystemStore } from "../mod.ts";
import {
  convert,
  convertInPlace,
  type ConvertInPlaceOptions,
  type ConvertOptions,
} from "../src/jobs/mod.ts";
import { MIB } from "./bytes.ts";
import { command } from "./command.ts";
import {
  type Comparison,
  GIGABYTES,
  type Report,
  sizeText,
} from "./comparison.ts";
import {
  type Folder,
  freeSpace,
  makeFolders,
  removeFolders,
} from "./folders.ts";
import { measureConvertPeaks } from "./convert_memory.ts";
import { makeArray, SHARDS } from "./convert_source.ts";
import { measurePlans } from "./convert_plans.ts";
import { type Contestant, type Effort, measure } from "./measure.ts";
import type { Options } from "./options.ts";
import type { Table } from "./table.ts";

const SHARD = 64 * MIB;
const QUICK_SHARD = MIB;
const PARTS = ["", ".index"];

/** A row of the tables: from which layout to which. */
interface Work {
  readonly label: string;
  readonly from: ConvertOptions;
  readonly to: ConvertOptions;
  /** The arguments by which `zarrs_reencode` does the same. */
  readonly zarrs?: readonly string[];
  /** The layout `from` as an option of `convertInPlace`, if that is measured too. */
  readonly back?: ConvertInPlaceOptions;
}

const WORKS: readonly Work[] = [
  { label: "other keys", from: {}, to: { suffix: ".shard" } },
  {
    label: "another separator",
    from: {},
    to: {
      keyEncoding: { name: "default", configuration: { separator: "." } },
    },
    zarrs: ["--separator", "."],
  },
  {
    label: "to parts",
    from: {},
    to: { parts: PARTS },
    back: { plain: true },
  },
  {
    label: "from parts",
    from: { parts: PARTS },
    to: { plain: true },
    back: { parts: PARTS },
  },
];

const IN_PLACE = "in place";

/** The converter of zarrs, which decodes and encodes chunks. */
const ZARRS = "zarrs_reencode";

/** Arrays of 4 GiB in memory and on disk, the memory, and the time to plan many chunks. */
export async function benchConvert(options: Options): Promise<Report> {
  const shard = options.quick ? QUICK_SHARD : SHARD;
  const effort: Effort = options.quick
    ? { seconds: 0, least: 3, warmUps: 1 }
    : { ...options, least: 5, warmUps: 1 };
  const folders = await makeFolders(options.disk);
  try {
    const comparisons: Comparison[] = [];
    for (const folder of folders) {
      comparisons.push(await measureFolder(folder, shard, effort));
    }
    const counts = options.quick ? [1e3, 1e4] : [1e4, 1e5, 1e6];
    return {
      comparisons,
      tables: [
        await measurePeaks(folders[0]!, shard),
        await measurePlans(counts),
      ],
      note:
        `${SHARDS} shards, whose checksums of indexes are verified, each time into a new folder, without waiting for the disk. zarrs_reencode is measured if it is on PATH (cargo install zarrs_tools). Load average before: ${
          Deno.loadavg()[0]!.toFixed(2)
        } on ${navigator.hardwareConcurrency} cores.`,
    };
  } finally {
    await removeFolders(folders);
  }
}

async function measureFolder(
  { path, description, isDisk }: Folder,
  shard: number,
  effort: Effort,
): Promise<Comparison> {
  const size = SHARDS * shard;
  const comparison = {
    title: `${sizeText(size)} in ${SHARDS} shards ${description}`,
    heads: ["Work"],
    unit: GIGABYTES,
  };
  const free = await freeSpace(path);
  if (free !== undefined && free < 3.5 * size) {
    const title = `${comparison.title}: too little room`;
    return { ...comparison, title, rows: [] };
  }
  const source = `${path}/source`;
  const target = `${path}/target`;
  const prepare = async () => {
    await Deno.remove(target, { recursive: true }).catch(() => {});
    // Data that an earlier run left to be written would slow the next one.
    if (isDisk) await command("sync", []);
  };
  const rows = [];
  const hasZarrs = await command(ZARRS, ["--version"]).then(
    () => true,
    () => false,
  );
  for (const { label, from, to, zarrs, back } of WORKS) {
    await Deno.remove(source, { recursive: true }).catch(() => {});
    await makeArray(source, shard, from);
    const inPlace = (options: ConvertInPlaceOptions) =>
      convertInPlace(new FileSystemStore(source), options);
    const contestant = (
      name: string,
      run: () => Promise<unknown>,
    ): Contestant => ({
      name,
      amount: size,
      async prepare() {
        if (back) await inPlace(back);
        await prepare();
      },
      async run() {
        await run();
        return size;
      },
    });
    const convertAtOnce = (concurrency: number) => () =>
      convert(new FileSystemStore(source), new FileSystemStore(target), {
        ...to,
        concurrency,
      });
    const timings = await measure([
      contestant("cp -r", () => command("cp", ["-r", source, target])),
      contestant("convert, 1 at once", convertAtOnce(1)),
      contestant("convert", convertAtOnce(4)),
      ...hasZarrs && zarrs
        ? [contestant(ZARRS, () => command(ZARRS, [...zarrs, source, target]))]
        : [],
      ...back
        ? [contestant(IN_PLACE, () => inPlace(to as ConvertInPlaceOptions))]
        : [],
    ], effort);
    const goals = [
      { of: "convert", against: ["cp -r"], least: 0.9 },
      ...back ? [{ of: IN_PLACE, against: ["cp -r"], least: 50 }] : [],
    ];
    rows.push({ labels: [label], timings, goals });
  }
  await prepare();
  await Deno.remove(source, { recursive: true });
  return { ...comparison, rows };
}

async function measurePeaks({ path }: Folder, shard: number): Promise<Table> {
  const source = `${path}/source`;
  await makeArray(source, shard, {});
  const table = await measureConvertPeaks(source, `${path}/target`);
  await Deno.remove(source, { recursive: true });
  return table;
}
