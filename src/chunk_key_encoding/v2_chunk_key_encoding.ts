import type { ChunkKeyEncoding } from "./chunk_key_encoding.ts";
import { ChunkKeyError } from "./chunk_key_error.ts";
import {
  assertKeyIsString,
  assertRank,
  joinCoordinates,
  splitCoordinates,
  WHOLE_NUMBER,
} from "./grid_coordinates.ts";
import { assertSeparator } from "./separator.ts";

/**
 * The chunk key encoding `v2`: the coordinates in decimal, the separator between
 * them, as Zarr version 2 named its chunks. The key `0` is both the chunk of an
 * array without dimensions and the first chunk of one dimension; the rank given
 * to {@linkcode decode} tells them apart.
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
  /** What stands between the coordinates. */
  readonly separator: "/" | ".";

  /**
   * The encoding with this separator.
   *
   * @param separator What stands between the coordinates: `/` or `.`.
   * @throws {TypeError} If the separator is not a string.
   * @throws {RangeError} If it is another string.
   *
   * @example A dot unless told otherwise, where `default` has a slash
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
   * Writes the key of a chunk: its coordinates with the separator between them.
   *
   * @param coordinates One for each dimension: whole numbers from 0 to 2^53−1.
   * @returns The key, relative to the array; `0` if there are no dimensions.
   * @throws {TypeError} If a coordinate is not a number, or they are not an array.
   * @throws {RangeError} If a coordinate is not such a whole number.
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
   * Reads the grid coordinates from a key as Zarr version 2 wrote it.
   *
   * @param key A key relative to the array, just as {@linkcode encode} writes it.
   * @param rank How many dimensions the array has; any number but 0 if left out.
   * @returns One coordinate for each dimension; none for the key `0` and rank 0.
   * @throws {TypeError} If the key is not a string or the rank not a number.
   * @throws {ChunkKeyError} If it is not the key of a chunk, or one of another rank.
   * @throws {RangeError} If the rank cannot be that of an array.
   *
   * @example
   * ```ts
   * import { ChunkKeyError, V2ChunkKeyEncoding } from "@zarr-parts/zarr-parts";
   * import { assertEquals, assertThrows } from "@std/assert";
   *
   * const encoding = new V2ChunkKeyEncoding("/");
   * assertEquals(encoding.decode("10/0", 2), [10, 0]);
   * assertThrows(() => encoding.decode("10/0", 1), ChunkKeyError, "has rank 2");
   * assertThrows(() => encoding.decode("c/10/0"), ChunkKeyError, 'not one of the "v2" encoding');
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
        `is not one of the "v2" encoding: expected for each dimension ${WHOLE_NUMBER} without leading zeros, and "${this.separator}" between them`,
      );
    }
    assertRank(key, coordinates, rank);
    return coordinates;
  }

  /**
   * The metadata, as `zarr.json` holds it: in full, also for an encoding that was
   * read from its name alone.
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
