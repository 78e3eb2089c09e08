/**
 * Zip files in two roles:
 *
 * - Archives that hold a whole array or group, such as `x.zarr.zip` and the `.ozx` of
 *   OME-Zarr: {@linkcode ZipStore} reads them, in any store.
 * - Shards that are zip files, which every program for zip files opens, and Zarr readers
 *   such as zarr-python's `ZipStore`: {@linkcode zipContainer} and {@linkcode adoptZip}.
 *
 * @example
 * ```ts
 * import { arrayMetadata } from "@zarr-parts/zarr-parts";
 * import { zipContainer } from "@zarr-parts/zarr-parts/zip";
 *
 * const metadata = arrayMetadata({
 *   shape: [10_000, 10_000],
 *   dataType: "float32",
 *   shardShape: [2000, 2000],
 *   chunkShape: [500, 500],
 *   suffix: ".zip",
 *   parts: ["", ".index"],
 * });
 * const container = zipContainer(metadata); // an option of setSharded
 * ```
 *
 * @module
 */

export {
  fitZip,
  zipContainer,
  type ZipDescription,
  type ZipOptions,
  ZipStore,
  type ZipStoreOptions,
} from "./src/zip/mod.ts";
export type { FileRecoding } from "./src/arrays/mod.ts";
export {
  type AdoptedArray,
  type AdoptedMismatch,
  type AdoptedVerification,
  type AdoptionOptions,
  type AdoptionReport,
  adoptZip,
  type AdoptZipOptions,
  verifyAdoptedZip,
} from "./src/adopt/mod.ts";
