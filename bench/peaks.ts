/** Measures the peak memory of programs: `deno task bench peaks` */
import { FileSystemStore as ZarritaFileSystemStore } from "@zarrita/storage";
import { convert, type ConvertOptions } from "../jobs.ts";
import {
  arrayMetadata,
  ConcatParts,
  concatStream,
  FileSystemStore,
  openArrayChunks,
  splitStream,
} from "../mod.ts";
import { chooseStandardLibrary } from "../tools/standard_library.ts";
import { withZarrParts } from "../zarrita.ts";
import { MIB, SHARD_PARTS } from "./data.ts";
import { freeSpace, makeFolders, removeFolders } from "./folders.ts";
import { seededRandom } from "./measure.ts";
import type { Options } from "./options.ts";
import { boundText, type Report, sizeText, type Table } from "./report.ts";
import {
  createVolume,
  get,
  getWith,
  openVolume,
  writeVolume,
} from "./volume_arrays.ts";
import { makeVolume } from "./volume_data.ts";

/** A task of the measured program, which works in a folder. */
type Task = (folder: string) => Promise<unknown>;

/** Tasks on the same data, and the most memory that they may take above a program that does nothing, in bytes. */
interface Work {
  readonly title: string;
  readonly most: number;
  /** The memory that holds the elements themselves, which does not count, in bytes. */
  readonly held?: (quick: boolean) => number;
  /** Makes the data; returns `false` if there is too little room. */
  make(folder: string, quick: boolean): Promise<boolean | void>;
  readonly tasks: Readonly<Record<string, Task>>;
}

/** The sizes of the shard and of the array. */
const shardSize = (quick: boolean) => quick ? 64 * MIB : 1024 * MIB;
const planeCount = (quick: boolean) => quick ? 128 : 2048;

const WORKS: readonly Work[] = [{
  title: "Splitting and joining a sparse shard in files",
  most: 64 * MIB,
  async make(folder, quick) {
    const size = shardSize(quick);
    const free = await freeSpace(folder);
    if (free !== undefined && free < 1.5 * size) return false;
    await makeSparse(`${folder}/shard`, size);
    for (const part of SHARD_PARTS.parts) {
      const rest = size - 64 - 1604;
      await makeSparse(`${folder}/part${part.keySuffix}`, part.size ?? rest);
    }
  },
  tasks: {
    split: async (folder) =>
      await splitStream(
        await Deno.open(`${folder}/shard`),
        SHARD_PARTS,
        ({ keySuffix }) => Deno.create(`${folder}/cut${keySuffix}`),
        { crc32c: "compute" },
      ),
    join: (folder) => new FileSystemStore(folder).set("/copy", joined(folder)),
    "join by a pipe": async (folder) => {
      const file = await Deno.create(`${folder}/copy`);
      await joined(folder).pipeTo(file.writable);
    },
    "split by stores": async (folder) => {
      const store = new FileSystemStore(folder);
      const parts = new ConcatParts(SHARD_PARTS.parts).apply(store);
      await parts.set("/cut", (await store.stream("/shard"))!);
    },
    "join by stores": async (folder) => {
      const store = new FileSystemStore(folder);
      const parts = new ConcatParts(SHARD_PARTS.parts).apply(store);
      await store.set("/copy", (await parts.stream("/part"))!);
    },
  },
}, {
  title: "Reading and writing the volume by zarrita",
  most: 150 * MIB,
  held: (quick) => makeVolume(quick).data.byteLength,
  async make(folder, quick) {
    const { data, layouts } = makeVolume(quick);
    await createVolume(`${folder}/volume`, layouts.plain!);
    await writeVolume(`${folder}/volume`, layouts.plain!, data);
  },
  tasks: {
    "zarr.get of zarrita alone": async (folder) =>
      await get(
        await openVolume(new ZarritaFileSystemStore(`${folder}/volume`)),
      ),
    "getSharded, 2 threads": async (folder) => {
      const store = new FileSystemStore(`${folder}/volume`);
      return await getWith(2, await openVolume(withZarrParts(store)));
    },
    "setSharded, 2 threads": async (folder) => {
      const store = new FileSystemStore(`${folder}/volume`);
      const { metadata } = await openArrayChunks(store);
      await createVolume(`${folder}/copy`, { metadata });
      const random = seededRandom(1);
      const count = metadata.shape.reduce((product, n) => product * n, 1);
      const data = new Uint16Array(count).map(() => 256 * random());
      await writeVolume(`${folder}/copy`, { metadata }, data, 2);
    },
  },
}, {
  title: "Converting planes of uint16 in zstd",
  most: 256 * MIB,
  make: (folder, quick) => makePlanes(`${folder}/planes`, planeCount(quick)),
  tasks: {
    "copied, in parts": converting({ suffix: ".plane", parts: ["", ".end:4"] }),
    "recoded to cubes in shards of 32 MiB": converting({
      recode: {
        codecs: "zstd:1",
        chunks: [64, 64, 64],
        shards: [256, 256, 256],
      },
    }),
    "recoded to no codec, in shards of 128 MiB": converting({
      recode: { codecs: "none", shards: [256, 512, 512] },
    }),
    "recoded to one shard": converting({
      recode: {
        codecs: "zstd:1",
        chunks: [1, 256, 256],
        shards: [2048, 512, 512],
      },
    }),
  },
}];

/** The peak memory of each task above that of a program that does nothing. */
export async function benchPeaks(
  { quick, disk }: Options,
): Promise<Report> {
  if (Deno.build.os !== "linux") return { note: "Measured on Linux only." };
  const folders = await makeFolders(disk);
  const folder = folders.at(-1)!.path;
  const tables: Table[] = [];
  try {
    const idle = await peakOf("idle", folder);
    for (const { title, most, held, make, tasks } of WORKS) {
      const rows: string[][] = [];
      if (await make(folder, quick) === false) {
        rows.push(["not measured: too little room", ""]);
      } else {
        for (const task of Object.keys(tasks)) {
          const above = await peakOf(task, folder) - idle -
            (held?.(quick) ?? 0);
          const found = Math.round(above / MIB);
          rows.push([task, `${found} ${boundText(found, most / MIB, true)}`]);
          await Deno.remove(`${folder}/copy`, { recursive: true })
            .catch(() => {}); // Not all tasks make it.
        }
      }
      tables.push({ title, labels: 1, head: ["Work", "MiB"], rows });
    }
  } finally {
    await removeFolders(folders);
  }
  return {
    tables,
    note:
      `Peaks of resident memory above that of a program that does nothing and beside the elements that are held. The shard has ${
        sizeText(shardSize(quick))
      }, and there are ${planeCount(quick)} planes of 512 KiB.`,
  };
}

let library: ReturnType<typeof chooseStandardLibrary> | undefined;

/** Runs a task in a program of its own, and returns the peak of its resident memory in bytes. */
async function peakOf(task: string, folder: string): Promise<number> {
  const { run } = await (library ??= chooseStandardLibrary());
  const { code, output } = await run(
    ["run", "--no-check", "-A", import.meta.url, task, folder],
    { output: "piped" },
  );
  if (code !== 0) throw new Error(`Measuring ${task} failed: ${output}`);
  return Number(output.trim().split("\n").at(-1));
}

function joined(folder: string): ReadableStream<Uint8Array> {
  return concatStream(
    SHARD_PARTS,
    ({ keySuffix }) => Deno.open(`${folder}/part${keySuffix}`),
    { crc32c: "compute" },
  );
}

function converting(options: ConvertOptions): Task {
  return async (folder) =>
    await convert(
      new FileSystemStore(`${folder}/planes`),
      new FileSystemStore(`${folder}/copy`),
      options,
    );
}

/** Makes a sparse file: it has a size, and takes no space. */
async function makeSparse(path: string, size: number): Promise<void> {
  using file = await Deno.create(path);
  await file.truncate(size);
}

/** Makes an array of planes, whose files are links to few ones, so that it takes little space. */
async function makePlanes(folder: string, count: number): Promise<void> {
  const contents = 64;
  const side = 512;
  const metadata = arrayMetadata({
    shape: [count, side, side],
    dataType: "uint16",
    chunkShape: [1, side, side],
    codecs: ["zstd"],
  });
  const planes = new Uint16Array(contents * side * side);
  for (let i = 0; i < planes.length; i++) {
    const noise = Math.imul(i, 0x9e3779b1) >>> 26;
    planes[i] = i % side + 3 * Math.floor(i / side ** 2) + noise;
  }
  const few = { metadata: { ...metadata, shape: [contents, side, side] } };
  await createVolume(folder, few);
  await writeVolume(folder, few, planes);
  await Deno.writeTextFile(`${folder}/zarr.json`, JSON.stringify(metadata));
  for (let z = contents; z < count; z++) {
    await Deno.mkdir(`${folder}/c/${z}/0`, { recursive: true });
    await Deno.link(`${folder}/c/${z % contents}/0/0`, `${folder}/c/${z}/0/0`);
  }
}

// The measured program: runs a task, and prints the peak of its resident memory in bytes.
if (import.meta.main) {
  const [name = "", folder = ""] = Deno.args;
  const tasks = Object.assign({}, ...WORKS.map(({ tasks }) => tasks));
  await (tasks as Record<string, Task>)[name]?.(folder);
  const status = await Deno.readTextFile("/proc/self/status");
  const [, kibibytes] = /^VmHWM:\s*(\d+) kB$/m.exec(status)!;
  console.log(Number(kibibytes) * 1024);
}
