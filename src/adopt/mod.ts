/** Existing TIFF and zip files, adopted as the shards of arrays. */
export { type AdoptedPyramid, adoptPyramid } from "./adopt_pyramid.ts";
export { adoptTiffs } from "./adopt_tiffs.ts";
export type {
  AdoptPyramidOptions,
  AdoptTiffsOptions,
  TiffFile,
} from "./adopt_tiffs_options.ts";
export { adoptZip, type AdoptZipOptions } from "./adopt_zip.ts";
export { checkFileRecord, isAdopted } from "./adopted_index.ts";
export type {
  AdoptedArray,
  AdoptionOptions,
  AdoptionReport,
} from "./adoption_options.ts";
export { placeByName } from "./files_to_adopt.ts";
export { notesOnStarts, suggestFormat } from "./suggest_format.ts";
export { verifyAdoptedFile } from "./verify_adopted_file.ts";
export { verifyAdopted } from "./verify_adopted_tiffs.ts";
export { verifyAdoptedZip } from "./verify_adopted_zips.ts";
export type {
  AdoptedMismatch,
  AdoptedVerification,
} from "./verify_adoption.ts";
