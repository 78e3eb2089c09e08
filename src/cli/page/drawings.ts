import { html, raw } from "hono/html";
import { type ArrayChunks, compareChunks } from "../../arrays/mod.ts";
import type { ImageChannel } from "../../hierarchy/mod.ts";
import type { InspectedArray, InspectedChunk } from "../../jobs/mod.ts";
import type { StoreOptions } from "../../stores/mod.ts";
import { bytesText, countText } from "../format.ts";
import type { Html } from "./templates.ts";

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

/** Where the script of the page draws an array. */
export function pictureBox(note: Html | "" = ""): Html {
  return html`<div id="view"></div>
<noscript>The picture needs JavaScript.</noscript>${note}`;
}

/** An array, as a page describes it for its script. */
export interface DescribedArray {
  readonly path: string;
  readonly url: string;
  readonly shape: readonly number[];
  readonly names: readonly (string | null)[];
  /** The dimensions of its pictures. */
  readonly axes: PictureAxes;
  /** The chunk that the page shows, if one is stored. */
  readonly chunk?: readonly number[] | undefined;
  readonly chunkShape: readonly number[];
  readonly innerChunkShape?: readonly number[] | undefined;
  /** The element along each dimension that the picture begins with; the chunk by default. */
  readonly start?: readonly number[];
  /** The channels that a picture mixes, along the dimension of colors. */
  readonly channels?: readonly ImageChannel[];
}

/** Describes an array for the script of the page. */
export function arrayScript(array: DescribedArray): Html {
  // No text of the store can end the element.
  const text = JSON.stringify(array).replaceAll("<", "\\u003c");
  return html`<script type="application/json" id="array">${raw(text)}</script>`;
}

/** The most cells of a map along a dimension, and the most inner chunks of a shard. */
const MOST_CELLS = 64;
/** The most chunks that are listed for a map. */
const MOST_CHUNKS = 300_000;

/** The number of shades of a map, from few bytes or chunks to many. */
const SHADES = 4;

/** The share of a cell around its square, and the side of the square. */
const [GAP, SIDE] = [0.06, 0.88];

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

/** A map of the chunks that are stored. A click on a cell chooses the chunk there. */
export function drawChunkMap(
  map: ChunkMap,
  axes: PictureAxes,
  shown: readonly number[] | undefined,
  label: string,
): Html {
  const shades = Array.from(
    map.counts,
    (count) => count === 0 ? 0 : shadeOf(count / map.most),
  );
  return drawCells(
    map.rows,
    map.columns,
    shades,
    label,
    html`data-steps="${map.step.join()}"`,
    shown && cellOf(map, axes, shown),
  );
}

/**
 * A map of the inner chunks of a shard by their lengths, at the first place along the
 * dimensions that pictures do not show. `undefined` for too many inner chunks.
 */
export function drawInnerChunks(
  { chunksPerShard, innerChunks }: NonNullable<InspectedChunk["index"]>,
  { rows, columns }: PictureAxes,
  label: string,
): Html | undefined {
  const height = lengthAlong(chunksPerShard, rows);
  const width = lengthAlong(chunksPerShard, columns);
  if (height > MOST_CELLS || width > MOST_CELLS) return undefined;
  const strideOf = (axis: number | undefined) =>
    axis === undefined
      ? 0
      : chunksPerShard.slice(axis + 1).reduce((a, b) => a * b, 1);
  const [down, right] = [strideOf(rows), strideOf(columns)];
  const lengths = Array.from(
    { length: height * width },
    (_, i) =>
      innerChunks[Math.floor(i / width) * down + i % width * right]?.length,
  );
  const most = lengths.reduce<number>((a, b = 0) => Math.max(a, b), 1);
  const shades = lengths.map((length) =>
    length === undefined ? 0 : shadeOf(length / most)
  );
  return drawCells(height, width, shades, label);
}

/** A drawing of the parts of a chunk side by side, and a table of them. */
export function drawParts(array: InspectedArray, chunk: InspectedChunk): Html {
  const root = array.path === "" ? 1 : array.path.length + 2;
  return html`
    <div class="parts" aria-hidden="true">${chunk.parts.map(({ length }, i) =>
      html`
        <span class="part holds-${array.parts[i]!.holds[0] ?? "nothing"}"
          style="flex-grow:${Math.log2(length + 2).toFixed(2)}"><b>${nameOf(
            array,
            i,
          )}</b><span>${bytesText(length)}</span></span>
      `
    )}</div>
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th>Object</th>
            <th class="number">Bytes</th>
            <th>Holds</th>
          </tr>
        </thead>
        <tbody>${chunk.parts.map(({ key, length }, i) =>
          html`
            <tr>
              <td><code>${key.slice(root)}</code></td>
              <td class="number">${countText(length)}</td>
              <td>${array.parts[i]!.holds.join(", ")}</td>
            </tr>
          `
        )}</tbody>
      </table>
    </div>
  `;
}

/** The row and the column of the cell that stands for a chunk. */
function cellOf(
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
function lengthAlong(
  shape: readonly number[],
  axis: number | undefined,
): number {
  return shape[axis ?? -1] ?? 1;
}

/** The shade of a share above 0 of the most. */
function shadeOf(share: number): number {
  return Math.max(1, Math.min(SHADES, Math.ceil(share * SHADES)));
}

/** Draws squares in shades, the absent ones as outlines. */
function drawCells(
  rows: number,
  columns: number,
  shades: readonly number[],
  label: string,
  data: Html | "" = "",
  marked?: readonly [number, number],
): Html {
  const paths = Array.from({ length: SHADES + 1 }, () => "");
  shades.forEach((shade, i) => {
    const [row, column] = [Math.floor(i / columns), i % columns];
    paths[shade] += squareAt(row, column);
  });
  return html`
    <svg class="map" viewBox="0 0 ${columns} ${rows}" role="img"
      aria-label="${label}" style="--columns:${columns};--rows:${rows}"
      ${data}>
        ${paths.map((path, shade) =>
          path && html`
            <path class="shade-${shade}" d="${path}" />
          `
        )}${marked &&
          html`<path class="here" d="${
            squareAt(marked[0], marked[1])
          }" />`}</svg>
  `;
}

function squareAt(row: number, column: number): string {
  return `M${column + GAP} ${row + GAP}h${SIDE}v${SIDE}h-${SIDE}z`;
}

/** The text that distinguishes a part of a chunk from the others. */
function nameOf({ parts, innerChunkShape }: InspectedArray, i: number): string {
  const { keySuffix, holds } = parts[i]!;
  if (keySuffix !== "") return keySuffix;
  if (parts.length === 1) return innerChunkShape ? "shard" : "chunk";
  return holds.join(", ");
}
