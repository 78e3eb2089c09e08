/** Distances between neighbouring points, in metres. */
export interface Spacing {
  readonly x: number;
  readonly y: number;
}

/** Heights count more than distances, since slopes look flat from above. */
const EXAGGERATION = 1.6;

/** Towards the light: from the north-west, as maps have it, 45° above the horizon. */
const LIGHT = { east: -0.5, north: 0.5, up: Math.SQRT1_2 };

/**
 * How bright a point is under a light from the north-west.
 *
 * @param elevationAt The elevation of a point in metres, rows counted from the
 * north, or `undefined` where there is none.
 * @param spacing How far the points are from each other.
 * @returns The brightness of a point, from 0 to 1; level ground has √½.
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

/** The slope at a point with or without neighbours. */
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
