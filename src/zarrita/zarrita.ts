/**
 * The part of zarrita that `setSharded` uses.
 *
 * @example
 * ```ts
 * import type { Zarrita } from "@zarr-parts/zarr-parts/zarrita";
 * import * as zarr from "zarrita";
 *
 * const peer: Zarrita = zarr;
 * ```
 */
export interface Zarrita {
  /** Writes into an array. */
  set(
    array: never,
    selection: never,
    value: never,
    options?: never,
  ): Promise<void>;
}

/**
 * The part of zarrita's `Array` that `setSharded` uses.
 *
 * @example
 * ```ts
 * import { MemoryStore } from "@zarr-parts/zarr-parts";
 * import { withZarrParts, type ZarritaArray } from "@zarr-parts/zarr-parts/zarrita";
 * import * as zarr from "zarrita";
 *
 * const store = withZarrParts(new MemoryStore());
 * const array: ZarritaArray = await zarr.create(store, {
 *   shape: [4],
 *   chunkShape: [2],
 *   dtype: "uint8",
 * });
 * ```
 */
export interface ZarritaArray {
  /** The store that the array was opened from. */
  readonly store: object;
  /** The path of the array in the store. */
  readonly path: string;
  /** The shape of the array in elements. */
  readonly shape: readonly number[];
  /** The shape of a chunk, or of an innermost chunk, in elements. */
  readonly chunks: readonly number[];
  /** The data type of the elements. */
  readonly dtype: string;
  /** The value of elements in absent chunks. */
  readonly fillValue: unknown;
  /** Resolves a key relative to the array. */
  resolve(key: string): { readonly path: string };
  /** Reads the elements of a chunk. */
  getChunk(coordinates: number[]): Promise<{ data: unknown }>;
}
