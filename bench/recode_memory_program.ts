/**
 * Recodes the array of a folder, or does nothing, and prints the peak of its resident memory
 * in bytes. `recode_memory.ts` runs this program.
 */
import { convert } from "../jobs.ts";
import { FileSystemStore } from "../mod.ts";
import { printPeak } from "./peak_of.ts";

const [source = "", target = "", recode] = Deno.args;
if (recode !== undefined) {
  await convert(new FileSystemStore(source), new FileSystemStore(target), {
    recode: JSON.parse(recode),
  });
}
await printPeak();
