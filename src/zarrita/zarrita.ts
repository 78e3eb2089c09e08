/**
 * What of zarrita `setSharded` uses.
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
 * What of zarrita's `Array` `setSharded` uses.
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
  /** Where the array was opened. */
  readonly store: object;
  /** The array's place in the store. */
  readonly path: string;
  /** The data type of the elements. */
  readonly dtype: string;
  /** The element where no chunk is. */
  readonly fillValue: unknown;
  /** The place of a key in the array. */
  resolve(key: string): { readonly path: string };
  /** The elements of a chunk. */
  getChunk(coordinates: number[]): Promise<{ data: unknown }>;
}
