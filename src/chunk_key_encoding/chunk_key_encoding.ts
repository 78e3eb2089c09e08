import { ChunkKeyError, describe, sentence } from "../errors/mod.ts";
import { isWhole } from "../metadata/mod.ts";
import { chunkKeyProblem, LONGEST_SUFFIX } from "../stores/mod.ts";

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

/**
 * The chunk key encoding `default`: `c`, then a separator and a decimal coordinate
 * for each dimension. The only chunk of an array without dimensions has the key `c`.
 *
 * Source: https://zarr-specs.readthedocs.io/en/latest/v3/chunk-key-encodings/default/
 *
 * @example
 * ```ts
 * import { ChunkKeyError, DefaultChunkKeyEncoding } from "@zarr-parts/zarr-parts";
 * import { assertEquals, assertThrows } from "@std/assert";
 *
 * const encoding = new DefaultChunkKeyEncoding();
 * assertEquals(encoding.encode([1, 23, 45]), "c/1/23/45");
 * assertEquals(encoding.decode("c/4/2"), [4, 2]);
 * assertThrows(() => encoding.decode("c/4/2", 3), ChunkKeyError, "expected rank 3");
 * assertThrows(() => encoding.decode("c.4.2"), ChunkKeyError); // The separator is "/".
 * ```
 */
export class DefaultChunkKeyEncoding implements ChunkKeyEncoding {
  /** The name in metadata. */
  readonly name = "default";
  /** The text before each coordinate. */
  readonly separator: "/" | ".";

  /**
   * Creates the encoding.
   *
   * @param separator The text before each coordinate.
   */
  constructor(separator: "/" | "." = "/") {
    assertSeparator(separator);
    this.separator = separator;
  }

  /** Returns the key of a chunk: `c`, then the separator and the coordinate of each dimension. */
  encode(coordinates: readonly number[]): string {
    return joinCoordinates("c", coordinates, this.separator);
  }

  /** Returns the grid coordinates of the chunk with a key. */
  decode(key: string, rank?: number): number[] {
    assertKeyIsString(key);
    const coordinates = key.startsWith("c")
      ? splitCoordinates(key, 1, this.separator)
      : undefined;
    if (coordinates) return checkRank(key, coordinates, rank);
    throw new ChunkKeyError(
      key,
      `is not a key of the "default" encoding: expected "c", and for each dimension "${this.separator}" and ${WHOLE_NUMBER} without leading zeros`,
    );
  }

  /** Returns the encoding's metadata, with the separator. */
  toJSON(): { name: "default"; configuration: { separator: "/" | "." } } {
    return { name: this.name, configuration: { separator: this.separator } };
  }
}

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
   * Creates the encoding.
   *
   * @param separator The text between coordinates.
   */
  constructor(separator: "/" | "." = ".") {
    assertSeparator(separator);
    this.separator = separator;
  }

  /** Returns the key of a chunk: its coordinates with the separator between them, or `0` if there are none. */
  encode(coordinates: readonly number[]): string {
    return joinCoordinates("", coordinates, this.separator) || "0";
  }

  /** Returns the grid coordinates of the chunk with a key. Without a rank, there is at least one. */
  decode(key: string, rank?: number): number[] {
    assertKeyIsString(key);
    if (rank === 0 && key === "0") return [];
    const coordinates = splitCoordinates(key, 0, this.separator);
    if (coordinates?.length) return checkRank(key, coordinates, rank);
    throw new ChunkKeyError(
      key,
      `is not a key of the "v2" encoding: expected for each dimension ${WHOLE_NUMBER} without leading zeros, and "${this.separator}" between them`,
    );
  }

  /** Returns the encoding's metadata, with the separator. */
  toJSON(): { name: "v2"; configuration: { separator: "/" | "." } } {
    return { name: this.name, configuration: { separator: this.separator } };
  }
}

/**
 * The chunk key encoding `suffix`: appends a text to the keys of another encoding,
 * so that chunks have a file extension.
 *
 * Source: the proposal "`suffix` Chunk Key Encoding", version 0.1. The proposal
 * spells the base encoding both `base_encoding` and `base-encoding`; both are read,
 * and `base_encoding` is written.
 *
 * @example
 * ```ts
 * import { SuffixChunkKeyEncoding, V2ChunkKeyEncoding } from "@zarr-parts/zarr-parts";
 * import { assertEquals, assertThrows } from "@std/assert";
 *
 * assertEquals(new SuffixChunkKeyEncoding(".tiff").encode([1, 2]), "c/1/2.tiff");
 * assertEquals(new SuffixChunkKeyEncoding("/data.tiff").encode([1, 2]), "c/1/2/data.tiff");
 * assertThrows(() => new SuffixChunkKeyEncoding("/../x"), RangeError, 'the segment ".."');
 *
 * const encoding = new SuffixChunkKeyEncoding(".shard.zip", new V2ChunkKeyEncoding());
 * assertEquals(encoding.decode("1.2.shard.zip"), [1, 2]);
 * ```
 */
export class SuffixChunkKeyEncoding implements ChunkKeyEncoding {
  /** The name in metadata. */
  readonly name = "suffix";
  /** The text after the base encoding's key. */
  readonly suffix: string;
  /** The encoding of the key before the suffix. */
  readonly baseEncoding: ChunkKeyEncoding;
  /** Whether no key needs a check, since keys of `default` are safe before a suffix that is. */
  readonly #isSafe: boolean;

  /**
   * Creates the encoding.
   *
   * @param suffix The text after the base encoding's key, at most 1024 characters. It
   *   may be empty, and may contain `/` if no segment of the key is then empty, `.` or `..`.
   * @param baseEncoding The encoding of the key before the suffix.
   * @throws {RangeError} If keys with the suffix could leave the array's folder, be
   *   keys of metadata documents or be refused by stores.
   */
  constructor(
    suffix: string,
    baseEncoding: ChunkKeyEncoding = new DefaultChunkKeyEncoding(),
  ) {
    assertText(suffix, "a suffix");
    if (typeof baseEncoding?.encode !== "function") {
      const found = describe(baseEncoding);
      throw new TypeError(
        `Expected a chunk key encoding as base, found ${found}`,
      );
    }
    this.suffix = suffix;
    this.baseEncoding = baseEncoding;
    const { constructor } = innermostEncoding(baseEncoding);
    this.#isSafe = constructor === DefaultChunkKeyEncoding;
    const ending = `0${suffixesOf(baseEncoding)}${suffix}`;
    const problem = chunkKeyProblem(ending);
    if (problem === undefined) return;
    const key = `a key that ends in ${describe(ending)} ${problem}`;
    throw new RangeError(
      `Suffix ${
        describe(suffix)
      } cannot be used, since ${key}; expected a suffix such as ".tiff"`,
    );
  }

  /**
   * Returns the key of a chunk: the base encoding's key and the suffix.
   *
   * @throws {RangeError} If the base encoding returns a key that cannot have the suffix.
   */
  encode(coordinates: readonly number[]): string {
    const key = this.baseEncoding.encode(coordinates) + this.suffix;
    const problem = this.#isSafe ? undefined : chunkKeyProblem(key);
    if (problem === undefined) return key;
    throw new RangeError(
      `Chunk key ${describe(key)} ${problem}; expected names joined by "/"`,
    );
  }

  /** Removes the suffix from a key, and decodes the rest with the base encoding. */
  decode(key: string, rank?: number): number[] {
    assertKeyIsString(key);
    const { suffix } = this;
    if (!key.endsWith(suffix)) {
      throw new ChunkKeyError(
        key,
        sentence`does not end with the suffix ${suffix}`,
      );
    }
    const problem = this.#isSafe ? undefined : chunkKeyProblem(key);
    if (problem !== undefined) {
      throw new ChunkKeyError(key, `${problem}; expected names joined by "/"`);
    }
    try {
      const baseKey = key.slice(0, key.length - suffix.length);
      return this.baseEncoding.decode(baseKey, rank);
    } catch (error) {
      if (!(error instanceof ChunkKeyError)) throw error;
      throw new ChunkKeyError(
        key,
        `${error.problem} (before the suffix ${describe(suffix)})`,
        { cause: error.cause },
      );
    }
  }

  /** Returns the encoding's metadata. The base encoding is always written, since newer drafts of the proposal require it. */
  toJSON(): {
    name: "suffix";
    configuration: {
      suffix: string;
      base_encoding: ReturnType<ChunkKeyEncoding["toJSON"]>;
    };
  } {
    const { name, suffix, baseEncoding } = this;
    return {
      name,
      configuration: { suffix, base_encoding: baseEncoding.toJSON() },
    };
  }
}

/** Returns the encoding below all suffixes. */
export function innermostEncoding(
  encoding: ChunkKeyEncoding,
): ChunkKeyEncoding {
  return encoding instanceof SuffixChunkKeyEncoding
    ? innermostEncoding(encoding.baseEncoding)
    : encoding;
}

/** The suffixes of all nested encodings, the innermost first. */
function suffixesOf(encoding: ChunkKeyEncoding): string {
  return encoding instanceof SuffixChunkKeyEncoding
    ? suffixesOf(encoding.baseEncoding) + encoding.suffix
    : "";
}

/** The range of a coordinate, for messages. */
export const WHOLE_NUMBER = "a whole number from 0 to 9007199254740991";

const DIGIT_ZERO = 48;

/**
 * Appends coordinates in decimal to `start`, each after the separator except at the
 * start of the key. Appending to one string is faster than joining a list.
 */
function joinCoordinates(
  start: string,
  coordinates: readonly number[],
  separator: "/" | ".",
): string {
  if (!Array.isArray(coordinates)) assertCoordinates(coordinates);
  let key = start;
  for (let dimension = 0; dimension < coordinates.length; dimension++) {
    const coordinate = coordinates[dimension]!;
    if (!Number.isSafeInteger(coordinate) || coordinate < 0) {
      throw notACoordinate(dimension, coordinate);
    }
    key += key === "" ? coordinate : separator + coordinate;
  }
  return key;
}

/**
 * Parses the coordinates in a key from `start` on, each after the separator except
 * at the start of the key. Returns `undefined` for text that
 * {@linkcode joinCoordinates} does not write. Uses a single pass over the
 * characters, since listings decode millions of keys.
 */
function splitCoordinates(
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

/** Throws for values other than lists of whole numbers from 0 to 2^53−1. */
export function assertCoordinates(coordinates: readonly number[]): void {
  if (!Array.isArray(coordinates)) {
    throw new TypeError(
      sentence`Expected a list of coordinates, found ${coordinates}`,
    );
  }
  for (const [dimension, coordinate] of coordinates.entries()) {
    if (!isWhole(coordinate)) throw notACoordinate(dimension, coordinate);
  }
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

/** Returns the coordinates of a key, and throws if they are of another rank than expected. */
export function checkRank(
  key: string,
  coordinates: number[],
  rank: number | undefined,
): number[] {
  if (rank === undefined || rank === coordinates.length) return coordinates;
  if (!isWhole(rank)) throw notWhole("the rank", rank);
  throw new ChunkKeyError(
    key,
    `has rank ${coordinates.length}, expected rank ${rank}`,
  );
}

/** Throws a `TypeError` for a key that is not a string, as plain JavaScript may pass. */
export function assertKeyIsString(key: unknown): void {
  if (typeof key === "string") return;
  throw new TypeError(sentence`Expected a chunk key, found ${key}`);
}

/** Throws for a value that is not a text of usual length. */
export function assertText(value: unknown, expected: string): void {
  if (typeof value !== "string") {
    throw new TypeError(`Expected ${expected}, found ${describe(value)}`);
  }
  if (value.length <= LONGEST_SUFFIX) return;
  const limit = `of at most ${LONGEST_SUFFIX} characters`;
  throw new RangeError(
    `Expected ${expected} ${limit}, found ${describe(value)}`,
  );
}

/** Throws for a value that is not a separator, as plain JavaScript may pass. */
function assertSeparator(separator: unknown): void {
  if (separator === "/" || separator === ".") return;
  const ErrorClass = typeof separator === "string" ? RangeError : TypeError;
  throw new ErrorClass(
    sentence`Expected the separator "/" or ".", found ${separator}`,
  );
}
