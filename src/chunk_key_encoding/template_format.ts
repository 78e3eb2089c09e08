import { describe } from "../errors/mod.ts";
import { MOST_DIMENSIONS } from "../metadata/mod.ts";
import { WHOLE_NUMBER } from "./chunk_key_encoding.ts";

/** A placeholder of a format. */
interface Placeholder {
  /** The placeholder as it is in the format, such as `{-1*10+5:04}`. */
  readonly text: string;
  /** A dimension, counted from the end if negative, or `*` for all others. */
  readonly index: number | "*";
  /** The number of the coordinate 0. */
  readonly first: number;
  /** The difference between the numbers of two neighbouring coordinates; not 0. */
  readonly step: number;
  /** The least number of digits; 0 without padding. */
  readonly width: number;
}

/** A format as texts and placeholders, which alternate: text, placeholder, text and so on. */
export interface Format {
  /** One more than there are placeholders. A text may be empty. */
  readonly texts: readonly string[];
  readonly placeholders: readonly Placeholder[];
}

/** The greatest width, since names of files have at most 255 bytes. */
const WIDEST = 255;

/** Texts that the draft forbids in formats. */
const FORBIDDEN = ["..", "zarr.json"];

/** An escaped brace, a placeholder, a brace that is neither, or other text. */
const TOKEN =
  /\{\{|\}\}|\{(\*|0|-?[1-9]\d*)(?:\*(-?[1-9]\d*))?(?:\+(0|[1-9]\d*))?(?::0([1-9]\d*))?\}|[{}]|[^{}]+/g;

/**
 * Parses a format such as `c/{0}/{-1*10+5:04}.tiff`.
 *
 * @throws {RangeError} If braces are not those of a placeholder or escaped, a number is
 *   too large, there is no placeholder, a dimension has two, or a text is forbidden.
 */
export function parseFormat(format: string): Format {
  const texts = [""];
  const placeholders: Placeholder[] = [];
  for (const found of format.matchAll(TOKEN)) {
    const [token, index, step = "1", first = "0", width = "0"] = found;
    if (index !== undefined) {
      if (Number(width) > WIDEST) {
        throw invalid(
          format,
          `pads to more than ${WIDEST} digits with ${describe(token)}`,
        );
      }
      if (![first, step].every((text) => Number.isSafeInteger(Number(text)))) {
        throw invalid(
          format,
          `counts beyond ${Number.MAX_SAFE_INTEGER} with ${describe(token)}`,
        );
      }
      placeholders.push({
        text: token,
        index: index === "*" ? "*" : Number(index),
        first: Number(first),
        step: Number(step),
        width: Number(width),
      });
      texts.push("");
    } else if (token === "{" || token === "}") {
      throw invalid(
        format,
        `holds a single "${token}"; expected placeholders such as "{0}", "{-1:04}", "{1*10+5}" and "{*}", and "{{" and "}}" for braces in keys`,
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
    (key, { first, width }, i) =>
      key + String(first).padStart(width, "0") + texts[i + 1],
    texts[0]!,
  );
}

/**
 * Returns the reason why two chunks could share a key of an expanded format, or `undefined`.
 * The digits of numbers that stand side by side are told apart by their widths, of which
 * at most one may be missing.
 */
export function ambiguity(
  { texts, placeholders }: Format,
): string | undefined {
  let unpadded = 0; // The number of placeholders without a width that stand side by side.
  const wrong = placeholders.find(({ width }, i) => {
    const between = i === 0 ? "/" : texts[i]!;
    if (between !== "") unpadded = 0;
    if (width === 0) unpadded++;
    return /^[0-9]+$/.test(between) || unpadded > 1;
  });
  return wrong &&
    `could give two chunks one key, since ${wrong.text} follows other digits directly; expected a character other than a digit before it, or widths such as "{0:04}"`;
}

/** The place of a number in keys. */
export interface Field extends Pick<Placeholder, "first" | "step" | "text"> {
  readonly dimension: number;
  /** The least number of digits, from 1. */
  readonly width: number;
  /** Whether the number has exactly `width` digits, since it stands beside another. */
  readonly isFixed: boolean;
}

/** A format for one number of dimensions. */
export interface Layout {
  readonly rank: number;
  /** One more than there are fields. */
  readonly texts: readonly string[];
  readonly fields: readonly Field[];
  /** The dimensions without a field, along which all coordinates are 0. */
  readonly unnumbered: readonly number[];
  /** Matches all keys and some other texts. The groups are the digits of the fields. */
  readonly pattern: RegExp;
}

/**
 * Assigns each placeholder to a dimension.
 *
 * @throws {RangeError} If the format is for other numbers of dimensions.
 */
export function layoutOf(
  source: string,
  format: Format,
  separator: string,
  rank: number,
): Layout {
  const { length: least } = format.placeholders;
  if (rank < least || rank > MOST_DIMENSIONS) {
    throw invalid(
      source,
      `is for rank ${least} to ${MOST_DIMENSIONS}, found ${rank}; expected no more placeholders than dimensions`,
    );
  }
  const dimensions = dimensionsOf(source, format, rank);
  const { texts, placeholders } = expand(format, separator, rank - least + 1);
  const fields = placeholders.map(({ text, first, step, width }, i) => ({
    dimension: dimensions[i]!,
    first,
    step,
    width: width || 1,
    isFixed: width > 0 &&
      (i > 0 && texts[i] === "" ||
        i < placeholders.length - 1 && texts[i + 1] === ""),
    text,
  }));
  const pattern = fields.map(({ width, isFixed }, i) =>
    `([0-9]${isFixed ? `{${width}}` : "+"})${escape(texts[i + 1]!)}`
  );
  return {
    rank,
    texts,
    fields,
    unnumbered: Array.from({ length: rank }, (_, dimension) => dimension)
      .filter((dimension) => !dimensions.includes(dimension)),
    pattern: new RegExp(`^${escape(texts[0]!)}${pattern.join("")}$`),
  };
}

/**
 * The least number of dimensions that a format is for.
 *
 * @throws {RangeError} If the format is for none.
 */
export function leastRank(source: string, format: Format): number {
  const { length: least } = format.placeholders;
  for (let rank = least; rank < MOST_DIMENSIONS; rank++) {
    try {
      dimensionsOf(source, format, rank);
      return rank;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
  }
  dimensionsOf(source, format, MOST_DIMENSIONS);
  return MOST_DIMENSIONS;
}

/** Whether a format has the placeholder `{*}`. */
export function hasRest({ placeholders }: Format): boolean {
  return placeholders.some(({ index }) => index === "*");
}

/** Returns the dimensions in the order of their placeholders; those without one are at `{*}`. */
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

/**
 * The digits of a coordinate in keys.
 *
 * @throws {RangeError} If the coordinate has no number, or one with more digits than a
 *   fixed width.
 */
export function digitsOf(field: Field, coordinate: number): string {
  const { dimension, first, step, width, isFixed, text } = field;
  const number = first + step * coordinate;
  // Rounding never takes a number beyond a limit back to it.
  if (!(Number.isSafeInteger(number) && number >= 0)) {
    throw new RangeError(
      `Expected the coordinate of dimension ${dimension} to have ${WHOLE_NUMBER} by ${text}, found ${coordinate}, which has ${number}`,
    );
  }
  const digits = String(number).padStart(width, "0");
  if (isFixed && digits.length > width) {
    throw new RangeError(
      `Expected the coordinate of dimension ${dimension} to fit into ${text}, which stands beside another placeholder, found ${digits}`,
    );
  }
  return digits;
}

/** The coordinate that digits in a key stand for, or the nearest one and what is wrong with the digits. */
interface FoundDigits {
  readonly coordinate: number;
  readonly problem?: string;
}

/** Finds the coordinate that digits in a key stand for; `undefined` if they are too many. */
export function readDigits(
  field: Field,
  digits: string,
): FoundDigits | undefined {
  const { first, step, width, isFixed, text } = field;
  const number = Number(digits);
  if (!Number.isSafeInteger(number)) return undefined;
  const most = Math.min(
    isFixed ? 10 ** width - 1 : Infinity,
    Number.MAX_SAFE_INTEGER,
  );
  const last = Math.floor((step > 0 ? most - first : first) / Math.abs(step));
  const place = (number - first) / step;
  const [coordinate, before, after] = [Math.round, Math.floor, Math.ceil].map(
    (round) => Math.min(Math.max(round(place), 0), last),
  ) as [number, number, number];
  const expected = digitsOf(field, coordinate);
  if (expected === digits) return { coordinate };
  const isCounted = first + step * coordinate === number;
  const near = isCounted || before === after
    ? expected
    : [before, after].map((each) => digitsOf(field, each)).join(" or ");
  return { coordinate, problem: `has ${digits} at ${text}; expected ${near}` };
}
