import { describe } from "../errors/mod.ts";
import { MOST_DIMENSIONS } from "../metadata/mod.ts";

/** A placeholder of a format. */
export interface Placeholder {
  /** As in the format, such as `{-1:04}`. */
  readonly text: string;
  /** A dimension, counted from the end if negative, or `*` for all others. */
  readonly index: number | "*";
  /** The least number of digits; 0 without padding. */
  readonly width: number;
}

/** A format as texts and placeholders: each placeholder follows the text of its place. */
export interface Format {
  /** One more than placeholders; the texts are empty where there is none. */
  readonly texts: readonly string[];
  readonly placeholders: readonly Placeholder[];
}

/** The greatest width. Names of files have at most 255 bytes. */
const WIDEST = 255;

/** Texts that the draft forbids in formats. */
const FORBIDDEN = ["..", "zarr.json"];

/** An escaped brace, a placeholder, a brace that is neither, or other text. */
const TOKEN = /\{\{|\}\}|\{(\*|0|-?[1-9]\d*)(?::0([1-9]\d*))?\}|[{}]|[^{}]+/g;

/**
 * Parses a format such as `c/{0}/{-1:04}.tiff`.
 *
 * @throws {RangeError} If braces are not those of a placeholder or escaped, a width
 *   is too large, there is no placeholder, a dimension has two, or a text is forbidden.
 */
export function parseFormat(format: string): Format {
  const texts = [""];
  const placeholders: Placeholder[] = [];
  for (const [token, index, width = "0"] of format.matchAll(TOKEN)) {
    if (index !== undefined) {
      if (Number(width) > WIDEST) {
        throw invalid(
          format,
          `pads to more than ${WIDEST} digits with ${describe(token)}`,
        );
      }
      placeholders.push({
        text: token,
        index: index === "*" ? "*" : Number(index),
        width: Number(width),
      });
      texts.push("");
    } else if (token === "{" || token === "}") {
      throw invalid(
        format,
        `holds a single "${token}"; expected placeholders such as "{0}", "{-1:04}" and "{*}", and "{{" and "}}" for braces in keys`,
      );
    } else {
      const text = token === "{{" || token === "}}" ? token[0] : token;
      texts.push(`${texts.pop()}${text}`);
    }
  }
  if (placeholders.length === 0) {
    throw invalid(format, 'has no placeholder; expected one such as "{0}"');
  }
  const twice = placeholders.find(({ index }, i) =>
    placeholders.findIndex((other) => other.index === index) < i
  );
  if (twice !== undefined) {
    throw invalid(
      format,
      `holds {${twice.index}} twice; expected each dimension once`,
    );
  }
  const forbidden = FORBIDDEN.find((text) =>
    texts.some((part) => part.includes(text))
  );
  if (forbidden !== undefined) {
    throw invalid(format, `holds "${forbidden}", which formats may not hold`);
  }
  return { texts, placeholders };
}

/** Returns the error for a format that cannot be used. */
export function invalid(format: string, problem: string): RangeError {
  return new RangeError(`Format ${describe(format)} ${problem}`);
}

/** Returns the format with `count` placeholders in place of `{*}`, if there is one. */
export function expand(
  { texts, placeholders }: Format,
  separator: string,
  count: number,
): Format {
  const at = placeholders.findIndex(({ index }) => index === "*");
  if (at < 0) return { texts, placeholders };
  const rest = placeholders[at]!;
  return {
    texts: [
      ...texts.slice(0, at + 1),
      ...new Array<string>(count - 1).fill(separator),
      ...texts.slice(at + 1),
    ],
    placeholders: [
      ...placeholders.slice(0, at),
      ...new Array<Placeholder>(count).fill(rest),
      ...placeholders.slice(at + 1),
    ],
  };
}

/** Returns the key of an expanded format where all coordinates are 0. */
export function keyOfZeros({ texts, placeholders }: Format): string {
  return placeholders.reduce(
    (key, { width }, i) => key + "0".padStart(width, "0") + texts[i + 1],
    texts[0]!,
  );
}

/**
 * Returns why two chunks could share a key of an expanded format, or `undefined`. The
 * digits of coordinates that stand side by side are told apart by their widths, of
 * which at most one may be missing.
 */
export function ambiguity(
  { texts, placeholders }: Format,
): string | undefined {
  let unpadded = 0; // Of placeholders that stand side by side.
  const wrong = placeholders.find(({ width }, i) => {
    const between = i === 0 ? "/" : texts[i]!;
    if (between !== "") unpadded = 0;
    if (width === 0) unpadded++;
    return /^[0-9]+$/.test(between) || unpadded > 1;
  });
  return wrong &&
    `could give two chunks one key, since ${wrong.text} follows other digits directly; expected a character other than a digit before it, or widths such as "{0:04}"`;
}

/** The place of a coordinate in keys. */
interface Field {
  readonly dimension: number;
  /** The least number of digits. */
  readonly width: number;
  /** Whether the coordinate has no more digits either, since it stands beside another. */
  readonly isFixed: boolean;
  readonly text: string;
}

/** A format for one number of dimensions. */
export interface Layout {
  readonly rank: number;
  /** One more than fields. */
  readonly texts: readonly string[];
  readonly fields: readonly Field[];
  /** Matches all keys and some more texts; the groups are the digits of the fields. */
  readonly pattern: RegExp;
}

/** The greatest number of dimensions for which an error shows a format. */
const MOST_SHOWN = 5;

/**
 * Assigns each dimension to a placeholder.
 *
 * @throws {RangeError} If the format does not have each dimension exactly once.
 */
export function layoutOf(
  source: string,
  format: Format,
  separator: string,
  rank: number,
): Layout {
  const { length: least } = format.placeholders;
  const most = hasRest(format) ? MOST_DIMENSIONS : least;
  if (rank < least || rank > most) {
    throw invalid(
      source,
      `is for rank ${
        least === most ? least : `${least} to ${most}`
      }, found ${rank}; expected a placeholder for each dimension${
        rank > 0 && rank <= MOST_SHOWN
          ? `, such as "${
            Array.from({ length: rank }, (_, i) => `{${i}}`).join("_")
          }"`
          : ""
      }`,
    );
  }
  const dimensions = dimensionsOf(source, format, rank);
  const { texts, placeholders } = expand(format, separator, rank - least + 1);
  const fields = placeholders.map(({ text, width }, i) => ({
    dimension: dimensions[i]!,
    width: width || 1,
    isFixed: width > 0 &&
      (i > 0 && texts[i] === "" ||
        i < placeholders.length - 1 && texts[i + 1] === ""),
    text,
  }));
  const pattern = fields.map(({ width, isFixed }, i) =>
    `([0-9]{${width}${isFixed ? "" : ","}})${escape(texts[i + 1]!)}`
  );
  return {
    rank,
    texts,
    fields,
    pattern: new RegExp(`^${escape(texts[0]!)}${pattern.join("")}$`),
  };
}

/** Whether a format has the placeholder `{*}`, for all dimensions that no other names. */
export function hasRest({ placeholders }: Format): boolean {
  return placeholders.some(({ index }) => index === "*");
}

/** Returns the dimension of each placeholder, in their order, with the others at `{*}`. */
function dimensionsOf(
  source: string,
  { placeholders }: Format,
  rank: number,
): number[] {
  const named = new Map<number, Placeholder>();
  const places = placeholders.map((placeholder) => {
    const { text, index } = placeholder;
    if (index === "*") return index;
    const dimension = index < 0 ? rank + index : index;
    if (dimension < 0 || dimension >= rank) {
      throw invalid(
        source,
        `holds ${text}, which is out of range for rank ${rank}`,
      );
    }
    const other = named.get(dimension);
    if (other !== undefined) {
      throw invalid(
        source,
        `holds ${other.text} and ${text}, which are the same dimension for rank ${rank}`,
      );
    }
    named.set(dimension, placeholder);
    return dimension;
  });
  return places.flatMap((place) =>
    place === "*"
      ? Array.from({ length: rank }, (_, dimension) => dimension)
        .filter((dimension) => !named.has(dimension))
      : place
  );
}

function escape(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}
