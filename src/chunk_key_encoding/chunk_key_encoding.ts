/**
 * Maps the grid coordinates of a chunk to its key relative to the array, and back.
 * Decoding is strict: it only accepts keys that
 * {@linkcode ChunkKeyEncoding.encode} returns, so that each chunk has one key.
 *
 * @example A custom encoding for one dimension
 * ```ts
 * import { ChunkKeyError, type ChunkKeyEncoding } from "@zarr-parts/zarr-parts";
 * import { assertEquals, assertThrows } from "@std/assert";
 *
 * const letters: ChunkKeyEncoding = {
 *   name: "letters",
 *   encode: ([index = 0]) => "abc".charAt(index),
 *   decode(key) {
 *     const index = ["a", "b", "c"].indexOf(key);
 *     if (index < 0) throw new ChunkKeyError(key, "is not a letter from a to c");
 *     return [index];
 *   },
 *   toJSON: () => ({ name: "letters" }),
 * };
 * assertEquals(letters.decode(letters.encode([2])), [2]);
 * assertThrows(() => letters.decode("d"), ChunkKeyError);
 * ```
 */
export interface ChunkKeyEncoding {
  /** The name in metadata, such as `default`. */
  readonly name: string;
  /**
   * Returns the key of a chunk, relative to the array, such as `c/1/2`.
   *
   * @param coordinates Grid coordinates, one for each dimension: whole numbers from
   *   0 to 2^53−1.
   * @returns The key, without a leading `/`.
   * @throws {TypeError} If a coordinate is not a number.
   * @throws {RangeError} If a coordinate is out of range.
   */
  encode(coordinates: readonly number[]): string;
  /**
   * Returns the grid coordinates of the chunk with a key.
   *
   * @param key A key relative to the array.
   * @param rank The array's number of dimensions. Without it, any number is accepted.
   * @returns One coordinate for each dimension.
   * @throws {TypeError} If the key is not a string.
   * @throws {ChunkKeyError} If the key is not that of a chunk, or has another rank.
   */
  decode(key: string, rank?: number): number[];
  /**
   * Returns the encoding's metadata, as in `zarr.json`.
   *
   * @returns The name, and the configuration if the encoding has one.
   */
  toJSON(): { name: string; configuration?: Record<string, unknown> };
}
