import { chooseStandardLibrary } from "../tools/standard_library.ts";
import { MIB } from "./bytes.ts";
import { sizeText } from "./comparison.ts";
import { freeSpace } from "./folders.ts";
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
const TASKS = ["split", "join", "split by stores", "join by stores"];

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
  if (Deno.build.os !== "linux") {
    return { title: `${title}: measured on Linux only`, head, rows: [] };
  }
  const { run } = await chooseStandardLibrary();
  async function peakOf(task: string): Promise<number> {
    const program = new URL("peak_memory_program.ts", import.meta.url).href;
    const args = ["run", "--no-check", "-A", program, folder, task];
    const { code, output } = await run(args, { output: "piped" });
    if (code !== 0) throw new Error(`Measuring memory failed: ${output}`);
    return Number(output.trim().split("\n").at(-1));
  }

  const idle = await peakOf("idle");
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
      const above = await peakOf(task) - idle;
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
