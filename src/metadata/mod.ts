/** Metadata documents: parsing, checking, completing and writing `zarr.json`, and documents of Zarr v2. */
export {
  type ArrayMetadata,
  ceilDivide,
  namedCodecs,
  parseArrayMetadata,
  type RegularChunkGrid,
} from "./array_metadata.ts";
export { CODEC_BY_NAME, codecKind, keepsShape } from "./codecs.ts";
export { completeCodecs, type Elements } from "./codecs.ts";
export {
  bitsOf,
  checkDataType,
  coreDataType,
  dataTypeOf,
  type DocumentDataType,
  fillValueJson,
} from "./data_type.ts";
export {
  changeZarrJson,
  formatZarrJson,
  hasNonFinite,
  isMembers,
  isSameJson,
  LONGEST_DOCUMENT,
  type Members,
  numberOf,
  parseExactZarrJson,
  parseZarrJson,
  showZarrJson,
  withNumbers,
} from "./json.ts";
export {
  assertNodeDocument,
  changeNodes,
  isArrayDocument,
  isGroupDocument,
  nodePaths,
  withoutConsolidated,
} from "./node_documents.ts";
export { omeAxes } from "./v2_nodes.ts";
export {
  assertMember,
  checkLengths,
  checkList,
  checkMembers,
  checkOneOf,
  isWhole,
  MOST_DIMENSIONS,
  type NamedConfiguration,
  parseExtension,
  refuse,
} from "./schema.ts";
export {
  checkV2Attributes,
  convertV2Array,
  convertV2Consolidated,
  convertV2Group,
  type ConvertV2Options,
  isV2Document,
  V2_DOCUMENTS,
  v2Folders,
  withoutV2Nodes,
} from "./v2_nodes.ts";
export {
  decodeXarrayFillValue,
  encodeXarrayFillValue,
} from "./xarray_fill_value.ts";
