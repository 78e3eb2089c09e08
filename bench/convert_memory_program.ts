/**
 * Converts the array of a folder to one of parts, or does nothing, and prints the peak of
 * its resident memory in bytes. `convert_memory.ts` runs this program.
 */
import { convert } from "../jobs.ts";
import { FileSystemStore } from "../mod.ts";
import { printPeak } from "./peak_of.ts";

const [source = "", target = "", concurrency = "0"] = Deno.args;
if (Number(concurrency) > 0) {
  await convert(new FileSystemStore(source), new FileSystemStore(target), {
    parts: ["", ".index"],
    concurrency: Number(concurrency),
  });
}
await printPeak();
