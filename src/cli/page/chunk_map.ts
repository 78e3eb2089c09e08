import { type ArrayChunks, compareChunks } from "../../arrays/mod.ts";
import type { StoreOptions } from "../../stores/mod.ts";

/** The most cells of a map along a dimension. */
const MOST_CELLS = 64;
/** The most chunks that are listed for a map. */
const MOST_CHUNKS = 300_000;

/** A map of the stored chunks of an array along the two dimensions of its pictures. */
export interface ChunkMap {
  readonly rows: number;
  readonly columns: number;
  /** The number of chunks along both dimensions that a cell stands for. */
  readonly step: readonly [number, number];
  /** The number of stored chunks of each cell, row by row. */
  readonly counts: Uint32Array;
  /** The number of chunks of the grid that a whole cell stands for. */
  readonly most: number;
  /** The number of stored chunks. */
  readonly stored: number;
  /** Whether the listing was stopped before its end. */
  readonly isCut: boolean;
  /** The coordinates of the first stored chunk. */
  readonly first: readonly number[] | undefined;
}

/** Lists the chunks of an array, and counts those of each cell of a map. */
export async function mapChunks(
  chunks: ArrayChunks,
  axes: PictureAxes,
  options: StoreOptions,
): Promise<ChunkMap> {
  const { gridShape } = chunks;
  const height = lengthAlong(gridShape, axes.rows);
  const width = lengthAlong(gridShape, axes.columns);
  const step = [
    Math.max(1, Math.ceil(height / MOST_CELLS)),
    Math.max(1, Math.ceil(width / MOST_CELLS)),
  ] as const;
  const rows = Math.ceil(height / step[0]);
  const columns = Math.ceil(width / step[1]);
  const counts = new Uint32Array(rows * columns);
  let stored = 0;
  let first: number[] | undefined;
  let isCut = false;
  for await (const coordinates of chunks.list(options)) {
    if (first === undefined || compareChunks(coordinates, first) < 0) {
      first = coordinates;
    }
    const [row, column] = cellOf({ step }, axes, coordinates);
    counts[row * columns + column]!++;
    if (++stored === MOST_CHUNKS) {
      isCut = true;
      break;
    }
  }
  const slices = gridShape.reduce((a, b) => a * b, 1) / (height * width);
  const most = slices * Math.min(step[0], height) * Math.min(step[1], width);
  return { rows, columns, step, counts, most, stored, isCut, first };
}

/** The row and the column of the cell that stands for a chunk. */
export function cellOf(
  { step }: Pick<ChunkMap, "step">,
  { rows, columns }: PictureAxes,
  coordinates: readonly number[],
): [number, number] {
  return [
    Math.floor((coordinates[rows ?? -1] ?? 0) / step[0]),
    Math.floor((coordinates[columns ?? -1] ?? 0) / step[1]),
  ];
}

/** The length of a shape along a dimension; 1 without one. */
export function lengthAlong(
  shape: readonly number[],
  axis: number | undefined,
): number {
  return shape[axis ?? -1] ?? 1;
}

/** The names of dimensions that hold colors. */
const COLORS = /^(s|c|ch|channels?|bands?|rgba?|colou?rs?|samples?)$/i;

/** The dimensions of a picture. */
export interface PictureAxes {
  readonly rows: number | undefined;
  readonly columns: number | undefined;
  readonly colors: number | undefined;
}

/**
 * Chooses the dimensions of a picture: those named as places, or the last two; and a
 * dimension of three or four colors.
 *
 * @param shape The shape of an array.
 * @param names The names of the dimensions, if they have any.
 * @param type The data type.
 */
export function choosePictureAxes(
  shape: readonly number[],
  names: readonly (string | null)[],
  type: unknown,
): PictureAxes {
  const rank = shape.length;
  const isSamples = type === "uint8" || type === "uint16";
  const hasColors = (i: number) =>
    isSamples && (shape[i] === 3 || shape[i] === 4) && rank > 2 &&
    (i === rank - 1 || COLORS.test(names[i] ?? ""));
  const colors = shape.findLastIndex((_, i) => hasColors(i));
  const others = shape.map((_, i) => i).filter((i) => i !== colors);
  const find = (name: RegExp) => others.find((i) => name.test(names[i] ?? ""));
  const columns = find(/^(x|lon|long|longitude|easting|columns?)$/i);
  const rows = find(/^(y|lat|latitude|northing|rows?)$/i);
  const isNamed = columns !== undefined && rows !== undefined;
  return {
    rows: isNamed ? rows : others.at(-2),
    columns: isNamed ? columns : others.at(-1),
    colors: colors < 0 ? undefined : colors,
  };
}
