import { html } from "hono/html";
import type { InspectedArray, InspectedChunk } from "../../jobs/mod.ts";
import { bytesText, countText } from "../format.ts";
import {
  cellOf,
  type ChunkMap,
  lengthAlong,
  type PictureAxes,
} from "./chunk_map.ts";
import type { Html } from "./templates.ts";

/** The most inner chunks of a shard that a map shows along a dimension. */
const MOST_CELLS = 64;
/** The number of shades of a map, from few bytes or chunks to many. */
const SHADES = 4;

/** The share of a cell around its square, and the side of the square. */
const [GAP, SIDE] = [0.06, 0.88];

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

/** The text that distinguishes a part of a chunk from the others. */
function nameOf({ parts, innerChunkShape }: InspectedArray, i: number): string {
  const { keySuffix, holds } = parts[i]!;
  if (keySuffix !== "") return keySuffix;
  if (parts.length === 1) return innerChunkShape ? "shard" : "chunk";
  return holds.join(", ");
}
