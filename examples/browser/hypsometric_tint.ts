/** Red, green and blue, each from 0 to 255. */
export type Colour = readonly [red: number, green: number, blue: number];

/** The colours of land, from plains to summits. */
const LAND: readonly Colour[] = [
  [104, 148, 104],
  [148, 178, 118],
  [206, 208, 148],
  [226, 205, 152],
  [201, 163, 115],
  [165, 127, 98],
  [189, 172, 158],
  [246, 244, 240],
];

/** The colours of the sea, from the deep to the shore. */
const SEA: readonly Colour[] = [
  [28, 62, 112],
  [74, 129, 176],
  [164, 205, 224],
];

/**
 * Maps elevations to the colours of a map. Elevations of 0 or less are sea, in
 * shades of blue.
 *
 * @param lowest The lowest elevation, in metres.
 * @param highest The highest elevation, in metres.
 * @returns A function that returns the colour of an elevation between the two.
 */
export function hypsometricTint(
  lowest: number,
  highest: number,
): (elevation: number) => Colour {
  const shore = Math.max(0, lowest);
  return (elevation) =>
    elevation > 0
      ? colourAt(LAND, (elevation - shore) / (highest - shore))
      : colourAt(SEA, (elevation - lowest) / (0 - lowest));
}

/** Interpolates a colour ramp at a position from 0, its start, to 1, its end. */
function colourAt(ramp: readonly Colour[], place: number): Colour {
  // If all elevations are equal, the position is NaN: use the end of the ramp.
  const at = (Number.isFinite(place) ? place : 1) * (ramp.length - 1);
  const index = Math.min(Math.floor(at), ramp.length - 2);
  const [from, to] = [ramp[index]!, ramp[index + 1]!];
  const mix = (i: 0 | 1 | 2) => from[i] + (at - index) * (to[i] - from[i]);
  return [mix(0), mix(1), mix(2)];
}
