/** A program that repairs a folder. */
import { repair } from "../../jobs.ts";
import { FileSystemStore } from "../../mod.ts";

if (import.meta.main) {
  const folder: string = JSON.parse(Deno.args[0]!);
  console.log("ready");
  await repair(new FileSystemStore(folder));
  console.log("done");
}
