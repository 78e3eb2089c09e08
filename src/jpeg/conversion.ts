import {
  COLOR_COUNTS,
  type ColorConverter,
  colorConverter,
  type Colors,
} from "./colors.ts";
import type { Frame } from "./frame.ts";

/** The headers before a frame that decide its colors. */
export interface Headers {
  isJfif: boolean;
  /** The transform in Adobe's segment. */
  adobe: number | undefined;
}

/** A conversion of colors. */
export interface Conversion {
  readonly convert: ColorConverter;
  /** The number of samples of a converted pixel. */
  readonly count: number;
}

/**
 * Finds the conversion of a picture.
 *
 * @param from The colors that are stored; by default found by the headers.
 * @param wanted The colors to convert to; by default `gray`, `rgb`, `cmyk` or the
 * stored ones.
 * @throws {SyntaxError} If libjpeg does not convert these colors.
 */
export function conversionOf(
  frame: Frame,
  headers: Headers,
  from: Colors = colorsOf(frame, headers),
  wanted?: Colors,
): Conversion {
  const components = frame.components.length;
  if (components !== (COLOR_COUNTS[from] ?? components)) {
    throw new SyntaxError(
      `Expected ${
        COLOR_COUNTS[from]
      } components for the colors ${from}, found ${components}`,
    );
  }
  const to = wanted ??
    (from === "ycbcr" ? "rgb" : from === "ycck" ? "cmyk" : from);
  const convert = colorConverter(from, to);
  if (convert) return { convert, count: COLOR_COUNTS[to] ?? components };
  throw new SyntaxError(`The colors ${from} are not converted to ${to}`);
}

/** The colors that libjpeg takes a picture to have. */
function colorsOf({ components }: Frame, { isJfif, adobe }: Headers): Colors {
  switch (components.length) {
    case 1:
      return "gray";
    case 3: {
      if (isJfif) return "ycbcr";
      if (adobe !== undefined) return adobe === 0 ? "rgb" : "ycbcr";
      const names = components.map(({ id }) => String.fromCharCode(id));
      return names.join("") === "RGB" ? "rgb" : "ycbcr";
    }
    case 4:
      return adobe === undefined || adobe === 0 ? "cmyk" : "ycck";
    default:
      return "unknown";
  }
}
