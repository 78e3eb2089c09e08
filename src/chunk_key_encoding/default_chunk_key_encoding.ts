import { ChunkKeyError } from "../errors/mod.ts";
import {
  assertKeyIsString,
  assertRank,
  assertSeparator,
  type ChunkKeyEncoding,
  joinCoordinates,
  splitCoordinates,
  WHOLE_NUMBER,
} from "./chunk_key_encoding.ts";

/**
 * The chunk key encoding `default`: `c`, then a separator and a decimal coordinate
 * for each dimension. The only chunk of an array without dimensions has the key `c`.
 *
 * Source: https://zarr-specs.readthedocs.io/en/latest/v3/chunk-key-encodings/default/
 *
 * @example
 * ```ts
 * import { DefaultChunkKeyEncoding } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(new DefaultChunkKeyEncoding().encode([1, 23, 45]), "c/1/23/45");
 * assertEquals(new DefaultChunkKeyEncoding(".").decode("c.1.23.45"), [1, 23, 45]);
 * ```
 */
export class DefaultChunkKeyEncoding implements ChunkKeyEncoding {
  /** The name in metadata. */
  readonly name = "default";
  /** The text before each coordinate. */
  readonly separator: "/" | ".";

  /**
   * Creates the encoding with a separator.
   *
   * @param separator The text before each coordinate: `/` or `.`.
   * @throws {TypeError} If the separator is not a string.
   * @throws {RangeError} If the separator is another string.
   *
   * @example
   * ```ts
   * import { DefaultChunkKeyEncoding } from "@zarr-parts/zarr-parts";
   * import { assertEquals, assertThrows } from "@std/assert";
   *
   * assertEquals(new DefaultChunkKeyEncoding().separator, "/");
   * assertEquals(new DefaultChunkKeyEncoding(".").separator, ".");
   * assertThrows(() => new DefaultChunkKeyEncoding("-" as "/"), RangeError, 'found "-"');
   * ```
   */
  constructor(separator: "/" | "." = "/") {
    assertSeparator(separator);
    this.separator = separator;
  }

  /**
   * Returns the key of a chunk: `c`, then the separator and the coordinate of each
   * dimension.
   *
   * @param coordinates Grid coordinates, one for each dimension: whole numbers from
   *   0 to 2^53−1.
   * @returns The key, relative to the array; `c` if there are no dimensions.
   * @throws {TypeError} If the coordinates are not an array of numbers.
   * @throws {RangeError} If a coordinate is out of range.
   *
   * @example
   * ```ts
   * import { DefaultChunkKeyEncoding } from "@zarr-parts/zarr-parts";
   * import { assertEquals, assertThrows } from "@std/assert";
   *
   * const encoding = new DefaultChunkKeyEncoding();
   * assertEquals(encoding.encode([0]), "c/0");
   * assertEquals(encoding.encode([]), "c"); // The chunk of an array without dimensions.
   * assertThrows(() => encoding.encode([0, -1]), RangeError, "the coordinate of dimension 1");
   * ```
   */
  encode(coordinates: readonly number[]): string {
    return joinCoordinates("c", coordinates, this.separator);
  }

  /**
   * Returns the grid coordinates of the chunk with a key.
   *
   * @param key A key relative to the array, exactly as {@linkcode encode} returns it.
   * @param rank The array's number of dimensions. Without it, any number is accepted.
   * @returns One coordinate for each dimension; none for the key `c`.
   * @throws {TypeError} If the key is not a string or the rank not a number.
   * @throws {ChunkKeyError} If the key is not that of a chunk, or has another rank.
   * @throws {RangeError} If the rank is not a whole number from 0 to 2^53−1.
   *
   * @example Expecting a rank
   * ```ts
   * import { ChunkKeyError, DefaultChunkKeyEncoding } from "@zarr-parts/zarr-parts";
   * import { assertEquals, assertThrows } from "@std/assert";
   *
   * const encoding = new DefaultChunkKeyEncoding();
   * assertEquals(encoding.decode("c/4/2"), [4, 2]);
   * assertThrows(() => encoding.decode("c/4/2", 3), ChunkKeyError, "expected rank 3");
   * assertThrows(() => encoding.decode("c.4.2"), ChunkKeyError); // The separator is "/".
   * ```
   */
  decode(key: string, rank?: number): number[] {
    assertKeyIsString(key);
    const coordinates = key.startsWith("c")
      ? splitCoordinates(key, 1, this.separator)
      : undefined;
    if (coordinates === undefined) {
      throw new ChunkKeyError(
        key,
        `is not a key of the "default" encoding: expected "c", and for each dimension "${this.separator}" and ${WHOLE_NUMBER} without leading zeros`,
      );
    }
    assertRank(key, coordinates, rank);
    return coordinates;
  }

  /**
   * Returns the encoding's metadata, as in `zarr.json`. The separator is always
   * written.
   *
   * @returns The name `default`, and the separator in the configuration.
   *
   * @example
   * ```ts
   * import { parseChunkKeyEncoding } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * assertEquals(parseChunkKeyEncoding("default").toJSON(), {
   *   name: "default",
   *   configuration: { separator: "/" },
   * });
   * ```
   */
  toJSON(): { name: "default"; configuration: { separator: "/" | "." } } {
    return { name: this.name, configuration: { separator: this.separator } };
  }
}
