/**
 * Shards that are files of other formats. Two ways lead here:
 *
 * - Files become shards as they are, by an index beside each of them (`adoption/`,
 *   `tiff/adopt_tiffs.ts`, `zip/adopt_zip.ts`), and are verified against it.
 * - Inner chunks become a shard that is a file of the format, too
 *   (`tiff/tiff_container.ts`, `zip/zip_container.ts`).
 */
export { checkFileRecord, isAdopted } from "./adoption/adopted_index.ts";
export type {
  AdoptedArray,
  AdoptionOptions,
  AdoptionReport,
} from "./adoption/adoption_options.ts";
export { placeByName } from "./adoption/files_to_adopt.ts";
export { notesOnStarts, suggestFormat } from "./adoption/suggest_format.ts";
export type {
  AdoptedMismatch,
  AdoptedVerification,
} from "./adoption/verify_adoption.ts";
export { type AdoptedPyramid, adoptPyramid } from "./tiff/adopt_pyramid.ts";
export { adoptTiffs } from "./tiff/adopt_tiffs.ts";
export type {
  AdoptPyramidOptions,
  AdoptTiffsOptions,
  TiffFile,
} from "./tiff/adopt_tiffs_options.ts";
export { describeTiff } from "./tiff/describe_tiff.ts";
export type { FileRecoding } from "./shard_files.ts";
export { fitTiff, type FitTiffOptions } from "./tiff/fit_tiff.ts";
export { readTiffOptions } from "./tiff/read_tiff_options.ts";
export { tiffContainer } from "./tiff/tiff_container.ts";
export type {
  OmeChannel,
  OmeImage,
  TiffGeoreference,
  TiffMapPlace,
  TiffOptions,
  TiffResolution,
  TiffValues,
} from "./tiff/tiff_options.ts";
export type {
  TiffAxis,
  TiffDescription,
  TiffPage,
  TiffPlace,
} from "./tiff/tiff_page.ts";
export { dimensionsOfTiff } from "./tiff/read_tiff.ts";
export { verifyAdopted } from "./tiff/verify_adopted_tiffs.ts";
export { verifyAdoptedFile } from "./verify_adopted_file.ts";
export { adoptZip, type AdoptZipOptions } from "./zip/adopt_zip.ts";
export { fitZip } from "./zip/fit_zip.ts";
export { verifyAdoptedZip } from "./zip/verify_adopted_zips.ts";
export { zipContainer, type ZipOptions } from "./zip/zip_container.ts";
export { dimensionsOfZip } from "./zip/zipped_array.ts";
