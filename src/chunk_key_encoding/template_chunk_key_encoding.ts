import { ChunkKeyError, describe } from "../errors/mod.ts";
import { MOST_DIMENSIONS } from "../metadata/mod.ts";
import { chunkKeyProblem, LONGEST_SUFFIX } from "../stores/mod.ts";
import {
  assertCoordinates,
  assertKeyIsString,
  assertRank,
  type ChunkKeyEncoding,
} from "./chunk_key_encoding.ts";

/**
 * The chunk key encoding `template`: keys by a format with a placeholder for each
 * dimension, such as `tile_x{1:03}_y{0:03}.tif`, for files that have names already.
 *
 * - `{0}` is the coordinate of the first dimension in decimal, `{-1}` that of the last.
 * - `{0:04}` adds zeros in front, up to four digits. Coordinates with more digits have
 *   more, unless the placeholder stands directly beside another: then the width is
 *   fixed, and coordinates with more digits are refused.
 * - `{*}` stands for all dimensions that no other placeholder names, at least one,
 *   with `separator` between them.
 * - `{{` and `}}` are braces.
 *
 * Source: the draft in https://github.com/zarr-developers/zarr-extensions/pull/69, as
 * of September 2026. The draft calls the format both `format` and `template`; both are
 * read, and `format` is written. The draft does not say how keys are decoded: formats
 * that do not tell all chunks apart, such as `{0}{1}`, are refused.
 *
 * @example
 * ```ts
 * import { TemplateChunkKeyEncoding } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const tiles = new TemplateChunkKeyEncoding("tile_x{1:03}_y{0:03}.tif");
 * assertEquals(tiles.encode([3, 12]), "tile_x012_y003.tif");
 * assertEquals(tiles.decode("tile_x012_y003.tif"), [3, 12]);
 *
 * const planes = new TemplateChunkKeyEncoding("images/{-1}/{*:04}.jpeg", "_");
 * assertEquals(planes.encode([11, 22, 33]), "images/33/0011_0022.jpeg");
 * ```
 */
export class TemplateChunkKeyEncoding implements ChunkKeyEncoding {
  /** The name in metadata. */
  readonly name = "template";
  /** The keys, with placeholders for coordinates. */
  readonly format: string;
  /** The text between the coordinates of `{*}`. */
  readonly separator: string | undefined;
  readonly #format: Format;
  /**
   * `first` is the number of runs of digits in a key if `{*}` stands for one dimension, and
   * `further` the number of additional runs for each further dimension at `{*}`. By them,
   * the runs of digits in a key tell its rank.
   */
  readonly #runs: { readonly first: number; readonly further: number };
  /** The layout for the number of dimensions that was used last. */
  #layout: Layout | undefined;

  /**
   * Creates the encoding with a format.
   *
   * @param format The keys, with placeholders, in at most 1024 characters. Each
   *   dimension has exactly one placeholder, and padded widths are at most 255.
   * @param separator The text between the coordinates of `{*}`, required with `{*}`, in
   *   at most 1024 characters, of which one is not a digit.
   * @throws {TypeError} If the format or the separator is not a string.
   * @throws {RangeError} If the format is not valid, two chunks could share a key, or
   *   keys could leave the array's folder, be keys of metadata documents or be refused
   *   by stores.
   *
   * @example
   * ```ts
   * import { TemplateChunkKeyEncoding } from "@zarr-parts/zarr-parts";
   * import { assertEquals, assertThrows } from "@std/assert";
   *
   * assertEquals(new TemplateChunkKeyEncoding("{0:02}{1:02}").encode([7, 42]), "0742");
   * assertThrows(() => new TemplateChunkKeyEncoding("{0}{1}"), RangeError, "two chunks");
   * assertThrows(() => new TemplateChunkKeyEncoding("{0}_{0}"), RangeError, "twice");
   * ```
   */
  constructor(format: string, separator?: string) {
    assertText(format, "a format");
    if (separator !== undefined) assertText(separator, "a separator");
    this.format = format;
    this.separator = separator;
    this.#format = parseFormat(format);
    if (!hasRest(this.#format)) {
      this.#layoutFor(this.#format.placeholders.length);
    } else if (separator === undefined || /^[0-9]*$/.test(separator)) {
      throw new RangeError(
        `Expected a separator for {*} with a character other than a digit, such as "/", found ${
          describe(separator)
        }`,
      );
    }
    const [one, two] = [1, 2, 3].map((count) => this.#checkKeys(count));
    this.#runs = { first: one!, further: two! - one! };
  }

  /**
   * Returns the key of a chunk: the format with a coordinate at each placeholder.
   *
   * @param coordinates Grid coordinates, one for each dimension: whole numbers from
   *   0 to 2^53−1.
   * @returns The key, relative to the array.
   * @throws {TypeError} If the coordinates are not an array of numbers.
   * @throws {RangeError} If a coordinate is out of range or has more digits than a
   *   fixed width, or the format is for another number of dimensions.
   *
   * @example
   * ```ts
   * import { TemplateChunkKeyEncoding } from "@zarr-parts/zarr-parts";
   * import { assertEquals, assertThrows } from "@std/assert";
   *
   * const encoding = new TemplateChunkKeyEncoding("{0:02}/{1:02}");
   * assertEquals(encoding.encode([5, 123]), "05/123");
   * assertThrows(() => encoding.encode([5]), RangeError, "is for rank 2, found 1");
   *
   * const fixed = new TemplateChunkKeyEncoding("{0:02}{1:02}");
   * assertThrows(() => fixed.encode([5, 123]), RangeError, "to fit into {1:02}");
   * ```
   */
  encode(coordinates: readonly number[]): string {
    assertCoordinates(coordinates);
    const { texts, fields } = this.#layoutFor(coordinates.length);
    let key = texts[0]!;
    for (const [i, { dimension, width, isFixed, text }] of fields.entries()) {
      const digits = String(coordinates[dimension]).padStart(width, "0");
      if (isFixed && digits.length > width) {
        throw new RangeError(
          `Expected the coordinate of dimension ${dimension} to fit into ${text}, which stands beside another placeholder, found ${digits}`,
        );
      }
      key += digits + texts[i + 1];
    }
    return key;
  }

  /**
   * Returns the grid coordinates of the chunk with a key.
   *
   * @param key A key relative to the array, exactly as {@linkcode encode} returns it.
   * @param rank The array's number of dimensions. Without it, any number is accepted
   *   that the format is for.
   * @returns One coordinate for each dimension.
   * @throws {TypeError} If the key is not a string or the rank not a number.
   * @throws {ChunkKeyError} If the key is not that of a chunk, or has another rank.
   * @throws {RangeError} If the rank is not a whole number from 0 to 2^53−1.
   *
   * @example
   * ```ts
   * import { ChunkKeyError, TemplateChunkKeyEncoding } from "@zarr-parts/zarr-parts";
   * import { assertEquals, assertThrows } from "@std/assert";
   *
   * const encoding = new TemplateChunkKeyEncoding("z{-1:03}/{*}.tif", "_");
   * assertEquals(encoding.decode("z007/1_2.tif"), [1, 2, 7]);
   * assertThrows(() => encoding.decode("z7/1_2.tif"), ChunkKeyError, "of the format");
   * assertThrows(() => encoding.decode("z007/1_2.tif", 2), ChunkKeyError, "expected rank 2");
   * ```
   */
  decode(key: string, rank?: number): number[] {
    assertKeyIsString(key);
    const coordinates = this.#coordinatesOf(key);
    if (coordinates === undefined) {
      throw new ChunkKeyError(
        key,
        `is not a key of the format ${describe(this.format)}${
          this.separator === undefined
            ? ""
            : ` with the separator ${describe(this.separator)}`
        }`,
      );
    }
    assertRank(key, coordinates, rank);
    return coordinates;
  }

  /**
   * Returns the encoding's metadata, as in `zarr.json`.
   *
   * @returns The name `template`, and in the configuration the format, and the separator
   *   if there is one.
   *
   * @example
   * ```ts
   * import { parseChunkKeyEncoding, TemplateChunkKeyEncoding } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const configuration = { template: "{0}_{1}.png" };
   * const parsed = parseChunkKeyEncoding({ name: "template", configuration });
   * assertEquals(parsed.toJSON().configuration, { format: "{0}_{1}.png" });
   *
   * const { configuration: written } = new TemplateChunkKeyEncoding("c/{*}", "/").toJSON();
   * assertEquals(written, { format: "c/{*}", separator: "/" });
   * ```
   */
  toJSON(): {
    name: "template";
    configuration: { format: string; separator?: string };
  } {
    const { name, format, separator } = this;
    return {
      name,
      configuration: separator === undefined
        ? { format }
        : { format, separator },
    };
  }

  #layoutFor(rank: number): Layout {
    if (this.#layout?.rank !== rank) {
      const { format, separator = "" } = this;
      this.#layout = layoutOf(format, this.#format, separator, rank);
    }
    return this.#layout;
  }

  #coordinatesOf(key: string): number[] | undefined {
    const { first, further } = this.#runs;
    const least = this.#format.placeholders.length;
    const rank = hasRest(this.#format)
      ? least + (countRuns(key) - first) / further
      : least;
    if (!Number.isInteger(rank)) return undefined;
    try {
      const { pattern, fields } = this.#layoutFor(rank);
      const found = pattern.exec(key);
      if (found === null) return undefined;
      const coordinates = new Array<number>(rank);
      fields.forEach(({ dimension }, i) => {
        coordinates[dimension] = Number(found[i + 1]);
      });
      // Encoding again refuses wrong zeros in front, and coordinates out of range.
      return this.encode(coordinates) === key ? coordinates : undefined;
    } catch (error) {
      if (error instanceof RangeError) return undefined;
      throw error;
    }
  }

  /** Checks keys with a number of dimensions at `{*}`, and returns their number of runs of digits. */
  #checkKeys(others: number): number {
    const { format, separator = "" } = this;
    const expanded = expand(this.#format, separator, others);
    const reason = ambiguity(expanded);
    if (reason !== undefined) throw invalid(format, reason);
    const key = keyOfZeros(expanded);
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

function assertText(value: unknown, expected: string): void {
  if (typeof value !== "string") {
    throw new TypeError(`Expected ${expected}, found ${describe(value)}`);
  }
  if (value.length > LONGEST_SUFFIX) {
    throw new RangeError(
      `Expected ${expected} of at most ${LONGEST_SUFFIX} characters, found ${
        describe(value)
      }`,
    );
  }
}

/** A placeholder of a format. */
interface Placeholder {
  /** The placeholder as it is in the format, such as `{-1:04}`. */
  readonly text: string;
  /** A dimension, counted from the end if negative, or `*` for all others. */
  readonly index: number | "*";
  /** The least number of digits; 0 without padding. */
  readonly width: number;
}

/** A format as texts and placeholders, which alternate: text, placeholder, text and so on. */
interface Format {
  /** One more than there are placeholders. A text may be empty. */
  readonly texts: readonly string[];
  readonly placeholders: readonly Placeholder[];
}

/** The greatest width, since names of files have at most 255 bytes. */
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
function parseFormat(format: string): Format {
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
function invalid(format: string, problem: string): RangeError {
  return new RangeError(`Format ${describe(format)} ${problem}`);
}

/** Returns the format with `count` placeholders in place of `{*}`, if there is one. */
function expand(
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
function keyOfZeros({ texts, placeholders }: Format): string {
  return placeholders.reduce(
    (key, { width }, i) => key + "0".padStart(width, "0") + texts[i + 1],
    texts[0]!,
  );
}

/**
 * Returns the reason why two chunks could share a key of an expanded format, or `undefined`.
 * The digits of coordinates that stand side by side are told apart by their widths, of which
 * at most one may be missing.
 */
function ambiguity(
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

/** The place of a coordinate in keys. */
interface Field {
  readonly dimension: number;
  /** The least number of digits. */
  readonly width: number;
  /** Whether the coordinate has exactly `width` digits, since it stands beside another. */
  readonly isFixed: boolean;
  readonly text: string;
}

/** A format for one number of dimensions. */
interface Layout {
  readonly rank: number;
  /** One more than there are fields. */
  readonly texts: readonly string[];
  readonly fields: readonly Field[];
  /** Matches all keys and some other texts. The groups are the digits of the fields. */
  readonly pattern: RegExp;
}

/** The greatest number of dimensions for which an error shows a format. */
const MOST_SHOWN = 5;

/**
 * Assigns each dimension to a placeholder.
 *
 * @throws {RangeError} If the format does not have each dimension exactly once.
 */
function layoutOf(
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

/** Whether a format has the placeholder `{*}`. */
function hasRest({ placeholders }: Format): boolean {
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
