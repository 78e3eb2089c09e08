export {
  type ArrayMetadata,
  ceilDivide,
  type MetadataForm,
  MOST_DIMENSIONS,
  namedCodecs,
  type NamedConfiguration,
  parseArrayMetadata,
  type RegularChunkGrid,
} from "./array_metadata.ts";
export { completeCodecs, type Elements } from "./complete_codecs.ts";
export { coreDataType, dataTypeOf, fillValueJson } from "./data_type.ts";
export { checkDataType, type DocumentDataType } from "./document_data_type.ts";
export {
  changeZarrJson,
  formatZarrJson,
  hasNonFinite,
  isSameJson,
  LONGEST_DOCUMENT,
  numberOf,
  parseExactZarrJson,
  parseZarrJson,
  showZarrJson,
  withNumbers,
} from "./json.ts";
export {
  changeNodes,
  isArrayDocument,
  isGroupDocument,
  isMembers,
  type Members,
  nodePaths,
} from "./node_documents.ts";
export { assertNodeDocument } from "./node_metadata.ts";
export {
  assertMember,
  checkLengths,
  checkList,
  checkMembers,
  checkOneOf,
  isWhole,
  parseExtension,
  refuse,
} from "./schema.ts";
export {
  isV2Document,
  V2_DOCUMENTS,
  v2Folders,
  withoutV2Nodes,
} from "./v2_documents.ts";
