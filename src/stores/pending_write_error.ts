/**
 * Thrown if a write or a deletion has begun and could not be brought to its end: what is
 * needed to finish it is stored, and the next writer of the chunk or `recover` finishes
 * it. Until then, readers get an `UnfinishedWriteError`, or the old or the new values. A
 * write that is rejected with any other error has changed nothing, and never appears
 * later.
 *
 * @example Try again once the disk or the service works
 * ```ts
 * import { PendingWriteError } from "@zarr-parts/zarr-parts";
 * import { assertStringIncludes } from "@std/assert";
 *
 * const cause = new Error("Input/output error");
 * const error = new PendingWriteError("/c/0", { cause });
 * assertStringIncludes(error.message, "Input/output error");
 * ```
 */
export class PendingWriteError extends Error {
  /** The name of the class, as error reports show it. */
  override readonly name = "PendingWriteError";
  /** The key of the chunk. */
  readonly key: string;

  /**
   * Constructs an error that names the chunk.
   *
   * @param key The key of the chunk.
   * @param options `cause`: the error that stopped the write.
   *
   * @example
   * ```ts
   * import { PendingWriteError } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * assertEquals(new PendingWriteError("/c/0").key, "/c/0");
   * ```
   */
  constructor(key: string, options: ErrorOptions = {}) {
    const { cause } = options;
    super(
      `The change of chunk ${JSON.stringify(key)} has begun and was stopped${
        cause === undefined ? "" : ` (${textOf(cause)})`
      }: it is finished by the next writer of the chunk or by recover(store)`,
      options,
    );
    this.key = key;
  }
}

function textOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
