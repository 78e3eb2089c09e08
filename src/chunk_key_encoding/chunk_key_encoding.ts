import { ChunkKeyError, describe, MetadataError } from "../errors/mod.ts";
import { checkMembers, checkOneOf } from "../metadata/mod.ts";

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

/** The separator of coordinates in a key. */
type Separator = "/" | ".";

/** The range of a coordinate, for messages. */
export const WHOLE_NUMBER = "a whole number from 0 to 9007199254740991";

const DIGIT_ZERO = 48;

/** The texts of small coordinates after each separator, made once for all keys, on first use. */
const small: Partial<Record<Separator, readonly string[]>> = {};

function smallAfter(separator: Separator): string[] {
  return Array.from({ length: 256 }, (_, coordinate) => separator + coordinate);
}

/**
 * Appends coordinates in decimal to `start`, each after the separator except at the
 * start of the key. Appending to one string is faster than joining a list.
 */
export function joinCoordinates(
  start: string,
  coordinates: readonly number[],
  separator: Separator,
): string {
  if (!Array.isArray(coordinates)) throw notAList(coordinates);
  const texts = small[separator] ??= smallAfter(separator);
  let key = start;
  for (let dimension = 0; dimension < coordinates.length; dimension++) {
    const coordinate = coordinates[dimension]!;
    if (!(Number.isSafeInteger(coordinate) && coordinate >= 0)) {
      throw notACoordinate(dimension, coordinate);
    }
    if (key === "") {
      key = String(coordinate);
    } else {
      key += texts[coordinate] ?? separator + coordinate;
    }
  }
  return key;
}

/**
 * Parses the coordinates in a key from `start` on, each after the separator except
 * at the start of the key. Returns `undefined` for text that
 * {@linkcode joinCoordinates} does not write. Uses a single pass over the
 * characters, since listings decode millions of keys.
 */
export function splitCoordinates(
  key: string,
  start: number,
  separator: string,
): number[] | undefined {
  const separatorCode = separator.charCodeAt(0);
  const coordinates: number[] = [];
  let at = start;
  while (at < key.length) {
    if (at > 0 && key.charCodeAt(at++) !== separatorCode) return undefined;
    let value = key.charCodeAt(at++) - DIGIT_ZERO;
    if (!(value >= 0 && value <= 9)) return undefined;
    // Only the separator or the end may follow a leading zero.
    while (value > 0 && at < key.length) {
      const digit = key.charCodeAt(at) - DIGIT_ZERO;
      if (!(digit >= 0 && digit <= 9)) break;
      value = value * 10 + digit;
      // Rounding never takes a greater number down to the limit.
      if (value > Number.MAX_SAFE_INTEGER) return undefined;
      at++;
    }
    coordinates.push(value);
  }
  return coordinates;
}

/** Throws for coordinates that {@linkcode joinCoordinates} refuses. */
export function assertCoordinates(coordinates: readonly number[]): void {
  if (!Array.isArray(coordinates)) throw notAList(coordinates);
  for (const [dimension, coordinate] of coordinates.entries()) {
    if (!(Number.isSafeInteger(coordinate) && coordinate >= 0)) {
      throw notACoordinate(dimension, coordinate);
    }
  }
}

/** Throws if a key has another rank than expected. */
export function assertRank(
  key: string,
  coordinates: readonly number[],
  rank: number | undefined,
): void {
  if (rank === undefined || rank === coordinates.length) return;
  if (!(Number.isSafeInteger(rank) && rank >= 0)) {
    throw notWhole("the rank", rank);
  }
  throw new ChunkKeyError(
    key,
    `has rank ${coordinates.length}, expected rank ${rank}`,
  );
}

/** Throws a `TypeError` for a key that is not a string, as plain JavaScript may pass. */
export function assertKeyIsString(key: unknown): void {
  if (typeof key === "string") return;
  throw new TypeError(`Expected a chunk key, found ${describe(key)}`);
}

const EXPECTED_SEPARATOR = 'the separator "/" or "."';

/** Throws for a value that is not a separator, as plain JavaScript may pass. */
export function assertSeparator(separator: unknown): void {
  if (separator === "/" || separator === ".") return;
  const ErrorClass = typeof separator === "string" ? RangeError : TypeError;
  throw new ErrorClass(
    `Expected ${EXPECTED_SEPARATOR}, found ${describe(separator)}`,
  );
}

/** Parses a configuration with the optional member `separator` and no others. */
export function parseSeparator(
  name: string,
  configuration: Record<string, unknown>,
): Separator | undefined {
  const { separator } = checkMembers(
    configuration,
    `the configuration of "${name}"`,
    [],
    ["separator"],
  );
  return separator === undefined
    ? undefined
    : checkOneOf(separator, ["/", "."], EXPECTED_SEPARATOR, "/separator");
}

/** Returns the spelling that metadata uses of a member with two spellings; `written` if the member is missing. */
export function spellingOf<Written extends string, Other extends string>(
  members: Readonly<Partial<Record<Written | Other, unknown>>>,
  written: Written,
  other: Other,
): Written | Other {
  if (members[other] === undefined) return written;
  if (members[written] === undefined) return other;
  throw new MetadataError(
    `Expected "${written}" alone, found "${other}" too`,
    `/${other}`,
  );
}

function notAList(value: unknown): TypeError {
  return new TypeError(
    `Expected a list of coordinates, found ${describe(value)}`,
  );
}

function notACoordinate(dimension: number, value: unknown): Error {
  return notWhole(`the coordinate of dimension ${dimension}`, value);
}

function notWhole(what: string, value: unknown): TypeError | RangeError {
  const ErrorClass = typeof value === "number" ? RangeError : TypeError;
  return new ErrorClass(
    `Expected ${what} to be ${WHOLE_NUMBER}, found ${describe(value)}`,
  );
}
