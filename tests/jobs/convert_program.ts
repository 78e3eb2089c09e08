/** A program that converts one folder to another. */
import { convert, type ConvertOptions } from "../../jobs.ts";
import { FileSystemStore } from "../../mod.ts";

/** The parameters of the program. */
export interface Conversion {
  readonly source: string;
  readonly target: string;
  readonly options: ConvertOptions;
}

if (import.meta.main) {
  const { source, target, options }: Conversion = JSON.parse(Deno.args[0]!);
  const store = new FileSystemStore(source);
  console.log("ready");
  await convert(store, new FileSystemStore(target), options);
  console.log("done");
}
