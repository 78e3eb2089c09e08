import { ChunkKeyError, describe } from "../errors/mod.ts";
import { chunkKeyProblem, LONGEST_SUFFIX } from "../stores/mod.ts";
import {
  assertCoordinates,
  assertKeyIsString,
  assertRank,
  type ChunkKeyEncoding,
} from "./chunk_key_encoding.ts";
import {
  ambiguity,
  digitsOf,
  expand,
  type Format,
  hasRest,
  invalid,
  keyOfZeros,
  type Layout,
  layoutOf,
  leastRank,
  parseFormat,
  readDigits,
} from "./template_format.ts";

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
 * import { assertEquals } from "@std/assert";
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
  /** The least number of dimensions that the format is for. */
  readonly #leastRank: number;
  /** The layout for the number of dimensions that was used last. */
  #layout: Layout | undefined;

  /**
   * Creates the encoding with a format.
   *
   * @param format The keys, with placeholders, in at most 1024 characters. No
   *   dimension has two placeholders, padded widths are at most 255, and other numbers
   *   are at most 2^53−1.
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
    this.#leastRank = leastRank(format, this.#format);
    const isApart = separator !== undefined && !/^[0-9]*$/.test(separator);
    if (hasRest(this.#format) && !isApart) {
      throw new RangeError(
        `Expected a separator for {*} with a character other than a digit, such as "/", found ${
          describe(separator)
        }`,
      );
    }
    const [one, two] = [1, 2, 3].map((count) => this.#checkKeys(count));
    this.#runs = { first: one!, further: two! - one! };
    this.encode(new Array(this.#leastRank).fill(0)); // The first numbers fit.
  }

  /**
   * Returns the key of a chunk: the format with a coordinate at each placeholder.
   *
   * @param coordinates Grid coordinates, one for each dimension: whole numbers from
   *   0 to 2^53−1.
   * @returns The key, relative to the array.
   * @throws {TypeError} If the coordinates are not an array of numbers.
   * @throws {RangeError} If a coordinate is out of range, has more digits than a fixed
   *   width, has no number by the format, or is not 0 where its dimension has no
   *   placeholder, or the format is for another number of dimensions.
   *
   * @example
   * ```ts
   * import { TemplateChunkKeyEncoding } from "@zarr-parts/zarr-parts";
   * import { assertEquals, assertThrows } from "@std/assert";
   *
   * const encoding = new TemplateChunkKeyEncoding("{0:02}/{1:02}");
   * assertEquals(encoding.encode([5, 123]), "05/123");
   * assertThrows(() => encoding.encode([5]), RangeError, "is for rank 2");
   *
   * const fixed = new TemplateChunkKeyEncoding("{0:02}{1:02}");
   * assertThrows(() => fixed.encode([5, 123]), RangeError, "to fit into {1:02}");
   * ```
   */
  encode(coordinates: readonly number[]): string {
    assertCoordinates(coordinates);
    const { texts, fields, unnumbered } = this.#layoutFor(coordinates.length);
    const wrong = unnumbered.find((dimension) => coordinates[dimension] !== 0);
    if (wrong !== undefined) {
      throw invalid(
        this.format,
        `has no placeholder for dimension ${wrong}, where the only coordinate is 0 then, found ${
          coordinates[wrong]
        }; expected a placeholder for each dimension with several chunks, such as ${
          coordinates.length > MOST_SHOWN
            ? `{${wrong}}`
            : `"${coordinates.map((_, i) => `{${i}}`).join("_")}"`
        }`,
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
   * @param key A key relative to the array, exactly as {@linkcode encode} returns it.
   * @param rank The array's number of dimensions. By default, the number that tells from
   *   the key with `{*}`, and otherwise the least that the format is for.
   * @returns One coordinate for each dimension.
   * @throws {TypeError} If the key is not a string or the rank not a number.
   * @throws {ChunkKeyError} If the key is not that of a chunk, or has another rank. The
   *   error has the nearest key of a chunk if the key has numbers that are no chunk's.
   * @throws {RangeError} If the rank is not a whole number from 0 to 2^53−1.
   *
   * @example
   * ```ts
   * import { ChunkKeyError, TemplateChunkKeyEncoding } from "@zarr-parts/zarr-parts";
   * import { assertEquals, assertThrows } from "@std/assert";
   *
   * const encoding = new TemplateChunkKeyEncoding("z{-1:03}/{*}.tif", "_");
   * assertEquals(encoding.decode("z007/1_2.tif"), [1, 2, 7]);
   * assertThrows(() => encoding.decode("z7/1_2.tif"), ChunkKeyError, "expected 007");
   * assertThrows(() => encoding.decode("z007/1_2.tif", 2), ChunkKeyError, "expected rank 2");
   * ```
   */
  decode(key: string, rank?: number): number[] {
    assertKeyIsString(key);
    const coordinates = this.#coordinatesOf(key, rank);
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

  #coordinatesOf(key: string, expected: number | undefined): number[] {
    const layout = this.#layoutOfKey(key, expected);
    const found = layout?.pattern.exec(key);
    if (!layout || !found) throw this.#otherKey(key);
    const coordinates = new Array<number>(layout.rank).fill(0);
    let problem: string | undefined;
    for (const [i, field] of layout.fields.entries()) {
      const digits = readDigits(field, found[i + 1]!);
      if (digits === undefined) throw this.#otherKey(key);
      coordinates[field.dimension] = digits.coordinate;
      problem ??= digits.problem;
    }
    if (problem === undefined) return coordinates;
    throw new ChunkKeyError(key, problem, {
      nearest: this.encode(coordinates),
    });
  }

  /** The layout for the number of dimensions that a key has; `undefined` if the format is for no such number. */
  #layoutOfKey(key: string, expected: number | undefined): Layout | undefined {
    const { first, further } = this.#runs;
    const rank = hasRest(this.#format)
      ? this.#format.placeholders.length + (countRuns(key) - first) / further
      : Math.max(expected ?? 0, this.#leastRank);
    if (!Number.isInteger(rank)) return undefined;
    try {
      return this.#layoutFor(rank);
    } catch (error) {
      if (error instanceof RangeError) return undefined;
      throw error;
    }
  }

  #otherKey(key: string): ChunkKeyError {
    const { format, separator } = this;
    return new ChunkKeyError(
      key,
      `is not a key of the format ${describe(format)}${
        separator === undefined
          ? ""
          : ` with the separator ${describe(separator)}`
      }`,
    );
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

/** The greatest number of dimensions for which an error shows a format. */
const MOST_SHOWN = 5;

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
