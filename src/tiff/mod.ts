/**
 * Shards that are TIFF files, which GDAL, libtiff, tifffile and image viewers open.
 *
 * @example
 * ```ts
 * import { arrayMetadata } from "@zarr-parts/zarr-parts";
 * import { tiffContainer } from "@zarr-parts/zarr-parts/tiff";
 *
 * const metadata = arrayMetadata({
 *   shape: [10_000, 10_000],
 *   dataType: "uint8",
 *   shardShape: [4096, 4096],
 *   chunkShape: [512, 512],
 *   suffix: ".tiff",
 *   parts: ["", ".index"],
 * });
 * const container = tiffContainer(metadata); // an option of setSharded
 * ```
 *
 * @module
 */
export { adoptTiffs } from "./adopt_tiffs.ts";
export { describeTiff } from "./describe_tiff.ts";
export { verifyAdopted } from "./verify_adopted.ts";
export { tiffContainer } from "./tiff_container.ts";
export type {
  TiffGeoreference,
  TiffOptions,
  TiffResolution,
} from "./tiff_options.ts";
export type {
  TiffAxis,
  TiffDescription,
  TiffPage,
  TiffPlace,
} from "./tiff_page.ts";
export type { AdoptTiffsOptions, TiffFile } from "./adopt_options.ts";
export type {
  AdoptedArray,
  AdoptionReport,
} from "../adoption/adopted_array.ts";
export type {
  AdoptedMismatch,
  AdoptedVerification,
} from "../adoption/verify_files.ts";
export type { AdoptionOptions } from "../adoption/adoption_options.ts";
export type { Share } from "../arrays/share.ts";
