/**
 * Splits or joins the files of a folder once, or does nothing, and prints the most
 * memory that it had: `peak_memory.ts` runs it
 */
import { fileContestants } from "./file_contestants.ts";

const [folder = "", task] = Deno.args;
const NAMES: Record<string, string> = {
  "split": "split, CRC32C computed",
  "join": "join, CRC32C computed",
  "split by stores": "split, by stores, no CRC32C",
  "join by stores": "join, by stores, no CRC32C",
};

if (task !== "idle") {
  const { size } = await Deno.stat(`${folder}/shard`);
  const contestants = fileContestants(folder, { size });
  await contestants.find(({ name }) => name === NAMES[task!])!.run();
}
const status = await Deno.readTextFile("/proc/self/status");
const [, kibibytes] = /^VmHWM:\s*(\d+) kB$/m.exec(status)!;
console.log(Number(kibibytes) * 1024);
