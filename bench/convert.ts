/** Converts arrays beside `cp -r`: `deno task bench convert` */
import {
  convert,
  convertInPlace,
  type ConvertInPlaceOptions,
  type ConvertOptions,
} from "../jobs.ts";
import {
  arrayMetadata,
  createArrayChunks,
  encodeShard,
  FileSystemStore,
  parseShardLayout,
} from "../mod.ts";
import { MIB, randomBytes } from "./bytes.ts";
import { command } from "./command.ts";
import {
  type Comparison,
  GIGABYTES,
  type Report,
  sizeText,
} from "./comparison.ts";
import { measureConvertPeaks, measurePlans } from "./convert_memory.ts";
import {
  type Folder,
  freeSpace,
  makeFolders,
  removeFolders,
} from "./folders.ts";
import { type Contestant, type Effort, measure } from "./measure.ts";
import type { Options } from "./options.ts";
import type { Table } from "./table.ts";

const SHARD = 16 * MIB;
const QUICK_SHARD = MIB;
/** The number of shards of the rows that are also measured in place. */
const SHARDS = 64;
/** The number of shards of the other rows, whose speeds do not depend on it. */
const FEW_SHARDS = 16;
const PARTS: ConvertInPlaceOptions = { parts: ["", ".index"] };
const PLAIN: ConvertInPlaceOptions = { plain: true };

/** A row of the tables: from which layout to which. */
interface Work {
  readonly label: string;
  readonly from: ConvertOptions;
  readonly to: ConvertOptions;
  /** The arguments by which `zarrs_reencode` does the same. */
  readonly zarrs?: readonly string[];
}

/** The row that is measured in place, too. */
const TO_PARTS: Work = { label: "to parts", from: {}, to: PARTS };

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
  { label: "from parts", from: PARTS, to: PLAIN },
];

const CUT = "in place, to parts";
const JOIN = "in place, back";

/** The converter of zarrs, which decodes and encodes chunks. */
const ZARRS = "zarrs_reencode";

/** Arrays of up to 1 GiB in memory and on disk, the memory, and the time to plan many chunks. */
export async function benchConvert(options: Options): Promise<Report> {
  const shard = options.quick ? QUICK_SHARD : SHARD;
  const effort: Effort = { ...options, least: 3, warmUps: 1 };
  const folders = await makeFolders(options.disk);
  try {
    const comparisons: Comparison[] = [];
    for (const folder of folders) {
      comparisons.push(
        await measureFolder(folder, SHARDS, shard, [TO_PARTS], effort),
        await measureFolder(folder, FEW_SHARDS, shard, WORKS, effort),
      );
    }
    const counts = options.quick ? [1e3, 1e4] : [1e4, 1e5];
    return {
      comparisons,
      tables: [
        await measurePeaks(folders[0]!, shard),
        await measurePlans(counts),
      ],
      note: `Shards of ${
        sizeText(shard)
      }, whose checksums of indexes are verified, each time into a new folder. All contestants read a source that is in the page cache if it fits, and none waits until its bytes are on the disk (no fsync); on disk, what the run before has written is synced before the next one starts. In place, a block of each shard or index is freed: a disk that is mounted with the option discard may take milliseconds for each. ${ZARRS} is measured if it is on PATH (cargo install zarrs_tools). Load average before: ${
        Deno.loadavg()[0]!.toFixed(2)
      } on ${navigator.hardwareConcurrency} cores.`,
    };
  } finally {
    await removeFolders(folders);
  }
}

async function measureFolder(
  { path, description, isDisk }: Folder,
  count: number,
  shard: number,
  works: readonly Work[],
  effort: Effort,
): Promise<Comparison> {
  const size = count * shard;
  const comparison = {
    title: `${sizeText(size)} in ${count} shards ${description}`,
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
  const removeTarget = async () => {
    await Deno.remove(target, { recursive: true }).catch(() => {});
    // Data that an earlier run left to be written would slow the next one.
    if (isDisk) await command("sync", []);
  };
  const hasZarrs = await command(ZARRS, ["--version"]).then(
    () => true,
    () => false,
  );
  const rows = [];
  for (const work of works) {
    const { label, from, to, zarrs } = work;
    await Deno.remove(source, { recursive: true }).catch(() => {});
    await makeArray(source, count, shard, from);
    const contestant = (
      name: string,
      run: () => Promise<unknown>,
      prepare = () => Promise.resolve(),
    ): Contestant => ({
      name,
      amount: size,
      async prepare() {
        await prepare();
        await removeTarget();
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
    const inPlace = async (options: ConvertInPlaceOptions) => {
      await convertInPlace(new FileSystemStore(source), options);
    };
    const plain = () => inPlace(PLAIN);
    const isMeasuredInPlace = work === TO_PARTS;
    const timings = await measure([
      contestant("cp -r", () => command("cp", ["-r", source, target])),
      contestant("convert, 1 at once", convertAtOnce(1)),
      contestant("convert", convertAtOnce(4)),
      ...hasZarrs && zarrs
        ? [contestant(ZARRS, () => command(ZARRS, [...zarrs, source, target]))]
        : [],
      ...isMeasuredInPlace
        ? [
          contestant(CUT, () => inPlace(PARTS), plain),
          contestant(JOIN, plain, () => inPlace(PARTS)),
        ]
        : [],
    ], effort);
    const goals = [
      { of: "convert", against: ["cp -r"], least: 0.9 },
      ...isMeasuredInPlace
        ? [CUT, JOIN].map((of) => ({ of, against: ["cp -r"], least: 50 }))
        : [],
    ];
    rows.push({ labels: [label], timings, goals });
  }
  await removeTarget();
  await Deno.remove(source, { recursive: true });
  return { ...comparison, rows };
}

async function measurePeaks({ path }: Folder, shard: number): Promise<Table> {
  const source = `${path}/source`;
  await makeArray(source, SHARDS, shard, {});
  const table = await measureConvertPeaks(source, `${path}/target`);
  await Deno.remove(source, { recursive: true });
  return table;
}

/**
 * Makes an array of shards of random bytes in a folder.
 *
 * @param count The number of shards.
 * @param shard The length of their inner chunks together, in bytes.
 */
async function makeArray(
  folder: string,
  count: number,
  shard: number,
  layout: ConvertOptions,
): Promise<void> {
  const inner = shard / 64;
  const metadata = arrayMetadata({
    shape: [count * shard],
    dataType: "uint8",
    shardShape: [shard],
    chunkShape: [inner],
    ...layout.parts && { parts: layout.parts },
  });
  const store = new FileSystemStore(folder);
  const chunks = await createArrayChunks(store, "", metadata);
  const shards = parseShardLayout(metadata.codecs[0], chunks.chunkShape);
  const bytes = Array.from({ length: 64 }, () => randomBytes(inner));
  for (let i = 0; i < count; i++) {
    await chunks.set([i], encodeShard(bytes, shards));
  }
}
