import { describe, describeAll } from "./describe.ts";
import { UnfinishedWriteError } from "./write_errors.ts";

/**
 * Thrown if stored data is damaged: a part is missing or has a wrong length, a
 * checksum does not match, or the index of a shard contradicts the shard. Extended by
 * `ChecksumError`, `MissingPartError` and `PartSizeError`. Damage is never a
 * `RangeError`, and a damaged chunk is never read as an absent one.
 *
 * A damaged `zarr.json` is a `MetadataError` instead.
 *
 * @example Absence, a mistake of the caller, and damage have different statuses
 * ```ts
 * import { arrayMetadata, createArrayChunks, DamageError, MemoryStore } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const store = new MemoryStore();
 * const metadata = arrayMetadata({
 *   shape: [9],
 *   dataType: "uint8",
 *   chunkShape: [3],
 *   codecs: ["crc32c"],
 *   parts: ["", ".crc32c"],
 * });
 * const chunks = await createArrayChunks(store, "", metadata);
 * await chunks.set([0], new Uint8Array(7));
 * await chunks.set([1], new Uint8Array(7));
 * await store.set("/c/1.crc32c", new Uint8Array(3)); // One byte is lost.
 *
 * async function status(coordinate: number): Promise<number> {
 *   try {
 *     return await chunks.get([coordinate]) === undefined ? 404 : 200;
 *   } catch (error) {
 *     if (error instanceof DamageError) return 500;
 *     if (error instanceof RangeError) return 404;
 *     throw error;
 *   }
 * }
 * const statuses = [status(0), status(1), status(2), status(3)];
 * assertEquals(await Promise.all(statuses), [200, 500, 404, 404]);
 * ```
 */
export class DamageError extends Error {
  /** The name of the class, as error reports show it. */
  override readonly name: string = "DamageError";
  /** The key of the damaged part, chunk or shard; may be empty for bytes in memory. */
  readonly key: string;

  /**
   * Constructs an error about stored data.
   *
   * @param message What was found, and what would be right.
   * @param options `key`: the key of the damaged part, chunk or shard, empty by
   * default; `cause`: the underlying error.
   *
   * @example
   * ```ts
   * import { DamageError } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const message = 'Shard "/c/0" is 3 bytes long, where its index takes 20';
   * assertEquals(new DamageError(message, { key: "/c/0" }).key, "/c/0");
   * ```
   */
  constructor(message: string, options: ErrorOptions & { key?: string } = {}) {
    const { key = "", ...errorOptions } = options;
    super(message, errorOptions);
    this.key = key;
  }
}

/**
 * Thrown if some parts of a chunk are stored and others are not.
 *
 * @example
 * ```ts
 * import { ConcatParts, MemoryStore, MissingPartError } from "@zarr-parts/zarr-parts";
 * import { assertEquals, assertRejects } from "@std/assert";
 *
 * const parts = new ConcatParts([{ keySuffix: "" }, { keySuffix: ".index", size: 2 }]);
 * const stored = new MemoryStore([["/c/0", new Uint8Array(10)]]);
 * const error = await assertRejects(() => parts.apply(stored).get("/c/0"), MissingPartError);
 * assertEquals(error.missing, ["/c/0.index"]);
 * ```
 */
export class MissingPartError extends DamageError {
  /** The name of the class, as error reports show it. */
  override readonly name = "MissingPartError";
  /** The key of the chunk. */
  readonly chunkKey: string;
  /** The keys of the parts that are not stored. */
  readonly missing: readonly string[];
  /** The keys of the parts that are stored. */
  readonly present: readonly string[];

  /**
   * Constructs an error that names the parts.
   *
   * @param chunkKey The chunk's key.
   * @param missing The keys of the parts that are not stored.
   * @param present The keys of the parts that are stored.
   *
   * @example
   * ```ts
   * import { MissingPartError } from "@zarr-parts/zarr-parts";
   * import { assertStringIncludes } from "@std/assert";
   *
   * const error = new MissingPartError("/c/0", ["/c/0.index"], ["/c/0"]);
   * assertStringIncludes(error.message, 'lacks "/c/0.index" but has "/c/0"');
   * ```
   */
  constructor(
    chunkKey: string,
    missing: readonly string[],
    present: readonly string[],
  ) {
    super(
      `Chunk ${describe(chunkKey)} lacks ${describeAll(missing)} but has ${
        describeAll(present)
      }: a chunk is stored with all of its parts or not at all`,
      { key: chunkKey },
    );
    this.chunkKey = chunkKey;
    this.missing = missing;
    this.present = present;
  }
}

/**
 * Thrown if the sizes of the parts do not allow the length of a stored part, or of a
 * chunk to be written, of which nothing is stored then. `key` is the key of the part
 * or chunk; for bytes in memory, it is the key suffix or empty.
 *
 * @example
 * ```ts
 * import { ConcatParts, PartSizeError } from "@zarr-parts/zarr-parts";
 * import { assertEquals, assertThrows } from "@std/assert";
 *
 * const parts = new ConcatParts([{ keySuffix: "" }, { keySuffix: ".crc32c", size: 4 }]);
 * const error = assertThrows(() => parts.split(new Uint8Array(3)), PartSizeError);
 * assertEquals([error.expected, error.actual], [4, 3]);
 * ```
 */
export class PartSizeError extends DamageError {
  /** The name of the class, as error reports show it. */
  override readonly name = "PartSizeError";
  /** The length that the sizes require, in bytes. */
  readonly expected: number;
  /** The length found, in bytes. */
  readonly actual: number;

  /**
   * Constructs an error with the two lengths.
   *
   * @param message The message, with the lengths.
   * @param sizes The key, and the expected and the actual length in bytes.
   *
   * @example
   * ```ts
   * import { PartSizeError } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const sizes = { key: "/c/0.index", expected: 16, actual: 15 };
   * const error = new PartSizeError("Part is 15 bytes long, where its size is 16", sizes);
   * assertEquals(error.actual, 15);
   * ```
   */
  constructor(
    message: string,
    sizes: { key: string; expected: number; actual: number },
  ) {
    super(message, { key: sizes.key });
    this.expected = sizes.expected;
    this.actual = sizes.actual;
  }
}

/**
 * Throws if a part does not have its size.
 *
 * @param isLeast Whether the part may be longer than `actual`.
 */
export function assertPartSize(
  key: string,
  expected: number | undefined,
  actual: number,
  isLeast = false,
): void {
  if (expected === undefined || expected === actual) return;
  throw new PartSizeError(
    `Part ${describe(key)} is ${
      isLeast ? "at least " : ""
    }${actual} bytes long, where its size is ${expected}`,
    { key, expected, actual },
  );
}

/**
 * Thrown if bytes do not have the checksum that is stored with them.
 *
 * @example
 * ```ts
 * import { ChecksumError, ConcatParts, splitStream } from "@zarr-parts/zarr-parts";
 * import { assertEquals, assertRejects } from "@std/assert";
 *
 * const parts = new ConcatParts([{ keySuffix: "" }, { keySuffix: ".crc32c", size: 4 }]);
 * const damaged = new Blob([new Uint8Array(9)]).stream();
 * const error = await assertRejects(
 *   () => splitStream(damaged, parts, () => new WritableStream(), { crc32c: "verify" }),
 *   ChecksumError,
 * );
 * assertEquals(error.expected, 0); // as the last four bytes say
 * assertEquals(error.actual, 0x45727635); // as the five bytes before them are
 * ```
 */
export class ChecksumError extends DamageError {
  /** The name of the class, as error reports show it. */
  override readonly name = "ChecksumError";
  /** The stored checksum, from 0 to 2^32−1. */
  readonly expected: number;
  /** The checksum of the bytes, from 0 to 2^32−1. */
  readonly actual: number;

  /**
   * Constructs an error with the two checksums.
   *
   * @param message The message, with the checksums.
   * @param checksums The key, and the stored and the computed checksum.
   *
   * @example
   * ```ts
   * import { ChecksumError } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const checksums = { key: "/c/0", expected: 0xe3069283, actual: 0 };
   * const error = new ChecksumError("Chunk has CRC32C 0, where e3069283 is stored", checksums);
   * assertEquals(error.key, "/c/0");
   * ```
   */
  constructor(
    message: string,
    checksums: { key: string; expected: number; actual: number },
  ) {
    super(message, { key: checksums.key });
    this.expected = checksums.expected;
    this.actual = checksums.actual;
  }
}

/** Whether an error says that a shard is damaged, or was left unfinished. */
export function isDamage(error: unknown): boolean {
  return error instanceof DamageError || error instanceof UnfinishedWriteError;
}
