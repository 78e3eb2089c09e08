/** Reads and writes chunks of several files beside the same files alone: `deno task bench chunks` */
import type { ArrayChunks, StoreKey } from "../mod.ts";
import * as ours from "../mod.ts";
import { randomBytes } from "./bytes.ts";
import { command } from "./command.ts";
import {
  CHUNKS,
  type Comparison,
  type Goal,
  type Report,
  type Row,
} from "./comparison.ts";
import { BEFORE } from "./engines.ts";
import { type Folder, makeFolders, removeFolders } from "./folders.ts";
import { type Contestant, type Effort, measure } from "./measure.ts";
import type { Options } from "./options.ts";

const SIZE = 64 * 1024;
/** Chunks in one to four files, by the suffixes of the files and their sizes in bytes. */
const LAYOUTS: Readonly<Record<string, readonly string[]>> = {
  "1 file": [],
  "2 files": ["", ".index:1604"],
  "4 files": [".header:64", "", ".index:1604", ".crc32c:4"],
};
/** The files alone, without locks and without the promise that they belong together. */
const ALONE = "files alone";

/** Chunks of 64 KiB in files in memory, and in files on disk. */
export async function benchChunks(options: Options): Promise<Report> {
  const count = options.quick ? 20 : 200;
  const effort: Effort = options.quick
    ? { ...options, least: 3, warmUps: 1 }
    : { ...options, least: 15, warmUps: 2 };
  const comparisons: Comparison[] = [];
  const folders = await makeFolders(options.disk);
  try {
    for (const folder of folders) {
      comparisons.push(await inFiles(folder, count, effort, options));
    }
  } finally {
    await removeFolders(folders);
  }
  return {
    comparisons,
    note:
      `Chunks of 64 KiB, read and replaced one after another, ${count} in each round. \`${ALONE}\`: \`get\` and \`set\` of \`FileSystemStore\` for each file.`,
  };
}

async function inFiles(
  { path, description, isDisk }: Folder,
  count: number,
  effort: Effort,
  { beside }: Options,
): Promise<Comparison> {
  const bytes = randomBytes(SIZE);
  const libraries = { "zarr-parts": ours, ...beside && { [BEFORE]: beside } };
  const rows: Row[] = [];
  for (const [label, parts] of Object.entries(LAYOUTS)) {
    const arrays: [string, ArrayChunks][] = [];
    for (const [name, library] of Object.entries(libraries)) {
      const store = new library.FileSystemStore(`${path}/${label}/${name}`);
      const metadata = ours.arrayMetadata({
        shape: [count * SIZE],
        dataType: "uint8",
        chunkShape: [SIZE],
        ...parts.length > 0 && { parts },
      });
      const chunks = await library.createArrayChunks(store, "", metadata);
      for (let i = 0; i < count; i++) await chunks.set([i], bytes);
      arrays.push([name, chunks]);
    }
    const store = new ours.FileSystemStore(`${path}/${label}/zarr-parts`);
    const suffixes = parts.length === 0 ? [""] : parts.map(suffixOf);
    const pieces = new ours.ConcatParts(partsOf(parts)).split(bytes);
    const keysOf = (i: number) =>
      suffixes.map((suffix): StoreKey => `/c/${i}${suffix}`);

    const reading = arrays.map(([name, chunks]) =>
      contestant(name, count, async (i) => (await chunks.get([i]))!.length)
    );
    reading.push(contestant(ALONE, count, async (i) => {
      const read = await Promise.all(keysOf(i).map((key) => store.get(key)));
      return read.reduce((sum, piece) => sum + piece!.length, 0);
    }));
    rows.push(
      await rowOf(`read, ${label}`, reading, effort, {
        of: "zarr-parts",
        against: [beside ? BEFORE : ALONE],
        least: label === "1 file" ? 0.98 : 0.9,
      }),
    );

    // Data that an earlier run left to be written would slow the next one.
    const prepare = isDisk ? () => command("sync", []) : undefined;
    const writing = arrays.map(([name, chunks]) =>
      contestant(name, count, async (i) => {
        await chunks.set([i], bytes);
        return SIZE;
      }, prepare)
    );
    writing.push(contestant(ALONE, count, async (i) => {
      await Promise.all(
        keysOf(i).map((key, part) => store.set(key, pieces[part]!)),
      );
      return SIZE;
    }, prepare));
    rows.push(await rowOf(`write, ${label}`, writing, effort));
  }
  return {
    title: `Chunks of 64 KiB in files ${description}`,
    heads: ["Work"],
    unit: CHUNKS,
    rows,
  };
}

async function rowOf(
  label: string,
  contestants: readonly Contestant[],
  effort: Effort,
  ...goals: readonly Goal[]
): Promise<Row> {
  return {
    labels: [label],
    timings: await measure(contestants, effort),
    goals,
  };
}

function contestant(
  name: string,
  amount: number,
  run: (i: number) => Promise<number>,
  prepare?: () => Promise<unknown>,
): Contestant {
  return {
    name,
    amount,
    ...prepare && {
      prepare: async () => {
        await prepare();
      },
    },
    async run() {
      let sum = 0;
      for (let i = 0; i < amount; i++) sum += await run(i);
      return sum;
    },
  };
}

function partsOf(parts: readonly string[]): ours.Part[] {
  if (parts.length === 0) return [{ keySuffix: "" }];
  return parts.map((part) => {
    const size = part.split(":")[1];
    const keySuffix = suffixOf(part);
    return size === undefined
      ? { keySuffix }
      : { keySuffix, size: Number(size) };
  });
}

function suffixOf(part: string): string {
  return part.split(":")[0]!;
}
