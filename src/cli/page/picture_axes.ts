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
