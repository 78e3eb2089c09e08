import type { Spacing } from "./hill_shade.ts";

/** The spacing that many elevation models have, for arrays without a bounding box. */
const DEFAULT_SPACING: Spacing = { x: 30, y: 30 };

/** The length of a degree along a meridian, in metres. */
const METRES_PER_DEGREE = 111_195;

/**
 * Computes the distances between the points of an array from its attribute
 * `bounding_box`, an object with `west`, `south`, `east` and `north` in degrees.
 */
export function spacingOf(
  { bounding_box: box }: Record<string, unknown>,
  { width, height }: { width: number; height: number },
): Spacing {
  if (!isBox(box)) return DEFAULT_SPACING;
  const { west, south, east, north } = box;
  const latitude = (south + north) / 2 * Math.PI / 180;
  return {
    x: (east - west) / width * METRES_PER_DEGREE * Math.cos(latitude),
    y: (north - south) / height * METRES_PER_DEGREE,
  };
}

type Box = Record<"west" | "south" | "east" | "north", number>;

function isBox(box: unknown): box is Box {
  const { west, south, east, north } = Object(box) as Box;
  return [west, south, east, north].every(Number.isFinite) &&
    west < east && -90 <= south && south < north && north <= 90;
}
