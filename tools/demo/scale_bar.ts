import type { Image } from "./image.ts";

type Grey = 0 | 255;

const MARGIN = 12;
const BAR_HEIGHT = 6;
const GLYPH_PIXEL = 2;

/** The text above the bar. */
const LABEL = [
  "#####.......#..........",
  "#...........#..........",
  "####........#..#.##.#..",
  "....#.......#.#..#.#.#.",
  "....#.......##...#.#.#.",
  "#...#.......#.#..#.#.#.",
  ".###........#..#.#.#.#.",
];

/** Draws a bar of 5 km into the lower left corner of a map that has room for it. */
export function drawScaleBar(image: Image, barWidth: number): void {
  const labelHeight = LABEL.length * GLYPH_PIXEL;
  const top = image.height - MARGIN - BAR_HEIGHT - labelHeight - 8;
  if (barWidth + 3 * MARGIN > image.width || top < 0) return;

  fill(image, MARGIN, top, barWidth + 12, labelHeight + BAR_HEIGHT + 12, 255);
  LABEL.forEach((row, y) => {
    [...row].forEach((mark, x) => {
      if (mark !== "#") return;
      const left = MARGIN + 6 + x * GLYPH_PIXEL;
      const above = top + 4 + y * GLYPH_PIXEL;
      fill(image, left, above, GLYPH_PIXEL, GLYPH_PIXEL, 0);
    });
  });
  fill(image, MARGIN + 6, top + labelHeight + 8, barWidth, BAR_HEIGHT, 0);
}

function fill(
  { data, width, height }: Image,
  left: number,
  top: number,
  columns: number,
  rows: number,
  grey: Grey,
): void {
  for (let y = top; y < Math.min(top + rows, height); y++) {
    for (let x = left; x < left + columns; x++) {
      data.set([grey, grey, grey, 255], 4 * (y * width + x));
    }
  }
}
