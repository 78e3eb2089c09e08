import { isInBox } from "../jobs/inspect/inspect.ts";
import type { InspectedChunk } from "../jobs/inspect/inspection.ts";
import { bytesText, countText } from "./format.ts";

/** Shades from few bytes to many. */
const SHADES = "░▒▓█";
const ABSENT = "·";
/** Inner chunks that lie outside of the array. */
const OUTSIDE = " ";
/** The greatest width and height of a map. */
const WIDEST = 76;
const HIGHEST = 40;

/** A map of the inner chunks of a shard, by their lengths: the last two dimensions of each slice. */
export function drawShard(
  {
    chunksPerShard,
    chunksInArray,
    present,
    innerChunks,
    offset,
    length,
  }: NonNullable<
    InspectedChunk["index"]
  >,
): string[] {
  const most = innerChunks.reduce(
    (most, each) => Math.max(most, each?.length ?? 0),
    0,
  );
  const lines = [
    `    index of ${countText(length)} bytes at ${countText(offset)}; ${
      countText(present)
    } of ${countText(sizeOf(chunksInArray))} inner chunks${
      sizeOf(chunksInArray) < innerChunks.length ? " in the array" : ""
    }, up to ${bytesText(most)}`,
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
    const shades = cells.map((cell, column) =>
      cell || isInBox(row * columns + column, chunksPerShard, chunksInArray)
        ? shade(cell?.length, most)
        : OUTSIDE
    );
    lines.push(`    ${shades.join("")}`.trimEnd());
  }
  while (lines.at(-1) === "") lines.pop();
  return lines;
}

function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, length) => product * length, 1);
}

function shade(length: number | undefined, most: number): string {
  if (length === undefined) return ABSENT;
  const step = most === 0 ? 0 : Math.floor(length / most * SHADES.length);
  return SHADES[Math.min(step, SHADES.length - 1)]!;
}
