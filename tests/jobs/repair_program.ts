/** A program that repairs a folder. */
import { FileSystemStore } from "../../mod.ts";
import { repair } from "../../src/jobs/mod.ts";

if (import.meta.main) {
  const folder: string = JSON.parse(Deno.args[0]!);
  console.log("ready");
  await repair(new FileSystemStore(folder));
  console.log("done");
}
