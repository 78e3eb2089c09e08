/**
 * Shards that are zip files, which every program for zip files opens, and Zarr readers
 * such as zarr-python's `ZipStore`.
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
export type {
  AdoptedArray,
  AdoptionReport,
} from "../adoption/adopted_array.ts";
export { adoptZip } from "./adopt_zip.ts";
export type { AdoptZipOptions } from "./adopt_zip_options.ts";
export type {
  AdoptedMismatch,
  AdoptedVerification,
} from "../adoption/verify_files.ts";
export { verifyAdoptedZip } from "./verify_adopted_zip.ts";
export { zipContainer } from "./zip_container.ts";
export type { ZipOptions } from "./zip_options.ts";
export type { AdoptionOptions } from "../adoption/adoption_options.ts";
export type { Share } from "../arrays/share.ts";
