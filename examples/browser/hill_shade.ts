/** Distances between neighbouring points, in metres. */
export interface Spacing {
  readonly x: number;
  readonly y: number;
}

/** The factor that heights are multiplied by, since slopes look flat from above. */
const EXAGGERATION = 1.6;

/** The direction to the light: north-west, as is usual in maps, 45° above the horizon. */
const LIGHT = { east: -0.5, north: 0.5, up: Math.SQRT1_2 };

/**
 * Computes the brightness of points under a light from the north-west.
 *
 * @param elevationAt Returns the elevation of a point in metres, with rows counted
 * from the north, or `undefined` outside of the model.
 * @param spacing The distances between neighbouring points.
 * @returns A function that returns the brightness of a point, from 0 to 1. Level
 * ground has √½.
 */
export function hillShade(
  elevationAt: (x: number, y: number) => number | undefined,
  spacing: Spacing,
): (x: number, y: number) => number {
  return (x, y) => {
    const here = elevationAt(x, y) ?? 0;
    const east = EXAGGERATION *
      slope(elevationAt(x - 1, y), here, elevationAt(x + 1, y), spacing.x);
    const north = EXAGGERATION *
      slope(elevationAt(x, y + 1), here, elevationAt(x, y - 1), spacing.y);
    const towardsLight = LIGHT.up - LIGHT.east * east - LIGHT.north * north;
    return Math.max(0, towardsLight / Math.sqrt(1 + east ** 2 + north ** 2));
  };
}

/** Computes the slope at a point, which may lack one neighbour or both. */
function slope(
  before: number | undefined,
  here: number,
  after: number | undefined,
  distance: number,
): number {
  const steps = Number(before !== undefined) + Number(after !== undefined);
  return steps === 0
    ? 0
    : ((after ?? here) - (before ?? here)) / (steps * distance);
}
