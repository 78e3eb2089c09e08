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
   */
  constructor(separator: "/" | "." = ".") {
    assertSeparator(separator);
    this.separator = separator;
  }

  /**
   * The key of the chunk at these grid coordinates, relative to the array.
   *
   * @param coordinates One for each dimension: whole numbers from 0 to 2^53−1.
   * @throws {TypeError} If a coordinate is not a number.
   * @throws {RangeError} If a coordinate is not such a whole number.
   */
  encode(coordinates: readonly number[]): string {
    return joinCoordinates("", coordinates, this.separator) || "0";
  }

  /**
   * The grid coordinates of the chunk with this key.
   *
   * @param key A key relative to the array, just as {@linkcode encode} writes it.
   * @param rank How many dimensions the array has; any number but 0 if left out.
   * @throws {TypeError} If the key is not a string.
   * @throws {ChunkKeyError} If it is not the key of a chunk, or one of another rank.
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

  /** The metadata, as `zarr.json` holds it; the separator is always written. */
  toJSON(): { name: "v2"; configuration: { separator: "/" | "." } } {
    return { name: this.name, configuration: { separator: this.separator } };
  }
}
