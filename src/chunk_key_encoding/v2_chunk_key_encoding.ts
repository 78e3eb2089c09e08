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
 * The chunk key encoding `v2`: decimal coordinates with a separator between them,
 * as in Zarr version 2. The key `0` is both the only chunk of an array without
 * dimensions and the first chunk of an array with one dimension; the rank that is
 * passed to {@linkcode decode} distinguishes them.
 *
 * Source: https://zarr-specs.readthedocs.io/en/latest/v3/chunk-key-encodings/v2/
 *
 * @example
 * ```ts
 * import { V2ChunkKeyEncoding } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const encoding = new V2ChunkKeyEncoding();
 * assertEquals(encoding.encode([1, 23, 45]), "1.23.45");
 * assertEquals(encoding.decode("0"), [0]);
 * assertEquals(encoding.decode("0", 0), []);
 * ```
 */
export class V2ChunkKeyEncoding implements ChunkKeyEncoding {
  /** The name in metadata. */
  readonly name = "v2";
  /** The text between coordinates. */
  readonly separator: "/" | ".";

  /**
   * Creates the encoding with a separator.
   *
   * @param separator The text between coordinates: `/` or `.`.
   * @throws {TypeError} If the separator is not a string.
   * @throws {RangeError} If the separator is another string.
   *
   * @example The default separator is a dot
   * ```ts
   * import { V2ChunkKeyEncoding } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * assertEquals(new V2ChunkKeyEncoding().separator, ".");
   * assertEquals(new V2ChunkKeyEncoding("/").encode([1, 2]), "1/2");
   * ```
   */
  constructor(separator: "/" | "." = ".") {
    assertSeparator(separator);
    this.separator = separator;
  }

  /**
   * Returns the key of a chunk: its coordinates with the separator between them.
   *
   * @param coordinates Grid coordinates, one for each dimension: whole numbers from
   *   0 to 2^53−1.
   * @returns The key, relative to the array; `0` if there are no dimensions.
   * @throws {TypeError} If the coordinates are not an array of numbers.
   * @throws {RangeError} If a coordinate is out of range.
   *
   * @example
   * ```ts
   * import { V2ChunkKeyEncoding } from "@zarr-parts/zarr-parts";
   * import { assertEquals, assertThrows } from "@std/assert";
   *
   * const encoding = new V2ChunkKeyEncoding();
   * assertEquals(encoding.encode([0]), "0");
   * assertEquals(encoding.encode([]), "0"); // No dimensions.
   * assertThrows(() => encoding.encode([2 ** 53]), RangeError, "from 0 to 9007199254740991");
   * ```
   */
  encode(coordinates: readonly number[]): string {
    return joinCoordinates("", coordinates, this.separator) || "0";
  }

  /**
   * Returns the grid coordinates of the chunk with a key.
   *
   * @param key A key relative to the array, exactly as {@linkcode encode} returns it.
   * @param rank The array's number of dimensions. Without it, any number but 0 is
   *   accepted.
   * @returns One coordinate for each dimension; none for the key `0` and rank 0.
   * @throws {TypeError} If the key is not a string or the rank not a number.
   * @throws {ChunkKeyError} If the key is not that of a chunk, or has another rank.
   * @throws {RangeError} If the rank is not a whole number from 0 to 2^53−1.
   *
   * @example
   * ```ts
   * import { ChunkKeyError, V2ChunkKeyEncoding } from "@zarr-parts/zarr-parts";
   * import { assertEquals, assertThrows } from "@std/assert";
   *
   * const encoding = new V2ChunkKeyEncoding("/");
   * assertEquals(encoding.decode("10/0", 2), [10, 0]);
   * assertThrows(() => encoding.decode("10/0", 1), ChunkKeyError, "has rank 2");
   * assertThrows(() => encoding.decode("c/10/0"), ChunkKeyError, 'not a key of the "v2" encoding');
   * ```
   */
  decode(key: string, rank?: number): number[] {
    assertKeyIsString(key);
    if (rank === 0 && key === "0") return [];
    const coordinates = key === ""
      ? undefined
      : splitCoordinates(key, 0, this.separator);
    if (coordinates === undefined) {
      throw new ChunkKeyError(
        key,
        `is not a key of the "v2" encoding: expected for each dimension ${WHOLE_NUMBER} without leading zeros, and "${this.separator}" between them`,
      );
    }
    assertRank(key, coordinates, rank);
    return coordinates;
  }

  /**
   * Returns the encoding's metadata, as in `zarr.json`. The separator is always
   * written.
   *
   * @returns The name `v2`, and the separator in the configuration.
   *
   * @example
   * ```ts
   * import { V2ChunkKeyEncoding } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * assertEquals(
   *   JSON.stringify({ chunk_key_encoding: new V2ChunkKeyEncoding() }),
   *   '{"chunk_key_encoding":{"name":"v2","configuration":{"separator":"."}}}',
   * );
   * ```
   */
  toJSON(): { name: "v2"; configuration: { separator: "/" | "." } } {
    return { name: this.name, configuration: { separator: this.separator } };
  }
}
