/** Existing TIFF and zip files, adopted as the shards of arrays. */
export {
  type Adopted,
  type AdoptedArray,
  adoptFiles,
  type AdoptionOptions,
  type AdoptionReport,
  type FileFormat,
  type FilesToAdopt,
  type Placement,
  stackNames,
} from "./adopt_files.ts";
export { checkFileRecord, isAdopted } from "./adopted_array.ts";
export {
  type AdoptedPyramid,
  adoptPyramid,
  type AdoptPyramidOptions,
  adoptTiffs,
  type AdoptTiffsOptions,
  type TiffFile,
  tiffFormat,
} from "./adopt_tiffs.ts";
export { adoptZip, type AdoptZipOptions, zipFormat } from "./adopt_zip.ts";
export {
  exampleOf,
  exampleTemplate,
  nameProblem,
  placeByName,
} from "./find_files.ts";
export {
  type AdoptedMismatch,
  type AdoptedVerification,
  verifyAdopted,
  verifyAdoptedFile,
  verifyAdoptedZip,
} from "./verify_adopted.ts";
