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
export { tiffContainer } from "./tiff_container.ts";
export type {
  TiffGeoreference,
  TiffOptions,
  TiffResolution,
} from "./tiff_options.ts";
