/**
 * Thrown if the parts of a chunk cannot be read because they are being changed, or
 * because their writer was killed. `recover` finishes what a killed writer left.
 *
 * @example
 * ```ts
 * import { UnfinishedWriteError } from "@zarr-parts/zarr-parts";
 * import { assertStringIncludes } from "@std/assert";
 *
 * const error = new UnfinishedWriteError("/c/0");
 * assertStringIncludes(error.message, "recover");
 * ```
 */
export class UnfinishedWriteError extends Error {
  /** The name of the class, as error reports show it. */
  override readonly name = "UnfinishedWriteError";
  /** The key of the chunk. */
  readonly chunkKey: string;

  /**
   * Constructs an error that names the chunk.
   *
   * @param chunkKey The chunk's key.
   *
   * @example
   * ```ts
   * import { UnfinishedWriteError } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * assertEquals(new UnfinishedWriteError("/c/0").chunkKey, "/c/0");
   * ```
   */
  constructor(chunkKey: string) {
    super(
      `Chunk ${
        JSON.stringify(chunkKey)
      } is being written, or was left half written by a program that was killed: try again later, or finish the write by recover(store)`,
    );
    this.chunkKey = chunkKey;
  }
}
