/** A program that converts a folder in place from one layout to the next, again and again. */
import { convertInPlace } from "../../jobs.ts";
import { FileSystemStore } from "../../mod.ts";
import type { ConvertInPlaceOptions } from "../../src/jobs/in_place/convert_in_place.ts";

/** The parameters of the program. */
export interface InPlaceWork {
  readonly folder: string;
  readonly layouts: readonly ConvertInPlaceOptions[];
  /** The index of the first layout. */
  readonly first: number;
}

if (import.meta.main) {
  const { folder, layouts, first }: InPlaceWork = JSON.parse(Deno.args[0]!);
  const store = new FileSystemStore(folder);
  for (let i = first;; i = (i + 1) % layouts.length) {
    await convertInPlace(store, layouts[i]);
    if (i === first) console.log("ready"); // The modules are loaded.
  }
}
