

/**
 * Thrown if a value is longer than the `limit` of the read.
 *
 * @example A value that is too long, and never in memory
 * ```ts
 * import { HttpStore, SizeLimitError } from "@zarr-parts/zarr-parts";
 * import { assertEquals, assertRejects } from "@std/assert";
 *
 * const endless = new ReadableStream<Uint8Array<ArrayBuffer>>({
 *   pull: (controller) => controller.enqueue(new Uint8Array(1024)),
 * });
 * const store = new HttpStore("https://example.org/data.zarr", {
 *   fetch: () => Promise.resolve(new Response(endless)),
 * });
 * const error = await assertRejects(() => store.get("/c/0", { limit: 4096 }), SizeLimitError);
 * assertEquals([error.key, error.limit, error.size], ["/c/0", 4096, undefined]);
 * ```
 */
export class SizeLimitError extends Error {
  /** The name of the class, as error reports show it. */
  override readonly name = "SizeLimitError";
  /** The key of the value. */
  readonly key: `/${string}`;
  /** The greatest length that was allowed, in bytes. */
  readonly limit: number;
  /** The length of the value in bytes; `undefined` if it was not read to its end. */
  readonly size: number | undefined;

  /**
   * Constructs an error with the limit.
   *
   * @param key The key of the value.
   * @param limit The greatest length that is allowed, in bytes.
   * @param size The length of the value in bytes, if it is known.
   *
   * @example
   * ```ts
   * import { SizeLimitError } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * assertEquals(
   *   new SizeLimitError("/c/0.index", 16, 20).message,
   *   'Expected at most 16 bytes of "/c/0.index", found 20',
   * );
   * ```
   */
  constructor(key: `/${string}`, limit: number, size?: number) {
    super(
      `Expected at most ${limit} bytes of ${JSON.stringify(key)}, found ${
        size ?? "more"
      }`,
    );
    this.key = key;
    this.limit = limit;
    this.size = size;
  }
}

/** Throws if the length of a value is above the limit. */
export function assertSizeLimit(
  key: `/${string}`,
  limit: number | undefined,
  size: number,
): void {
  if (limit === undefined || size <= limit) return;
  throw new SizeLimitError(key, limit, size);
}
