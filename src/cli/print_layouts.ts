import { storageOf } from "../arrays/storage_of.ts";
import { flattenLayers } from "../concat_parts/flat_parts.ts";
import type { Conversion, ConvertedArray } from "../jobs/plan/conversion.ts";
import type { Io } from "./command.ts";
import { drawParts } from "./draw_array.ts";
import { countText, unitsText } from "./format.ts";
import { withOptionNames } from "./option_names.ts";

/** The number of keys and paths that a line names. */
const MOST_NAMED = 3;

/** Prints what a conversion has not converted: metadata and nodes of Zarr v2, and nodes that are not valid. */
export function printOthers(
  { v2Documents, v2Nodes, leftOut }: Conversion,
  { isInPlace }: { isInPlace: boolean },
  io: Io,
): void {
  if (v2Documents.length > 0) {
    io.print(
      `${
        isInPlace ? "removed" : "not copied"
      }: Zarr v2 metadata beside zarr.json, ${named(v2Documents)}`,
    );
  }
  if (v2Nodes.length > 0) {
    const paths = v2Nodes.map((path) => `/${path}`);
    io.print(
      `${isInPlace ? "left" : "copied"} as they are: nodes of Zarr v2, ${
        named(paths)
      }`,
    );
  }
  for (const { path, message } of leftOut) {
    io.print(`left out /${path}: ${withOptionNames(message)}`);
  }
}

function named(texts: readonly string[]): string {
  const rest = texts.length - MOST_NAMED;
  return [...texts.slice(0, MOST_NAMED), ...rest > 0 ? [`${rest} more`] : []]
    .join(", ");
}

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
