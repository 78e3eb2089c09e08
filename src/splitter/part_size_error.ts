import { DamageError } from "../errors/damage_error.ts";
import { describe } from "../metadata/describe.ts";

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
