import { chooseStandardLibrary } from "../tools/standard_library.ts";
import { freeSpace } from "./folders.ts";
import { PARTS_MADE, PARTS_TO_JOIN, removeFiles } from "./shard_files.ts";
import { partSizes } from "./shard_parts.ts";
import { textOf } from "./table.ts";

const MIB = 1024 ** 2;

/** How much more memory a program that splits or joins may take than one that does nothing. */
const MOST = 64 * MIB;

/** What `peak_memory_program.ts` can do. */
const TASKS = ["split", "join", "split by stores", "join by stores"];

/**
 * Prints the peak memory of programs that split and join files, as the operating
 * system tells it, above that of a program that does nothing.
 *
 * @param folder Where the files are made, which have holes where there is room for data.
 * @param shards The sizes of the shards in bytes.
 */
export async function printPeaks(
  folder: string,
  shards: readonly number[],
): Promise<void> {
  if (Deno.build.os !== "linux") {
    console.log("Peak memory: measured on Linux alone");
    return;
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
    const size = `${shard / 1024 ** 3} GiB`;
    const free = await freeSpace(folder);
    if (free !== undefined && free < 1.5 * shard) {
      rows.push([size, "not measured: too little room", "", ""]);
      continue;
    }
    await makeSparse(folder, "shard", shard);
    for (const [i, partSize] of partSizes(shard).entries()) {
      await makeSparse(folder, PARTS_TO_JOIN[i]!, partSize);
    }
    for (const task of TASKS) {
      const above = await peakOf(task) - idle;
      rows.push([
        `${size}, ${task}`,
        (above / MIB).toFixed(1),
        String(MOST / MIB),
        above <= MOST ? "met" : "missed",
      ]);
      await removeFiles(folder, ["copy", ...PARTS_MADE]);
    }
  }
  const title = `Peak memory in MiB above that of an idle program, which is ${
    (idle / MIB).toFixed(1)
  } (VmHWM); sparse files on disk`;
  const head = ["", "above idle", "target", ""];
  console.log(textOf({ title, head, rows }));
}

/** A file that is all hole. */
async function makeSparse(
  folder: string,
  name: string,
  size: number,
): Promise<void> {
  using file = await Deno.create(`${folder}/${name}`);
  await file.truncate(size);
}
