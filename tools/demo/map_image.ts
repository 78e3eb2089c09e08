import { encode } from "fast-png";
import { type ElevationModel, relief } from "../../examples/browser/relief.ts";

/** How many pixels of the map a point of the elevation model is wide. */
const PIXELS_PER_POINT = 2;

/** Length of the scale bar, in metres. */
export const SCALE_BAR_METRES = 5000;

/**
 * Draws an elevation model as a map with square pixels, north up, and a scale bar
 * in the lower left corner.
 *
 * @returns The bytes of a PNG file.
 */
export function mapImage(model: ElevationModel): Uint8Array {
  const { width, height, spacing } = model;
  const metresPerPixel = spacing.x / PIXELS_PER_POINT;
  const map = scaled(
    { data: relief(model), width, height },
    width * PIXELS_PER_POINT,
    Math.round(height * spacing.y / metresPerPixel),
  );
  drawScaleBar(map, Math.round(SCALE_BAR_METRES / metresPerPixel));
  return encode({ ...map, channels: 4, depth: 8 });
}

/** Scales an image up, with colours interpolated between the pixels' centres. */
function scaled(image: Image, width: number, height: number): Image {
  const data = new Uint8ClampedArray(4 * width * height);
  for (let y = 0; y < height; y++) {
    const [top, bottom, down] = neighbours(y, height, image.height);
    for (let x = 0; x < width; x++) {
      const [left, right, across] = neighbours(x, width, image.width);
      for (let channel = 0; channel < 4; channel++) {
        const value = (column: number, row: number) =>
          image.data[4 * (row * image.width + column) + channel]!;
        data[4 * (y * width + x) + channel] = mix(
          mix(value(left, top), value(right, top), across),
          mix(value(left, bottom), value(right, bottom), across),
          down,
        );
      }
    }
  }
  return { data, width, height };
}

/** The two pixels of the source around a pixel, and the weight of the second. */
function neighbours(
  pixel: number,
  length: number,
  sourceLength: number,
): [number, number, number] {
  const at = (pixel + 0.5) * sourceLength / length - 0.5;
  const last = sourceLength - 1;
  const first = Math.min(Math.max(Math.floor(at), 0), last);
  return [first, Math.min(first + 1, last), Math.max(at - first, 0)];
}

function mix(a: number, b: number, weight: number): number {
  return a + weight * (b - a);
}

/** Red, green, blue and alpha of each pixel, row by row from the north. */
interface Image {
  readonly data: Uint8ClampedArray;
  readonly width: number;
  readonly height: number;
}

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
function drawScaleBar(image: Image, barWidth: number): void {
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
