/** Shards that are TIFF files: their layout, and the reading of any TIFF. */
export {
  describeTiff,
  MOST_TILES,
  type TiffAxis,
  type TiffDescription,
  type TiffPage,
  type TiffPlace,
} from "./describe_tiff.ts";
export { fitTiff, type FitTiffOptions } from "./fit_tiff.ts";
export {
  geoAttributes,
  type GeoLevel,
  type GeoPlace,
  geoPlaceOf,
  geoPlaceOfFiles,
  joinAttributes,
  pyramidAttributes,
} from "./geo_attributes.ts";
export {
  decodeSelection,
  leftOut,
  MOST_OVERVIEWS,
  MOST_PAGES,
  MOST_SERIES,
  readTiff,
  type TiffFileShards,
  type TiffPicture,
  type TiffSelection,
} from "./read_tiff.ts";
export { readTiffOptions } from "./read_tiff_options.ts";
export { tiffContainer } from "./tiff_container.ts";
export type {
  OmeChannel,
  OmeImage,
  TiffGeoreference,
  TiffMapPlace,
  TiffOptions,
  TiffResolution,
  TiffValues,
} from "./tiff_options.ts";
export {
  bandsFirst,
  commonRows,
  differenceOf,
  type TiffShard,
  withBandsFirst,
  withRows,
} from "./tiff_shard.ts";
export { isTiff, tiffShardProblem } from "./verify_tiff_shard.ts";
export { valueAttributes } from "./value_attributes.ts";
