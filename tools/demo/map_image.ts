import { encode } from "fast-png";
import { type ElevationModel, relief } from "../../examples/browser/relief.ts";
import type { Image } from "./image.ts";
import { drawScaleBar } from "./scale_bar.ts";

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
