import { elevationRange } from "../../examples/browser/relief.ts";
import { SCALE_BAR_METRES } from "./map_image.ts";
import type { DemoResult } from "./run_demo.ts";
import { PARTS, type ShardFiles } from "./store_as_tiffs.ts";

/**
 * Describes what the demo has done, and what a person can do next.
 *
 * @param shown Converts a path to one that the user's commands can take.
 */
export function report(
  { model, box, elevations, colours, map }: DemoResult,
  shown: (path: string) => string,
): string {
  const { width, height, spacing } = model;
  const { lowest, highest } = elevationRange(model)!;
  const kilometres = (points: number, distance: number) =>
    `${(points * distance / 1000).toFixed(0)} km`;
  const degrees = (value: number) => Math.abs(value).toFixed(1);
  const row = ({ path, width, height, sizes }: ShardFiles) => [
    shown(path),
    `${width} × ${height}`,
    ...sizes.map(String),
  ];
  const header = ["shard", "pixels", ...PARTS.map((part) => `.tiff${part}`)];
  const count = width * height;
  const [elevation, colour] = [elevations[0]!, colours[0]!];
  return `
Two arrays: the elevations, ${height} × ${width} points of int16, and their picture
in colours. Each shard is a TIFF whose tiles are the inner chunks. Its index is
a file beside it, such as ${shown(elevation.path + PARTS[1])}.
Sizes in bytes:

${table([header, ...elevations.map(row), ...colours.map(row)])}

Read from these files by zarrita through withZarrParts, and compared with what
was stored: ${count} elevations and ${3 * count} colour values, no difference.

The map shows the Jacksboro fault in Tennessee, USA, from ${
    degrees(box.south)
  }° to ${degrees(box.north)}° N and
from ${degrees(box.west)}° to ${degrees(box.east)}° W: ${
    kilometres(width, spacing.x)
  } from west to east, ${kilometres(height, spacing.y)} from north to south, and
from ${lowest} m (green) to ${highest} m (white). North is up, and the bar is ${
    SCALE_BAR_METRES / 1000
  } km long.

What to open:
  ${shown(map)}
      the whole map, in any image viewer
  ${shown(colour.path)}
      a shard of the picture, in any image viewer, or in QGIS in its place
  ${shown(elevation.path)}
      a shard of the elevations in metres, in QGIS, in its place; to an image
      viewer, numbers of this size in 16 bits are nearly black

What to try: zarr-parts with an array of yours. In this folder, the command is
  npx -y deno@2.9.6 task cli --help

What to read: ${shown("README.md")}, ${shown("docs/command-line.md")}, ${
    shown("docs/tiff-and-zip.md")
  }
`;
}

/** Formats rows as columns: the first two aligned left, the others, numbers, aligned right. */
function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, i) =>
    Math.max(...rows.map((row) => row[i]!.length))
  );
  return rows.map((row) =>
    row.map((cell, i) =>
      i < 2 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)
    ).join("  ")
  ).join("\n");
}
