import { describe } from "../metadata/describe.ts";
import { isMetadataKey, keyProblem } from "../stores/store_key.ts";
import type { ChunkKeyEncoding } from "./chunk_key_encoding.ts";
import { ChunkKeyError } from "./chunk_key_error.ts";
import { DefaultChunkKeyEncoding } from "./default_chunk_key_encoding.ts";
import { assertKeyIsString } from "./grid_coordinates.ts";
import { V2ChunkKeyEncoding } from "./v2_chunk_key_encoding.ts";

/** How many encodings may stand one in the other, the innermost base counted. */
export const MAX_NESTING = 32;

/**
 * The chunk key encoding `suffix`: a text after the key of another encoding, so
 * that a chunk which is a file of its own has that file's extension.
 *
 * Source: the proposal "`suffix` Chunk Key Encoding", version 0.1. It calls the
 * base encoding both `base_encoding` and `base-encoding`; both are read, and the
 * first is written.
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
  /** How many encodings stand one in the other here. */
  readonly #nesting: number;
  /** A digit, as the innermost base's keys end, and all suffixes. */
  readonly #ending: string;
  /** Whether what is right for `#ending` is right for all keys: the innermost base is this package's. */
  readonly #proven: boolean;

  /**
   * The encoding that ends the keys of another with this suffix.
   *
   * @param suffix The text after the base encoding's key. It may be empty, and may
   *   hold `/` if every segment of the key is then a name.
   * @param baseEncoding The encoding of the key before the suffix; at most 32
   *   encodings may stand one in the other.
   * @throws {TypeError} If the suffix is not a string, or the base not an encoding.
   * @throws {RangeError} If keys with this suffix could leave the array's folder, be
   *   taken for metadata or not be kept by every store, or encodings nest too deep.
   */
  constructor(
    suffix: string,
    baseEncoding: ChunkKeyEncoding = new DefaultChunkKeyEncoding(),
  ) {
    if (typeof suffix !== "string") {
      throw new TypeError(`Expected a suffix, found ${describe(suffix)}`);
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
    this.#proven = inner
      ? inner.#proven
      : baseEncoding instanceof DefaultChunkKeyEncoding ||
        baseEncoding instanceof V2ChunkKeyEncoding;
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
   * The key of the chunk at these grid coordinates, relative to the array.
   *
   * @param coordinates One for each dimension: whole numbers from 0 to 2^53−1.
   * @throws {TypeError} If a coordinate is not a number.
   * @throws {RangeError} If a coordinate is not such a whole number, or an encoding
   *   that was registered gives a key that may not stand before this suffix.
   */
  encode(coordinates: readonly number[]): string {
    const key = this.baseEncoding.encode(coordinates) + this.suffix;
    const problem = this.#proven ? undefined : chunkKeyProblem(key);
    if (problem === undefined) return key;
    throw new RangeError(
      `Chunk key ${describe(key)} ${problem}; expected names joined by "/"`,
    );
  }

  /**
   * The grid coordinates of the chunk with this key.
   *
   * @param key A key relative to the array, just as {@linkcode encode} writes it.
   * @param rank How many dimensions the array has; any number if left out.
   * @throws {TypeError} If the key is not a string.
   * @throws {ChunkKeyError} If it is not the key of a chunk, or one of another rank.
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
    const problem = this.#proven ? undefined : chunkKeyProblem(key);
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
   * The metadata, as `zarr.json` holds it. The base encoding is left out where it
   * is `default` with the separator `/`, which is what its absence means.
   */
  toJSON(): {
    name: "suffix";
    configuration: {
      suffix: string;
      base_encoding?: ReturnType<ChunkKeyEncoding["toJSON"]>;
    };
  } {
    const { name, suffix, baseEncoding } = this;
    const isImplied = baseEncoding instanceof DefaultChunkKeyEncoding &&
      baseEncoding.separator === "/";
    return {
      name,
      configuration: isImplied
        ? { suffix }
        : { suffix, base_encoding: baseEncoding.toJSON() },
    };
  }
}

/** What is wrong with a finished key, or `undefined` if nothing is. */
function chunkKeyProblem(key: string): string | undefined {
  return keyProblem(key) ??
    (isMetadataKey(key) ? "is that of a metadata document" : undefined);
}
