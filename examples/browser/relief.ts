import { hillShade, type Spacing } from "./hill_shade.ts";
import { hypsometricTint } from "./hypsometric_tint.ts";

/** Elevations in metres, row by row from north to south, each row from west to east. */
export interface ElevationModel {
  readonly elevations: ArrayLike<number>;
  /** The number of points in a row. */
  readonly width: number;
  /** The number of rows. */
  readonly height: number;
  /** The value of points without a known elevation, besides NaN and the infinities. */
  readonly fillValue: number | null;
  readonly spacing: Spacing;
}

/** Returns the lowest and the highest known elevation, or `undefined` if there is none. */
export function elevationRange(
  { elevations, fillValue }: ElevationModel,
): { lowest: number; highest: number } | undefined {
  let [lowest, highest] = [Infinity, -Infinity];
  for (let i = 0; i < elevations.length; i++) {
    const elevation = elevations[i]!;
    if (!isKnown(elevation, fillValue)) continue;
    lowest = Math.min(lowest, elevation);
    highest = Math.max(highest, elevation);
  }
  return lowest > highest ? undefined : { lowest, highest };
}

/**
 * Draws a map of an elevation model: tinted by height, shaded by slope.
 *
 * @returns Red, green, blue and alpha of each point, in the order of a canvas.
 * Points without a known elevation are transparent.
 */
export function relief(model: ElevationModel): Uint8ClampedArray<ArrayBuffer> {
  const { elevations, width, height, fillValue, spacing } = model;
  const pixels = new Uint8ClampedArray(4 * width * height);
  const range = elevationRange(model);
  if (range === undefined) return pixels;

  const elevationAt = (x: number, y: number) => {
    if (x < 0 || x >= width || y < 0 || y >= height) return undefined;
    const elevation = elevations[y * width + x]!;
    return isKnown(elevation, fillValue) ? elevation : undefined;
  };
  const tint = hypsometricTint(range.lowest, range.highest);
  const shade = hillShade(elevationAt, spacing);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const elevation = elevationAt(x, y);
      if (elevation === undefined) continue;
      // The surface of the sea is level.
      const light = elevation > 0 ? brightness(shade(x, y)) : 1;
      const colour = tint(elevation).map((value) => value * light);
      pixels.set([...colour, 255], 4 * (y * width + x));
    }
  }
  return pixels;
}

function isKnown(elevation: number, fillValue: number | null): boolean {
  return elevation !== fillValue && Number.isFinite(elevation);
}

/** Converts a shade to the factor of the colour: 1 on level ground, and never 0. */
function brightness(shade: number): number {
  return 0.35 + 0.65 * Math.SQRT2 * shade;
}
