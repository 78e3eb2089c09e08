/** A program that adopts the TIFFs of a folder. */
import { FileSystemStore, TemplateChunkKeyEncoding } from "../../mod.ts";
import { adoptTiffs, type AdoptTiffsOptions } from "../../tiff.ts";

/** The parameters of the program. */
export interface Adoption {
  readonly folder: string;
  readonly path: string;
  readonly options: AdoptTiffsOptions;
}

/** Adopts files with names such as `y0_x1.tif`, or those in the options. */
export async function adopt(
  { folder, path, options }: Adoption,
): Promise<void> {
  const names = new TemplateChunkKeyEncoding("y{0}_x{1}.tif");
  await adoptTiffs(new FileSystemStore(folder), path, {
    ...options.files ? {} : { chunkKeyEncoding: names },
    ...options,
  });
}

if (import.meta.main) {
  const adoption: Adoption = JSON.parse(Deno.args[0]!);
  console.log("ready");
  await adopt(adoption);
  console.log("done");
}
