/** Reads and writes chunks of several files beside the same files alone: `deno task bench chunks` */
import type { ArrayChunks, Part, StoreKey } from "../mod.ts";
import * as ours from "../mod.ts";
import { KIB, randomBytes } from "./data.ts";
import { BEFORE } from "./engines.ts";
import { type Folder, makeFolders, removeFolders, settle } from "./folders.ts";
import { type Contestant, type Effort, measure } from "./measure.ts";
import type { Options } from "./options.ts";
import { CHUNKS, type Comparison, type Report, type Row } from "./report.ts";

const SIZE = 64 * KIB;
/** Chunks in one to four files. */
const LAYOUTS: Readonly<Record<string, readonly Part[]>> = {
  "1 file": [{ keySuffix: "" }],
  "2 files": [{ keySuffix: "" }, { keySuffix: ".index", size: 1604 }],
  "4 files": [
    { keySuffix: ".header", size: 64 },
    { keySuffix: "" },
    { keySuffix: ".index", size: 1604 },
    { keySuffix: ".crc32c", size: 4 },
  ],
};
const OURS = "zarr-parts";
/** The files alone, without locks and without the promise that they belong together. */
const ALONE = "files alone";

/** Chunks of 64 KiB in files in memory, and in files on disk. */
export async function benchChunks(options: Options): Promise<Report> {
  const count = options.quick ? 20 : 200;
  const effort: Effort = options.quick
    ? { ...options, least: 3, warmUps: 1 }
    : { ...options, least: 7, warmUps: 2 };
  const folders = await makeFolders(options.disk);
  try {
    const comparisons: Comparison[] = [];
    for (const folder of folders) {
      comparisons.push(await inFiles(folder, count, effort, options));
    }
    return {
      comparisons,
      note:
        `Chunks of 64 KiB, read and replaced one after another, ${count} in each round. \`${ALONE}\`: \`get\` and \`set\` of \`FileSystemStore\` for each file.`,
    };
  } finally {
    await removeFolders(folders);
  }
}

async function inFiles(
  folder: Folder,
  count: number,
  effort: Effort,
  { beside }: Options,
): Promise<Comparison> {
  const bytes = randomBytes(SIZE);
  const libraries = { [OURS]: ours, ...beside && { [BEFORE]: beside } };
  const rows: Row[] = [];
  for (const [label, parts] of Object.entries(LAYOUTS)) {
    const place = `${folder.path}/${label}`;
    const arrays: [string, ArrayChunks][] = [];
    for (const [name, library] of Object.entries(libraries)) {
      const metadata = ours.arrayMetadata({
        shape: [count * SIZE],
        dataType: "uint8",
        chunkShape: [SIZE],
        ...parts.length > 1 && { parts: parts.map(textOfPart) },
      });
      const store = new library.FileSystemStore(`${place}/${name}`);
      const chunks = await library.createArrayChunks(store, "", metadata);
      for (let i = 0; i < count; i++) await chunks.set([i], bytes);
      arrays.push([name, chunks]);
    }
    const store = new ours.FileSystemStore(`${place}/${OURS}`);
    const pieces = new ours.ConcatParts(parts).split(bytes);
    const keysOf = (i: number) =>
      parts.map(({ keySuffix }): StoreKey => `/c/${i}${keySuffix}`);
    const contestant = (
      name: string,
      run: (i: number) => Promise<unknown>,
    ): Contestant => ({
      name,
      amount: count,
      async run() {
        for (let i = 0; i < count; i++) await run(i);
        return count;
      },
    });

    const reading = arrays.map(([name, chunks]) =>
      contestant(name, (i) => chunks.get([i]))
    );
    reading.push(contestant(
      ALONE,
      (i) => Promise.all(keysOf(i).map((key) => store.get(key))),
    ));
    rows.push({
      labels: [`read, ${label}`],
      timings: await measure(reading, effort),
      goals: [{
        of: OURS,
        against: [beside ? BEFORE : ALONE],
        bound: parts.length === 1 ? 0.98 : 0.9,
      }],
    });

    const writing = arrays.map(([name, chunks]) =>
      contestant(name, (i) => chunks.set([i], bytes))
    );
    writing.push(contestant(
      ALONE,
      (i) =>
        Promise.all(
          keysOf(i).map((key, part) => store.set(key, pieces[part]!)),
        ),
    ));
    rows.push({
      labels: [`write, ${label}`],
      timings: await measure(
        writing.map((each) => ({ ...each, prepare: () => settle(folder) })),
        effort,
      ),
    });
  }
  return {
    title: `Chunks of 64 KiB in files ${folder.description}`,
    heads: ["Work"],
    unit: CHUNKS,
    rows,
  };
}

/** A part as `arrayMetadata` takes it, such as `.index:1604`. */
function textOfPart({ keySuffix, size }: Part): string {
  return size === undefined ? keySuffix : `${keySuffix}:${size}`;
}
