/**
 * The key of a stored value: segments after a leading `/`, as zarrita writes them.
 *
 * @example
 * ```ts
 * import type { StoreKey } from "@zarr-parts/zarr-parts";
 *
 * const key: StoreKey = "/temperature/c/0/1";
 * ```
 */
export type StoreKey = `/${string}`;

/**
 * A range of a stored value in bytes: at most `length` bytes from `offset` on, or
 * the last `suffixLength` bytes. All are whole numbers from 0 to 2^53−1.
 *
 * @example
 * ```ts
 * import type { ByteRange } from "@zarr-parts/zarr-parts";
 *
 * const header: ByteRange = { offset: 0, length: 64 };
 * const index: ByteRange = { suffixLength: 1604 };
 * ```
 */
export type ByteRange =
  | { readonly offset: number; readonly length: number }
  | { readonly suffixLength: number };

/**
 * Options of every operation of a {@linkcode Store}.
 *
 * @example
 * ```ts
 * import { MemoryStore, type StoreOptions } from "@zarr-parts/zarr-parts";
 * import { assertRejects } from "@std/assert";
 *
 * const controller = new AbortController();
 * const options: StoreOptions = { signal: controller.signal };
 * controller.abort(new Error("No longer in view"));
 * await assertRejects(() => new MemoryStore().get("/c/0", options), Error, "No longer in view");
 * ```
 */
export interface StoreOptions {
  /** Aborts the operation, which then rejects with the signal's reason. */
  signal?: AbortSignal;
}

/**
 * Options of `Store.get`.
 *
 * @example
 * ```ts
 * import { type GetOptions, MemoryStore, SizeLimitError } from "@zarr-parts/zarr-parts";
 * import { assertRejects } from "@std/assert";
 *
 * const store = new MemoryStore([["/c/0.index", new Uint8Array(17)]]);
 * const options: GetOptions = { limit: 16 };
 * await assertRejects(() => store.get("/c/0.index", options), SizeLimitError);
 * ```
 */
export interface GetOptions extends StoreOptions {
  /**
   * The greatest length of the value in bytes. A longer value is a `SizeLimitError`,
   * and is not read further. No limit by default.
   */
  limit?: number;
}
