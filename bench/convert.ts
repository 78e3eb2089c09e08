/** Converts arrays beside `cp -r`: `deno task bench convert` */
import {
  arrayMetadata,
  createArrayChunks,
  encodeShard,
  FileSystemStore,
  parseShardLayout,
  type Store,
  type StoreKey,
} from "../mod.ts";
import { convert, type ConvertOptions } from "../src/jobs/mod.ts";
import { MIB, randomBytes } from "./bytes.ts";
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
import { type Contestant, type Effort, measure } from "./measure.ts";
import type { Options } from "./options.ts";
import type { Table } from "./table.ts";

const SHARDS = 64;
const SHARD = 64 * MIB;
const QUICK_SHARD = MIB;

/** The rows: from which layout to which. */
const WORKS: [string, ConvertOptions, ConvertOptions][] = [
  ["other keys", {}, { suffix: ".shard" }],
  ["to parts", {}, { parts: ["", ".index"] }],
  ["from parts", { parts: ["", ".index"] }, { plain: true }],
];

/** Arrays of 4 GiB in memory and on disk, and the time to plan many chunks. */
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
      tables: [await measurePlans(counts)],
      note:
        `${SHARDS} shards, whose checksums of indexes are verified, each time into a new folder, without waiting for the disk. Load average before: ${
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
  for (const [label, from, to] of WORKS) {
    await Deno.remove(source, { recursive: true }).catch(() => {});
    await makeArray(source, shard, from);
    const contestant = (
      name: string,
      run: () => Promise<unknown>,
    ): Contestant => ({
      name,
      amount: size,
      prepare,
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
    ], effort);
    const goals = [{ of: "convert", against: ["cp -r"], least: 0.9 }];
    rows.push({ labels: [label], timings, goals });
  }
  await prepare();
  await Deno.remove(source, { recursive: true });
  return { ...comparison, rows };
}

/** Makes an array of shards of random bytes in a folder. */
async function makeArray(
  folder: string,
  shard: number,
  layout: ConvertOptions,
): Promise<void> {
  const inner = shard / 64;
  const metadata = arrayMetadata({
    shape: [SHARDS * shard],
    dataType: "uint8",
    shardShape: [shard],
    chunkShape: [inner],
    ...layout.parts && { parts: layout.parts },
  });
  const store = new FileSystemStore(folder);
  const chunks = await createArrayChunks(store, "", metadata);
  const shards = parseShardLayout(metadata.codecs[0], chunks.chunkShape);
  const bytes = Array.from({ length: 64 }, () => randomBytes(inner));
  for (let i = 0; i < SHARDS; i++) {
    await chunks.set([i], encodeShard(bytes, shards));
  }
}

/** The time and the memory of dry runs on arrays of many chunks. */
async function measurePlans(counts: readonly number[]): Promise<Table> {
  const rows: string[][] = [];
  for (const count of counts) {
    const store = manyChunks(count);
    const start = performance.now();
    const { total } = await convert(store, new Map() as unknown as Store, {
      suffix: ".s",
      dryRun: true,
    });
    const time = performance.now() - start;
    const { rss } = Deno.memoryUsage();
    rows.push([
      total.toLocaleString("en"),
      (time / 1e3).toFixed(2),
      (1e3 * time / count).toFixed(2),
      (rss / MIB).toFixed(0),
    ]);
  }
  return {
    title: "Planning many chunks of two parts",
    head: ["Chunks", "s", "µs a chunk", "MiB of the process"],
    rows,
  };
}

/** A store that lists chunks of two parts, and holds none. */
function manyChunks(count: number): Store {
  const metadata = arrayMetadata({
    shape: [count / 100, 100],
    dataType: "uint8",
    chunkShape: [1, 1],
    parts: ["", ".x:4"],
  });
  const document = new TextEncoder().encode(JSON.stringify(metadata));
  return {
    get: (key: StoreKey) =>
      Promise.resolve(key === "/zarr.json" ? document : undefined),
    async *list(): AsyncGenerator<StoreKey> {
      for (let i = 0; i < count; i++) {
        const key: StoreKey = `/c/${Math.floor(i / 100)}/${i % 100}`;
        yield key;
        yield `${key}.x`;
      }
    },
  };
}
