import { DamageError } from "../errors/damage_error.ts";

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
