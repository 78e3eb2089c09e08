/**
 * Which key a chunk is stored under: coordinates in the chunk grid to a key
 * relative to the array, and back. Decoding is strict: it accepts what
 * {@linkcode ChunkKeyEncoding.encode} produces and nothing else, so that each
 * chunk has one key.
 *
 * @example An encoding of one's own, for one dimension
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
   * The key of the chunk at these grid coordinates, relative to the array, such
   * as `c/1/2`.
   *
   * @param coordinates One for each dimension: whole numbers from 0 to 2^53−1.
   * @returns The key, without a leading `/`.
   * @throws {TypeError} If a coordinate is not a number.
   * @throws {RangeError} If a coordinate is not such a whole number.
   */
  encode(coordinates: readonly number[]): string;
  /**
   * The grid coordinates of the chunk with this key.
   *
   * @param key A key relative to the array.
   * @param rank How many dimensions the array has; any number if left out.
   * @returns As many coordinates as the key has, which are `rank` if that is given.
   * @throws {TypeError} If the key is not a string.
   * @throws {ChunkKeyError} If it is not the key of a chunk, or one of another rank.
   */
  decode(key: string, rank?: number): number[];
  /**
   * The metadata, as `zarr.json` holds it.
   *
   * @returns The name and, where the encoding has one, the configuration.
   */
  toJSON(): { name: string; configuration?: Record<string, unknown> };
}
