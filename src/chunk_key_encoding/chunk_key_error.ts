import { describe } from "../metadata/describe.ts";

/**
 * A key that is not the key of a chunk under the encoding it was read with.
 *
 * @example
 * ```ts
 * import { ChunkKeyError, DefaultChunkKeyEncoding } from "@zarr-parts/zarr-parts";
 * import { assertEquals, assertThrows } from "@std/assert";
 *
 * const error = assertThrows(
 *   () => new DefaultChunkKeyEncoding().decode("c/01"),
 *   ChunkKeyError,
 * );
 * assertEquals(error.key, "c/01");
 * ```
 */
export class ChunkKeyError extends SyntaxError {
  /** The class's name, as error reports show it. */
  override readonly name = "ChunkKeyError";
  /** The whole key. */
  readonly key: string;
  /** What is wrong, without the key. */
  readonly problem: string;

  /**
   * An error about this key.
   *
   * @param key The whole key.
   * @param problem What is wrong with it, and what would be right, as it would follow "Chunk key …".
   * @param options `cause`: the error behind this one.
   *
   * @example
   * ```ts
   * import { ChunkKeyError } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const error = new ChunkKeyError("c/x", "holds a letter; expected digits");
   * assertEquals(error.message, 'Chunk key "c/x" holds a letter; expected digits');
   * assertEquals(error.problem, "holds a letter; expected digits");
   * ```
   */
  constructor(key: string, problem: string, options?: ErrorOptions) {
    super(`Chunk key ${describe(key)} ${problem}`, options);
    this.key = key;
    this.problem = problem;
  }
}
