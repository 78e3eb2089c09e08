import type { InspectedChunk } from "../jobs/inspect/inspection.ts";
import { bytesText, countText } from "./format.ts";

/** Shades from few bytes to many. */
const SHADES = "░▒▓█";
const ABSENT = "·";
/** The greatest width and height of a map. */
const WIDEST = 76;
const HIGHEST = 40;

/** A map of the inner chunks of a shard, by their lengths: the last two dimensions of each slice. */
export function drawShard(
  { chunksPerShard, innerChunks, offset, length }: NonNullable<
    InspectedChunk["index"]
  >,
): string[] {
  const present = innerChunks.filter((each) => each !== undefined);
  const most = Math.max(0, ...present.map(({ length }) => length));
  const lines = [
    `    index of ${countText(length)} bytes at ${countText(offset)}; ${
      countText(present.length)
    } of ${countText(innerChunks.length)} inner chunks, up to ${
      bytesText(most)
    }`,
  ];
  const columns = chunksPerShard.at(-1) ?? 1;
  const rows = chunksPerShard.at(-2) ?? 1;
  if (columns > WIDEST) {
    return [
      ...lines,
      `    ${columns} inner chunks in a row are too many for a map`,
    ];
  }
  for (let row = 0; row * columns < innerChunks.length; row++) {
    if (row === HIGHEST) {
      lines.push("    …");
      break;
    }
    // A line between slices of arrays of three dimensions and more.
    if (row > 0 && row % rows === 0) lines.push("");
    const cells = innerChunks.slice(row * columns, (row + 1) * columns);
    lines.push(
      `    ${cells.map((cell) => shade(cell?.length, most)).join("")}`,
    );
  }
  return lines;
}

function shade(length: number | undefined, most: number): string {
  if (length === undefined) return ABSENT;
  const step = most === 0 ? 0 : Math.floor(length / most * SHADES.length);
  return SHADES[Math.min(step, SHADES.length - 1)]!;
}
