import { ChunkKeyError, describe } from "../errors/mod.ts";
import { chunkKeyProblem, LONGEST_SUFFIX } from "../stores/mod.ts";
import {
  assertKeyIsString,
  type ChunkKeyEncoding,
} from "./chunk_key_encoding.ts";
import { DefaultChunkKeyEncoding } from "./default_chunk_key_encoding.ts";

/** The greatest depth of nested encodings, counting the innermost base. */
export const MAX_NESTING = 32;

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
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(new SuffixChunkKeyEncoding(".tiff").encode([1, 2]), "c/1/2.tiff");
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
  /** The depth of nested encodings, counting this one. */
  readonly #nesting: number;
  /** The end of all keys: a digit in place of the innermost base's key, and all suffixes. */
  readonly #ending: string;
  /** Whether it is enough to check `#ending`, since the innermost base is `default`. */
  readonly #isSafe: boolean;

  /**
   * Creates the encoding that appends a suffix.
   *
   * @param suffix The text after the base encoding's key, at most 1024 characters. It
   *   may be empty, and may contain `/` if no segment of the key is then empty, `.` or `..`.
   * @param baseEncoding The encoding of the key before the suffix. Encodings may nest
   *   up to 32 deep.
   * @throws {TypeError} If the suffix is not a string, or the base not an encoding.
   * @throws {RangeError} If keys with the suffix could leave the array's folder, be
   *   keys of metadata documents or be refused by stores, or if encodings nest too
   *   deep.
   *
   * @example One folder per chunk
   * ```ts
   * import { SuffixChunkKeyEncoding } from "@zarr-parts/zarr-parts";
   * import { assertEquals, assertThrows } from "@std/assert";
   *
   * assertEquals(new SuffixChunkKeyEncoding("/data.tiff").encode([1, 2]), "c/1/2/data.tiff");
   * assertThrows(() => new SuffixChunkKeyEncoding("/../x"), RangeError, 'the segment ".."');
   * assertThrows(() => new SuffixChunkKeyEncoding("/zarr.json"), RangeError, "metadata");
   * ```
   */
  constructor(
    suffix: string,
    baseEncoding: ChunkKeyEncoding = new DefaultChunkKeyEncoding(),
  ) {
    if (typeof suffix !== "string") {
      throw new TypeError(`Expected a suffix, found ${describe(suffix)}`);
    }
    if (suffix.length > LONGEST_SUFFIX) {
      throw new RangeError(
        `Expected a suffix of at most ${LONGEST_SUFFIX} characters, found ${
          describe(suffix)
        }`,
      );
    }
    if (typeof baseEncoding?.encode !== "function") {
      throw new TypeError(
        `Expected a chunk key encoding as base, found ${
          describe(baseEncoding)
        }`,
      );
    }
    this.suffix = suffix;
    this.baseEncoding = baseEncoding;
    const inner = baseEncoding instanceof SuffixChunkKeyEncoding
      ? baseEncoding
      : undefined;
    this.#nesting = 1 + (inner ? inner.#nesting : 1);
    if (this.#nesting > MAX_NESTING) {
      throw new RangeError(
        `Expected at most ${MAX_NESTING} nested chunk key encodings, found ${this.#nesting}`,
      );
    }
    this.#isSafe = inner
      ? inner.#isSafe
      : baseEncoding.constructor === DefaultChunkKeyEncoding;
    this.#ending = (inner ? inner.#ending : "0") + suffix;
    const problem = chunkKeyProblem(this.#ending);
    if (problem === undefined) return;
    throw new RangeError(
      `Suffix ${describe(suffix)} cannot be used, since a key that ends in ${
        describe(this.#ending)
      } ${problem}; expected a suffix such as ".tiff"`,
    );
  }

  /**
   * Returns the key of a chunk: the base encoding's key and the suffix.
   *
   * @param coordinates Grid coordinates, one for each dimension: whole numbers from
   *   0 to 2^53−1.
   * @returns The key, relative to the array.
   * @throws {TypeError} If the coordinates are not an array of numbers.
   * @throws {RangeError} If a coordinate is out of range, or a registered base
   *   encoding returns a key that cannot have the suffix.
   *
   * @example A suffix after a suffix
   * ```ts
   * import { SuffixChunkKeyEncoding } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const tar = new SuffixChunkKeyEncoding(".tar");
   * assertEquals(new SuffixChunkKeyEncoding(".gz", tar).encode([3]), "c/3.tar.gz");
   * assertEquals(tar.encode([]), "c.tar");
   * ```
   */
  encode(coordinates: readonly number[]): string {
    const key = this.baseEncoding.encode(coordinates) + this.suffix;
    const problem = this.#isSafe ? undefined : chunkKeyProblem(key);
    if (problem === undefined) return key;
    throw new RangeError(
      `Chunk key ${describe(key)} ${problem}; expected names joined by "/"`,
    );
  }

  /**
   * Removes the suffix from a key, and decodes the rest with the base encoding.
   *
   * @param key A key relative to the array, exactly as {@linkcode encode} returns it.
   * @param rank The array's number of dimensions. Without it, the base encoding
   *   determines which numbers are accepted.
   * @returns One coordinate for each dimension.
   * @throws {TypeError} If the key is not a string or the rank not a number.
   * @throws {ChunkKeyError} If the key is not that of a chunk, or has another rank.
   * @throws {RangeError} If the rank is not a whole number from 0 to 2^53−1.
   *
   * @example
   * ```ts
   * import { ChunkKeyError, SuffixChunkKeyEncoding } from "@zarr-parts/zarr-parts";
   * import { assertEquals, assertThrows } from "@std/assert";
   *
   * const encoding = new SuffixChunkKeyEncoding(".tiff");
   * assertThrows(() => encoding.decode("c/1.TIFF"), ChunkKeyError, 'the suffix ".tiff"');
   * const error = assertThrows(() => encoding.decode("c/01.tiff"), ChunkKeyError);
   * assertEquals(error.key, "c/01.tiff"); // The whole key, not the base encoding's.
   * ```
   */
  decode(key: string, rank?: number): number[] {
    assertKeyIsString(key);
    const { suffix } = this;
    if (!key.endsWith(suffix)) {
      throw new ChunkKeyError(
        key,
        `does not end with the suffix ${describe(suffix)}`,
      );
    }
    const problem = this.#isSafe ? undefined : chunkKeyProblem(key);
    if (problem !== undefined) {
      throw new ChunkKeyError(key, `${problem}; expected names joined by "/"`);
    }
    try {
      return this.baseEncoding.decode(
        key.slice(0, key.length - suffix.length),
        rank,
      );
    } catch (error) {
      if (!(error instanceof ChunkKeyError)) throw error;
      throw new ChunkKeyError(
        key,
        `${error.problem} (before the suffix ${describe(suffix)})`,
        { cause: error.cause },
      );
    }
  }

  /**
   * Returns the metadata, as `zarr.json` holds it. The base encoding is always
   * written, since newer drafts of the proposal require it.
   *
   * @returns The name `suffix`, and the suffix and the base encoding's own metadata
   *   in the configuration.
   *
   * @example
   * ```ts
   * import { parseChunkKeyEncoding, SuffixChunkKeyEncoding } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * assertEquals(new SuffixChunkKeyEncoding(".zip").toJSON().configuration, {
   *   suffix: ".zip",
   *   base_encoding: { name: "default", configuration: { separator: "/" } },
   * });
   *
   * const configuration = { suffix: ".zip", "base-encoding": "v2" };
   * const parsed = parseChunkKeyEncoding({ name: "suffix", configuration });
   * assertEquals(parsed.toJSON().configuration, {
   *   suffix: ".zip",
   *   base_encoding: { name: "v2", configuration: { separator: "." } },
   * });
   * ```
   */
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
