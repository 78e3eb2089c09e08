import { describe } from "../metadata/describe.ts";

/**
 * The error for a key that an encoding cannot decode.
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
  /** The name of the class. */
  override readonly name = "ChunkKeyError";
  /** The whole key. */
  readonly key: string;
  /** The problem, without the key. */
  readonly problem: string;

  /**
   * Creates an error about a key.
   *
   * @param key The whole key.
   * @param problem The problem, and what is expected. The message is `Chunk key`,
   *   the key and the problem.
   * @param options `cause`: the underlying error.
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
