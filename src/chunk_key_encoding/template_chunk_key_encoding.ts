import { ChunkKeyError, describe, sentence } from "../errors/mod.ts";
import { MOST_DIMENSIONS } from "../metadata/mod.ts";
import { chunkKeyProblem } from "../stores/mod.ts";
import {
  assertCoordinates,
  assertKeyIsString,
  assertText,
  checkRank,
  type ChunkKeyEncoding,
  WHOLE_NUMBER,
} from "./chunk_key_encoding.ts";

/**
 * The chunk key encoding `template`: keys by a format with a placeholder for each
 * dimension, such as `tile_x{1:03}_y{0:03}.tif`, for files that have names already.
 *
 * - `{0}` is the coordinate of the first dimension in decimal, `{-1}` that of the last.
 * - `{0:04}` adds zeros in front, up to four digits. Coordinates with more digits have
 *   more, unless the placeholder stands directly beside another: then the width is
 *   fixed, and coordinates with more digits are refused.
 * - `{0*10+5}` counts 5, 15, 25 and so on, in place of 0, 1, 2: the coordinate times 10,
 *   plus 5. Either may be missing, as in `{0+1:04}`, and `{0*-1+47}` counts down from 47.
 * - `{*}` stands for all dimensions that no other placeholder names, at least one,
 *   with `separator` between them.
 * - Without `{*}`, a dimension may have no placeholder: its coordinates are 0 then, so
 *   that arrays have one chunk along it.
 * - `{{` and `}}` are braces.
 *
 * Source: the draft in https://github.com/zarr-developers/zarr-extensions/pull/69, as
 * of September 2026. The draft calls the format both `format` and `template`; both are
 * read, and `format` is written. The draft does not say how keys are decoded: formats
 * that do not tell all chunks apart, such as `{0}{1}`, are refused. In the draft, numbers
 * start at 0, and every dimension has a placeholder.
 *
 * @example
 * ```ts
 * import { TemplateChunkKeyEncoding } from "@zarr-parts/zarr-parts";
 * import { assertEquals, assertThrows } from "@std/assert";
 *
 * const tiles = new TemplateChunkKeyEncoding("tile_x{1:03}_y{0:03}.tif");
 * assertEquals(tiles.encode([3, 12]), "tile_x012_y003.tif");
 * assertEquals(tiles.decode("tile_x012_y003.tif"), [3, 12]);
 *
 * const planes = new TemplateChunkKeyEncoding("images/{-1}/{*:04}.jpeg", "_");
 * assertEquals(planes.encode([11, 22, 33]), "images/33/0011_0022.jpeg");
 *
 * const days = new TemplateChunkKeyEncoding("day_{0+1:03}.zip");
 * assertEquals(days.encode([30, 0, 0]), "day_031.zip");
 * assertEquals(days.decode("day_031.zip", 3), [30, 0, 0]);
 *
 * assertThrows(() => new TemplateChunkKeyEncoding("{0}{1}"), RangeError, "two chunks");
 * ```
 */
export class TemplateChunkKeyEncoding implements ChunkKeyEncoding {
  /** The name in metadata. */
  readonly name = "template";
  /** The keys, with placeholders for coordinates. */
  readonly format: string;
  /** The text between the coordinates of `{*}`. */
  readonly separator: string | undefined;
  readonly #tokens: Tokens;
  /** Matches all keys and some other texts, and captures the digits of each placeholder. */
  readonly #pattern: RegExp;
  /** The least number of dimensions that the format is for. */
  readonly #leastRank: number;
  /** The fields for the number of dimensions that was used last. */
  #layout: Layout | undefined;

  /**
   * Creates the encoding.
   *
   * @param format The keys, with placeholders, in at most 1024 characters. No
   *   dimension has two placeholders, padded widths are at most 255, and other numbers
   *   are at most 2^53−1.
   * @param separator The text between the coordinates of `{*}`, required with `{*}`, in
   *   at most 1024 characters, of which one is not a digit.
   * @throws {RangeError} If the format is not valid, two chunks could share a key, or
   *   keys could leave the array's folder, be keys of metadata documents or be refused
   *   by stores.
   */
  constructor(format: string, separator?: string) {
    assertText(format, "a format");
    if (separator !== undefined) assertText(separator, "a separator");
    this.format = format;
    this.separator = separator;
    const tokens = this.#tokens = parseFormat(format);
    const isApart = separator !== undefined && !/^[0-9]*$/.test(separator);
    if (hasRest(tokens) && !isApart) {
      const found = describe(separator);
      throw new RangeError(
        `Expected a separator for {*} with a character other than a digit, such as "/", found ${found}`,
      );
    }
    const shared = ambiguousPlaceholder(tokens);
    if (shared !== undefined) {
      throw invalid(
        format,
        `could give two chunks one key, since ${shared.text} follows other digits directly; expected a character other than a digit before it, or widths such as "{0:04}"`,
      );
    }
    this.#pattern = patternOf(tokens, separator);
    const least = this.#leastRank = leastRank(format, tokens);
    const most = Math.min(least + (hasRest(tokens) ? 2 : 0), MOST_DIMENSIONS);
    for (let rank = least; rank <= most; rank++) {
      const key = this.encode(new Array(rank).fill(0)); // The first numbers fit.
      const problem = chunkKeyProblem(key);
      if (problem === undefined) continue;
      throw invalid(
        format,
        `cannot be used, since the key ${describe(key)} ${problem}`,
      );
    }
  }

  /**
   * Returns the key of a chunk: the format with a coordinate at each placeholder.
   *
   * @throws {RangeError} If a coordinate is out of range, has more digits than a fixed
   *   width, has no number by the format, or is not 0 where its dimension has no
   *   placeholder, or the format is for another number of dimensions.
   */
  encode(coordinates: readonly number[]): string {
    assertCoordinates(coordinates);
    const layout = this.#layoutFor(coordinates.length);
    if (typeof layout === "string") throw invalid(this.format, layout);
    const { fields, unnumbered } = layout;
    const wrong = unnumbered.find((dimension) => coordinates[dimension] !== 0);
    if (wrong !== undefined) {
      const found = coordinates[wrong];
      throw invalid(
        this.format,
        `has no placeholder for dimension ${wrong}, where the only coordinate is 0 then, found ${found}; expected a placeholder for each dimension with several chunks, such as "{${wrong}}"`,
      );
    }
    const { texts } = this.#tokens;
    let key = texts[0]!;
    for (const [i, group] of fields.entries()) {
      const digits = group.map((field) =>
        digitsOf(field, coordinates[field.dimension]!)
      );
      key += digits.join(this.separator) + texts[i + 1];
    }
    return key;
  }

  /**
   * Returns the grid coordinates of the chunk with a key.
   *
   * @param rank The array's number of dimensions. By default, the number that tells from
   *   the key with `{*}`, and otherwise the least that the format is for.
   * @throws {ChunkKeyError} If the key is not that of a chunk, or has another rank. The
   *   error has the nearest key of a chunk if the key has numbers that are no chunk's.
   */
  decode(key: string, rank?: number): number[] {
    assertKeyIsString(key);
    const digits = this.#digitsIn(key);
    const layout = digits && this.#layoutFor(
      hasRest(this.#tokens)
        ? digits.length
        : Math.max(rank ?? 0, this.#leastRank),
    );
    if (!digits || typeof layout !== "object") {
      const format = sentence`is not a key of the format ${this.format}`;
      const separator = this.separator === undefined
        ? ""
        : sentence` with the separator ${this.separator}`;
      throw new ChunkKeyError(key, format + separator);
    }
    const coordinates = new Array<number>(layout.rank).fill(0);
    let problem: string | undefined;
    for (const [i, field] of layout.fields.flat().entries()) {
      const nearest = nearestCoordinate(field, digits[i]!);
      coordinates[field.dimension] = nearest;
      problem ??= digitsProblem(field, digits[i]!, nearest);
    }
    if (problem !== undefined) {
      const nearest = this.encode(coordinates);
      throw new ChunkKeyError(key, problem, { nearest });
    }
    return checkRank(key, coordinates, rank);
  }

  /** Returns the encoding's metadata, with the separator if there is one. */
  toJSON(): {
    name: "template";
    configuration: { format: string; separator?: string };
  } {
    const { name, format, separator } = this;
    const rest = separator === undefined ? {} : { separator };
    return { name, configuration: { format, ...rest } };
  }

  /** The digits of each number in a key; `undefined` for a text that is no key. */
  #digitsIn(key: string): string[] | undefined {
    const found = this.#pattern.exec(key)?.slice(1);
    const digits = found?.flatMap((digits, i) =>
      this.#tokens.placeholders[i]!.index === "*"
        ? digits.split(this.separator!)
        : digits
    );
    return digits?.every((each) => Number.isSafeInteger(Number(each)))
      ? digits
      : undefined;
  }

  /** The layout for a number of dimensions, or why the format is not for this number. */
  #layoutFor(rank: number): Layout | string {
    if (this.#layout?.rank === rank) return this.#layout;
    const layout = layoutOf(this.#tokens, rank);
    if (typeof layout === "object") this.#layout = layout;
    return layout;
  }
}

/** Returns the error for a format that cannot be used. */
function invalid(format: string, problem: string): RangeError {
  return new RangeError(`Format ${describe(format)} ${problem}`);
}

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
  /** Whether it directly follows another placeholder. */
  readonly isAfterOther: boolean;
}

/** A format as texts and placeholders, which alternate: text, placeholder, text and so on. */
interface Tokens {
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

/** Parses a format such as `c/{0}/{-1*10+5:04}.tiff`. */
function parseFormat(format: string): Tokens {
  const texts = [""];
  const placeholders: Placeholder[] = [];
  for (const found of format.matchAll(TOKEN)) {
    const [token, index, step = "1", first = "0", width = "0"] = found;
    if (index !== undefined) {
      const placeholder = {
        text: token,
        index: index === "*" ? index : Number(index),
        first: Number(first),
        step: Number(step),
        width: Number(width),
        isAfterOther: placeholders.length > 0 && texts.at(-1) === "",
      } as const;
      assertPlaceholder(format, placeholder, placeholders);
      placeholders.push(placeholder);
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
  for (const text of FORBIDDEN) {
    if (texts.some((part) => part.includes(text))) {
      throw invalid(format, `holds "${text}", which formats may not hold`);
    }
  }
  return { texts, placeholders };
}

function assertPlaceholder(
  format: string,
  { text, index, first, step, width }: Placeholder,
  others: readonly Placeholder[],
): void {
  const problem = width > WIDEST
    ? sentence`pads to more than ${WIDEST} digits with ${text}`
    : !Number.isSafeInteger(first) || !Number.isSafeInteger(step)
    ? sentence`counts beyond ${Number.MAX_SAFE_INTEGER} with ${text}`
    : others.some((other) => other.index === index)
    ? `holds {${index}} twice; expected each dimension once`
    : undefined;
  if (problem !== undefined) throw invalid(format, problem);
}

function hasRest({ placeholders }: Tokens): boolean {
  return placeholders.some(({ index }) => index === "*");
}

/**
 * Returns the placeholder by which two chunks could share a key, or `undefined`. The digits of
 * numbers that stand side by side are distinguished by their widths, of which at most one
 * may be missing.
 */
function ambiguousPlaceholder(
  { texts, placeholders }: Tokens,
): Placeholder | undefined {
  let unpadded = 0; // The number of placeholders without a width that stand side by side.
  return placeholders.find(({ width, isAfterOther }, i) => {
    if (!isAfterOther) unpadded = 0;
    if (width === 0) unpadded++;
    const isAfterDigits = i > 0 && /^[0-9]+$/.test(texts[i]!);
    return isAfterDigits || unpadded > 1;
  });
}

/** Returns the pattern of keys. A number with a width that stands beside another has as many digits. */
function patternOf(
  { texts, placeholders }: Tokens,
  separator = "",
): RegExp {
  const pattern = placeholders.map(({ index, width, isAfterOther }, i) => {
    const digits = (isFixed: boolean) =>
      `[0-9]${isFixed && width > 0 ? `{${width}}` : "+"}`;
    const isBeforeOther = placeholders[i + 1]?.isAfterOther === true;
    const only = digits(isAfterOther || isBeforeOther);
    const apart = escape(separator);
    const several = `${digits(isAfterOther)}(?:${apart}[0-9]+)*?${apart}${
      digits(isBeforeOther)
    }`;
    const numbers = index === "*" ? `${only}|${several}` : only;
    return `(${numbers})${escape(texts[i + 1]!)}`;
  });
  return new RegExp(`^${escape(texts[0]!)}${pattern.join("")}$`);
}

/** The digits of one coordinate in keys. */
interface Field extends Omit<Placeholder, "index" | "isAfterOther"> {
  readonly dimension: number;
  /** Whether the number has exactly `width` digits, since it stands beside another. */
  readonly isFixed: boolean;
}

/** The numbers in keys of arrays of one rank. */
interface Layout {
  readonly rank: number;
  /** The fields of each placeholder: one, or those of `{*}`. */
  readonly fields: readonly (readonly Field[])[];
  /** The dimensions without a field, along which all coordinates are 0. */
  readonly unnumbered: readonly number[];
}

/** Assigns each placeholder to a dimension, and `{*}` to all others; returns what prevents it for this number of dimensions. */
function layoutOf(tokens: Tokens, rank: number): Layout | string {
  const { placeholders } = tokens;
  const { length: least } = placeholders;
  if (rank < least || rank > MOST_DIMENSIONS) {
    return `is for rank ${least} to ${MOST_DIMENSIONS}, found ${rank}; expected no more placeholders than dimensions`;
  }
  const named = new Map<number, string>();
  for (const { text, index } of placeholders) {
    if (index === "*") continue;
    const dimension = index < 0 ? rank + index : index;
    if (dimension < 0 || dimension >= rank) {
      return `holds ${text}, which is out of range for rank ${rank}`;
    }
    const other = named.get(dimension);
    if (other !== undefined) {
      return `holds ${other} and ${text}, which are the same dimension for rank ${rank}`;
    }
    named.set(dimension, text);
  }
  const others = Array.from({ length: rank }, (_, dimension) => dimension)
    .filter((dimension) => !named.has(dimension));
  const fields = placeholders.map(({ index, ...placeholder }, i) => {
    const isBeforeOther = placeholders[i + 1]?.isAfterOther === true;
    const dimensions = index === "*"
      ? others
      : [index < 0 ? rank + index : index];
    return dimensions.map((dimension, k) => ({
      ...placeholder,
      dimension,
      isFixed: placeholder.width > 0 &&
        (k === 0 && placeholder.isAfterOther ||
          k === dimensions.length - 1 && isBeforeOther),
    }));
  });
  return { rank, fields, unnumbered: hasRest(tokens) ? [] : others };
}

/**
 * The least number of dimensions that a format is for.
 *
 * @throws {RangeError} If the format is for none.
 */
function leastRank(format: string, tokens: Tokens): number {
  for (let rank = tokens.placeholders.length;; rank++) {
    const layout = layoutOf(tokens, rank);
    if (typeof layout === "object") return rank;
    if (rank >= MOST_DIMENSIONS) throw invalid(format, layout);
  }
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
function digitsOf(field: Field, coordinate: number): string {
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

/** The coordinate whose digits in keys are nearest to a number. */
function nearestCoordinate(
  { first, step, width, isFixed }: Field,
  digits: string,
  round = Math.round,
): number {
  const most = Math.min(
    isFixed ? 10 ** width - 1 : Infinity,
    Number.MAX_SAFE_INTEGER,
  );
  const last = Math.floor((step > 0 ? most - first : first) / Math.abs(step));
  return Math.min(
    Math.max(round((Number(digits) - first) / step), 0),
    last,
  );
}

/** What is wrong with digits in a key that are not those of the nearest coordinate; `undefined` if they are. */
function digitsProblem(
  field: Field,
  digits: string,
  nearest: number,
): string | undefined {
  const expected = digitsOf(field, nearest);
  if (expected === digits) return undefined;
  const isPadding = Number(expected) === Number(digits);
  const near = isPadding
    ? [expected]
    : [Math.floor, Math.ceil].map((round) =>
      digitsOf(field, nearestCoordinate(field, digits, round))
    );
  const numbers = [...new Set(near)].join(" or ");
  return `has ${digits} at ${field.text}; expected ${numbers}`;
}
