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
  /** The least number of dimensions that the format is for. */
  readonly #leastRank: number;
  /** The number of runs of digits in a key of the least rank, and how many more one more dimension has. */
  readonly #runs: { readonly least: number; readonly more: number };
  /** The layout for the number of dimensions that was used last. */
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
    this.#tokens = parseFormat(format);
    const isApart = separator !== undefined && !/^[0-9]*$/.test(separator);
    if (hasRest(this.#tokens) && !isApart) {
      const found = describe(separator);
      throw new RangeError(
        `Expected a separator for {*} with a character other than a digit, such as "/", found ${found}`,
      );
    }
    const least = this.#leastRank = leastRank(format, this.#tokens);
    const ranks = hasRest(this.#tokens)
      ? [least, least + 1, least + 2].filter((rank) => rank <= MOST_DIMENSIONS)
      : [least];
    const [one, two = Infinity] = ranks.map((rank) => this.#checkKeys(rank));
    this.#runs = { least: one!, more: two - one! };
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
    const { texts, fields, unnumbered } = this.#layoutFor(coordinates.length);
    const wrong = unnumbered.find((dimension) => coordinates[dimension] !== 0);
    if (wrong !== undefined) {
      const found = coordinates[wrong];
      throw invalid(
        this.format,
        `has no placeholder for dimension ${wrong}, where the only coordinate is 0 then, found ${found}; expected a placeholder for each dimension with several chunks, such as "{${wrong}}"`,
      );
    }
    let key = texts[0]!;
    for (const [i, field] of fields.entries()) {
      key += digitsOf(field, coordinates[field.dimension]!) + texts[i + 1];
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
    const layout = this.#layoutOfKey(key, rank);
    const digits = layout?.pattern.exec(key)?.slice(1);
    const isKey = digits?.every((each) => Number.isSafeInteger(Number(each)));
    if (!layout || !digits || !isKey) {
      const format = sentence`is not a key of the format ${this.format}`;
      const separator = this.separator === undefined
        ? ""
        : sentence` with the separator ${this.separator}`;
      throw new ChunkKeyError(key, format + separator);
    }
    const coordinates = new Array<number>(layout.rank).fill(0);
    let problem: string | undefined;
    for (const [i, field] of layout.fields.entries()) {
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

  #layoutFor(rank: number): Layout {
    if (this.#layout?.rank !== rank) {
      const { format, separator = "" } = this;
      this.#layout = layoutOf(format, this.#tokens, separator, rank);
    }
    return this.#layout;
  }

  /** The layout for the number of dimensions that a key has; `undefined` if the format is for no such number. */
  #layoutOfKey(key: string, expected: number | undefined): Layout | undefined {
    const { least, more } = this.#runs;
    const rank = hasRest(this.#tokens)
      ? this.#leastRank + (countRuns(key) - least) / more
      : Math.max(expected ?? 0, this.#leastRank);
    if (!Number.isInteger(rank)) return undefined;
    try {
      return this.#layoutFor(rank);
    } catch (error) {
      if (error instanceof RangeError) return undefined;
      throw error;
    }
  }

  /** Checks the keys of arrays of one rank, and returns their number of runs of digits. */
  #checkKeys(rank: number): number {
    const { format } = this;
    const shared = ambiguousField(this.#layoutFor(rank));
    if (shared !== undefined) {
      throw invalid(
        format,
        `could give two chunks one key, since ${shared.text} follows other digits directly; expected a character other than a digit before it, or widths such as "{0:04}"`,
      );
    }
    const key = this.encode(new Array(rank).fill(0)); // The first numbers fit.
    const problem = chunkKeyProblem(key);
    if (problem === undefined) return countRuns(key);
    throw invalid(
      format,
      `cannot be used, since the key ${describe(key)} ${problem}`,
    );
  }
}

function countRuns(key: string): number {
  return key.match(/[0-9]+/g)?.length ?? 0;
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

/** Returns the format with `count` placeholders in place of `{*}`, if there is one. */
function expand(
  { texts, placeholders }: Tokens,
  separator: string,
  count: number,
): Tokens {
  const at = placeholders.findIndex(({ index }) => index === "*");
  if (at < 0) return { texts, placeholders };
  const separators = new Array<string>(count - 1).fill(separator);
  const rest = new Array<Placeholder>(count).fill(placeholders[at]!);
  return {
    texts: texts.toSpliced(at + 1, 0, ...separators),
    placeholders: placeholders.toSpliced(at, 1, ...rest),
  };
}

/**
 * Returns the field by which two chunks could share a key, or `undefined`. The digits of
 * numbers that stand side by side are distinguished by their widths, of which at most one
 * may be missing.
 */
function ambiguousField({ texts, fields }: Layout): Field | undefined {
  let unpadded = 0; // The number of fields without a width that stand side by side.
  return fields.find(({ width }, i) => {
    const between = i === 0 ? "/" : texts[i]!;
    if (between !== "") unpadded = 0;
    if (width === 0) unpadded++;
    return /^[0-9]+$/.test(between) || unpadded > 1;
  });
}

/** The digits of one coordinate in keys. */
interface Field extends Omit<Placeholder, "index"> {
  readonly dimension: number;
  /** Whether the number has exactly `width` digits, since it stands beside another. */
  readonly isFixed: boolean;
}

/** A format for one number of dimensions. */
interface Layout {
  readonly rank: number;
  /** One more than there are fields. */
  readonly texts: readonly string[];
  readonly fields: readonly Field[];
  /** The dimensions without a field, along which all coordinates are 0. */
  readonly unnumbered: readonly number[];
  /** Matches all keys and some other texts, and captures the digits of the fields. */
  readonly pattern: RegExp;
}

/**
 * Assigns each placeholder to a dimension.
 *
 * @throws {RangeError} If the format is not for this number of dimensions.
 */
function layoutOf(
  format: string,
  tokens: Tokens,
  separator: string,
  rank: number,
): Layout {
  const { length: least } = tokens.placeholders;
  if (rank < least || rank > MOST_DIMENSIONS) {
    throw invalid(
      format,
      `is for rank ${least} to ${MOST_DIMENSIONS}, found ${rank}; expected no more placeholders than dimensions`,
    );
  }
  const { dimensions, others } = dimensionsOf(format, tokens, rank);
  const { texts, placeholders } = expand(tokens, separator, others.length);
  const fields = placeholders.map(({ index: _, ...placeholder }, i) => ({
    ...placeholder,
    dimension: dimensions[i]!,
    isFixed: placeholder.width > 0 &&
      (i > 0 && texts[i] === "" ||
        i < placeholders.length - 1 && texts[i + 1] === ""),
  }));
  const pattern = fields.map(({ width, isFixed }, i) =>
    `([0-9]${isFixed ? `{${width}}` : "+"})${escape(texts[i + 1]!)}`
  );
  return {
    rank,
    texts,
    fields,
    unnumbered: hasRest(tokens) ? [] : others,
    pattern: new RegExp(`^${escape(texts[0]!)}${pattern.join("")}$`),
  };
}

/**
 * The least number of dimensions that a format is for.
 *
 * @throws {RangeError} If the format is for none.
 */
function leastRank(format: string, tokens: Tokens): number {
  for (let rank = tokens.placeholders.length;; rank++) {
    try {
      dimensionsOf(format, tokens, rank);
      return rank;
    } catch (error) {
      if (rank >= MOST_DIMENSIONS) throw error;
    }
  }
}

/** Returns the dimensions in the order of their placeholders, and the dimensions that none names. */
function dimensionsOf(
  format: string,
  { placeholders }: Tokens,
  rank: number,
): { dimensions: number[]; others: number[] } {
  const named = new Map<number, string>();
  for (const { text, index } of placeholders) {
    if (index === "*") continue;
    const dimension = index < 0 ? rank + index : index;
    if (dimension < 0 || dimension >= rank) {
      throw invalid(
        format,
        `holds ${text}, which is out of range for rank ${rank}`,
      );
    }
    const other = named.get(dimension);
    if (other !== undefined) {
      throw invalid(
        format,
        `holds ${other} and ${text}, which are the same dimension for rank ${rank}`,
      );
    }
    named.set(dimension, text);
  }
  const others = Array.from({ length: rank }, (_, dimension) => dimension)
    .filter((dimension) => !named.has(dimension));
  const dimensions = placeholders.flatMap(({ index }) =>
    index === "*" ? others : index < 0 ? rank + index : index
  );
  return { dimensions, others };
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
