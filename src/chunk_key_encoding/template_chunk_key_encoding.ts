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
  expand,
  type Format,
  hasRest,
  invalid,
  keyOfZeros,
  type Layout,
  layoutOf,
  parseFormat,
} from "./template_format.ts";

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
  /** The number of runs of digits in keys: with one dimension at `{*}`, and that each further one adds. */
  readonly #runs: { first: number; further: number };
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
