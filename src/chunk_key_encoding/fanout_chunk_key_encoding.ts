import { ChunkKeyError, describe } from "../errors/mod.ts";
import {
  assertCoordinates,
  assertKeyIsString,
  assertRank,
  type ChunkKeyEncoding,
} from "./chunk_key_encoding.ts";

/** The least `max_children`; the greatest is 2^53−1. */
const LEAST_CHILDREN = 100;

/**
 * The chunk key encoding `fanout`: splits the digits of each coordinate into names of
 * equal length, so that no folder has more than a given number of entries. Each
 * coordinate begins with the number of its names minus one.
 *
 * Source: the draft in https://github.com/zarr-developers/zarr-extensions/pull/31, as
 * of January 2026. The Python package Zarr-Fanout-CKE follows an earlier draft, in
 * which a coordinate begins with the number of its names: such keys are not decoded.
 *
 * @example
 * ```ts
 * import { FanoutChunkKeyEncoding } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const encoding = new FanoutChunkKeyEncoding();
 * assertEquals(encoding.encode([1234567, 5]), "c/2/001/234/567/0/005");
 * assertEquals(encoding.decode("c/2/001/234/567/0/005"), [1234567, 5]);
 * ```
 */
export class FanoutChunkKeyEncoding implements ChunkKeyEncoding {
  /** The name in metadata. */
  readonly name = "fanout";
  /** The greatest number of entries in a folder: a power of ten. */
  readonly maxChildren: number;
  /** The number of digits of a name. */
  readonly #digits: number;

  /**
   * Creates the encoding with a greatest number of entries in a folder.
   *
   * @param maxChildren The greatest number of entries in a folder, a whole number
   *   from 100 to 2^53−1. A number between two powers of ten is lowered to the smaller one.
   * @throws {TypeError} If the number is of another type.
   * @throws {RangeError} If the number is out of range.
   *
   * @example
   * ```ts
   * import { FanoutChunkKeyEncoding } from "@zarr-parts/zarr-parts";
   * import { assertEquals, assertThrows } from "@std/assert";
   *
   * assertEquals(new FanoutChunkKeyEncoding(250).maxChildren, 100);
   * assertThrows(() => new FanoutChunkKeyEncoding(99), RangeError, "found 99");
   * ```
   */
  constructor(maxChildren: number = 1000) {
    if (!(Number.isSafeInteger(maxChildren) && maxChildren >= LEAST_CHILDREN)) {
      const ErrorClass = typeof maxChildren === "number"
        ? RangeError
        : TypeError;
      throw new ErrorClass(
        `Expected the greatest number of entries in a folder to be a whole number from ${LEAST_CHILDREN} to ${Number.MAX_SAFE_INTEGER}, found ${
          describe(maxChildren)
        }`,
      );
    }
    this.#digits = String(maxChildren).length - 1;
    this.maxChildren = 10 ** this.#digits;
  }

  /**
   * Returns the key of a chunk: `c`, and for each coordinate the number of its names
   * minus one, followed by the names.
   *
   * @param coordinates Grid coordinates, one for each dimension: whole numbers from
   *   0 to 2^53−1.
   * @returns The key, relative to the array; `c` if there are no dimensions.
   * @throws {TypeError} If the coordinates are not an array of numbers.
   * @throws {RangeError} If a coordinate is out of range.
   *
   * @example
   * ```ts
   * import { FanoutChunkKeyEncoding } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const encoding = new FanoutChunkKeyEncoding(100);
   * assertEquals(encoding.encode([7]), "c/0/07");
   * assertEquals(encoding.encode([1234]), "c/1/12/34");
   * ```
   */
  encode(coordinates: readonly number[]): string {
    assertCoordinates(coordinates);
    let key = "c";
    for (const coordinate of coordinates) {
      const text = String(coordinate);
      const count = Math.ceil(text.length / this.#digits);
      const digits = text.padStart(count * this.#digits, "0");
      key += `/${count - 1}`;
      for (let at = 0; at < digits.length; at += this.#digits) {
        key += `/${digits.slice(at, at + this.#digits)}`;
      }
    }
    return key;
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
   * @example
   * ```ts
   * import { ChunkKeyError, FanoutChunkKeyEncoding } from "@zarr-parts/zarr-parts";
   * import { assertEquals, assertThrows } from "@std/assert";
   *
   * const encoding = new FanoutChunkKeyEncoding();
   * assertEquals(encoding.decode("c/0/005/0/012"), [5, 12]);
   * assertThrows(() => encoding.decode("c/1/000/005"), ChunkKeyError); // One name is enough.
   * ```
   */
  decode(key: string, rank?: number): number[] {
    assertKeyIsString(key);
    const coordinates = this.#coordinatesOf(key);
    if (coordinates === undefined) {
      throw new ChunkKeyError(
        key,
        `is not a key of the "fanout" encoding: expected "c", and for each dimension the number of names minus one, and names of ${this.#digits} digits, as few as possible`,
      );
    }
    assertRank(key, coordinates, rank);
    return coordinates;
  }

  /**
   * Returns the encoding's metadata, as in `zarr.json`.
   *
   * @returns The name `fanout`, and in the configuration the power of ten that is used.
   *
   * @example
   * ```ts
   * import { parseChunkKeyEncoding } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * assertEquals(parseChunkKeyEncoding("fanout").toJSON(), {
   *   name: "fanout",
   *   configuration: { max_children: 1000 },
   * });
   * ```
   */
  toJSON(): { name: "fanout"; configuration: { max_children: number } } {
    return {
      name: this.name,
      configuration: { max_children: this.maxChildren },
    };
  }

  #coordinatesOf(key: string): number[] | undefined {
    if (!/^c(?:\/[0-9]+)*$/.test(key)) return undefined;
    const nodes = key.split("/");
    const coordinates: number[] = [];
    for (let at = 1; at < nodes.length;) {
      const end = at + Number(nodes[at]) + 2;
      const coordinate = Number(nodes.slice(at + 1, end).join(""));
      if (!Number.isSafeInteger(coordinate)) return undefined;
      coordinates.push(coordinate);
      at = end;
    }
    // Encoding again refuses names of another length, and more names than needed.
    return this.encode(coordinates) === key ? coordinates : undefined;
  }
}
