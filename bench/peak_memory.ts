import { MIB } from "./bytes.ts";
import { sizeText } from "./comparison.ts";
import { freeSpace } from "./folders.ts";
import { peakOf } from "./peak_of.ts";
import {
  PARTS_MADE,
  PARTS_TO_JOIN,
  partSizes,
  removeFiles,
} from "./shard_files.ts";
import type { Table } from "./table.ts";

/** The most memory that a program may take above a program that does nothing. */
const MOST = 64 * MIB;

/** The tasks of `peak_memory_program.ts`. */
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
  const program = "peak_memory_program.ts";
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
