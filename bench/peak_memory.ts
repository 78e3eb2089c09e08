import {
  ConcatParts,
  concatStream,
  FileSystemStore,
  splitStream,
} from "../mod.ts";
import { MIB } from "./bytes.ts";
import { sizeText } from "./comparison.ts";
import { SHARD_PARTS } from "./engines.ts";
import { freeSpace } from "./folders.ts";
import { peakOf, printPeak } from "./peak_of.ts";
import {
  PARTS_MADE,
  PARTS_TO_JOIN,
  partSizes,
  removeFiles,
} from "./shard_files.ts";
import type { Table } from "./table.ts";

/** The most memory that a program may take above a program that does nothing. */
const MOST = 64 * MIB;

/** The tasks of the measured program. */
const TASKS = [
  ...["split", "join", "join by a pipe"],
  ...["split by stores", "join by stores"],
];

/**
 * Measures the peak memory of programs that split and join files, above that of
 * a program that does nothing. Measured on Linux only.
 *
 * @param folder The folder in which sparse files are made.
 * @param shards The sizes of the shards in bytes.
 */
export async function measurePeaks(
  folder: string,
  shards: readonly number[],
): Promise<Table> {
  const title = "Peak memory above that of an idle program, in MiB";
  const head = ["Work", "MiB", `≤ ${MOST / MIB}`];
  const program = "peak_memory.ts";
  const idle = await peakOf(program, [folder, "idle"]);
  if (idle === undefined) {
    return { title: `${title}: measured on Linux only`, head, rows: [] };
  }
  const rows: string[][] = [];
  for (const shard of shards) {
    const size = sizeText(shard);
    const free = await freeSpace(folder);
    if (free !== undefined && free < 1.5 * shard) {
      rows.push([`${size}: not measured, too little room`, "", ""]);
      continue;
    }
    await makeSparse(folder, "shard", shard);
    for (const [i, partSize] of partSizes(shard).entries()) {
      await makeSparse(folder, PARTS_TO_JOIN[i]!, partSize);
    }
    for (const task of TASKS) {
      const above = (await peakOf(program, [folder, task]))! - idle;
      rows.push([
        `${task}, ${size}`,
        (above / MIB).toFixed(1),
        above <= MOST ? "met" : "missed",
      ]);
      await removeFiles(folder, ["copy", ...PARTS_MADE]);
    }
  }
  return { title, head, rows };
}

/** Makes a sparse file: it has a size, and takes no space. */
async function makeSparse(
  folder: string,
  name: string,
  size: number,
): Promise<void> {
  using file = await Deno.create(`${folder}/${name}`);
  await file.truncate(size);
}

// The measured program, which splits or joins the files of a folder once, or does nothing.
if (import.meta.main) {
  const [folder = "", task = ""] = Deno.args;
  const store = new FileSystemStore(folder);
  const parts = new ConcatParts(SHARD_PARTS.parts).apply(store);

  const join = () =>
    concatStream(
      SHARD_PARTS,
      ({ keySuffix }) => Deno.open(`${folder}/part${keySuffix}`),
      { crc32c: "compute" },
    );

  const tasks: Record<string, () => Promise<unknown>> = {
    "idle": async () => {},
    "split": async () =>
      await splitStream(
        await Deno.open(`${folder}/shard`),
        SHARD_PARTS,
        ({ keySuffix }) => Deno.create(`${folder}/cut${keySuffix}`),
        { crc32c: "compute" },
      ),
    "join": async () => await store.set("/copy", join()),
    "join by a pipe": async () => {
      const file = await Deno.create(`${folder}/copy`);
      await join().pipeTo(file.writable);
    },
    "split by stores": async () =>
      await parts.set("/cut", (await store.stream("/shard"))!),
    "join by stores": async () =>
      await store.set("/copy", (await parts.stream("/part"))!),
  };
  await tasks[task]!();
  await printPeak();
}
