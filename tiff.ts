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

export type { FileRecoding } from "./src/arrays/mod.ts";
export {
  type AdoptedArray,
  type AdoptedMismatch,
  type AdoptedPyramid,
  type AdoptedVerification,
  type AdoptionOptions,
  type AdoptionReport,
  adoptPyramid,
  type AdoptPyramidOptions,
  adoptTiffs,
  type AdoptTiffsOptions,
  type TiffFile,
  verifyAdopted,
} from "./src/adopt/mod.ts";
export {
  describeTiff,
  fitTiff,
  type FitTiffOptions,
  type OmeChannel,
  type OmeImage,
  readTiffOptions,
  type TiffAxis,
  tiffContainer,
  type TiffDescription,
  type TiffGeoreference,
  type TiffMapPlace,
  type TiffOptions,
  type TiffPage,
  type TiffPlace,
  type TiffResolution,
  type TiffValues,
} from "./src/tiff/mod.ts";
