import { ChunkKeyError, describe } from "../errors/mod.ts";
import { isWhole } from "../metadata/mod.ts";
import {
  assertCoordinates,
  assertKeyIsString,
  checkRank,
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
   * Creates the encoding.
   *
   * @param maxChildren The greatest number of entries in a folder, a whole number
   *   from 100 to 2^53−1. A number between two powers of ten is lowered to the smaller one.
   */
  constructor(maxChildren: number = 1000) {
    if (!isWhole(maxChildren, LEAST_CHILDREN)) {
      const isNumber = typeof maxChildren === "number";
      const found = describe(maxChildren);
      throw new (isNumber ? RangeError : TypeError)(
        `Expected the greatest number of entries in a folder to be a whole number from ${LEAST_CHILDREN} to ${Number.MAX_SAFE_INTEGER}, found ${found}`,
      );
    }
    this.#digits = String(maxChildren).length - 1;
    this.maxChildren = 10 ** this.#digits;
  }

  /** Returns the key of a chunk: `c`, and for each coordinate the number of its names minus one, followed by the names. */
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

  /** Returns the grid coordinates of the chunk with a key. */
  decode(key: string, rank?: number): number[] {
    assertKeyIsString(key);
    const coordinates = this.#coordinatesOf(key);
    if (coordinates) return checkRank(key, coordinates, rank);
    throw new ChunkKeyError(
      key,
      `is not a key of the "fanout" encoding: expected "c", and for each dimension the number of names minus one, and names of ${this.#digits} digits, as few as possible`,
    );
  }

  /** Returns the encoding's metadata, with the power of ten that is used. */
  toJSON(): { name: "fanout"; configuration: { max_children: number } } {
    return {
      name: this.name,
      configuration: { max_children: this.maxChildren },
    };
  }

  #coordinatesOf(key: string): number[] | undefined {
    if (!/^c(?:\/[0-9]+)*$/.test(key)) return undefined;
    const names = key.split("/");
    const coordinates: number[] = [];
    for (let at = 1; at < names.length;) {
      const end = at + Number(names[at]) + 2;
      const coordinate = Number(names.slice(at + 1, end).join(""));
      if (!Number.isSafeInteger(coordinate)) return undefined;
      coordinates.push(coordinate);
      at = end;
    }
    // Encoding again refuses names of another length, and more names than needed.
    return this.encode(coordinates) === key ? coordinates : undefined;
  }
}
