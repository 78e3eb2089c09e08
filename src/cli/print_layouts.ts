import { storageOf } from "../arrays/storage_of.ts";
import { flattenLayers } from "../concat_parts/flat_parts.ts";
import type { ConvertedArray } from "../jobs/plan/conversion.ts";
import type { Io } from "./command.ts";
import { drawParts } from "./draw_array.ts";
import { countText, unitsText } from "./format.ts";

/** Prints the new layouts of arrays with the first chunk of each, for a dry run. */
export function printLayouts(
  arrays: readonly ConvertedArray[],
  io: Io,
): void {
  for (const { path, metadata, chunks } of arrays) {
    const { keyEncoding, layers } = storageOf(metadata);
    const first = keyEncoding.encode(metadata.shape.map(() => 0));
    const count = chunks === undefined ? "chunks" : unitsText(chunks, "chunk");
    io.print(`/${path}  ${count}, such as`);
    const parts = flattenLayers(layers).parts.map(({ keySuffix, size }) => ({
      key: first + keySuffix,
      size: size === undefined ? "" : countText(size),
      holds: "",
    }));
    for (const line of drawParts(parts)) io.print(line);
  }
}
