export {
  ANY,
  BOOLEAN,
  checkExclusive,
  checkOption,
  checkOptions,
  FUNCTION,
  nearestName,
  numberFrom,
  objectRule,
  oneOf,
  type OptionRule,
  type OptionRules,
  SIGNAL,
  TEXT,
  wholeFrom,
} from "./check_options.ts";
export { describe, describeAll, describeValue, shortened } from "./describe.ts";
export {
  assertPartSize,
  assertSizeLimit,
  ChecksumError,
  DamageError,
  isDamage,
  MissingPartError,
  OtherBytesError,
  PartSizeError,
  PendingWriteError,
  SizeLimitError,
  UnfinishedWriteError,
} from "./errors.ts";
export {
  atPath,
  below,
  ChunkKeyError,
  inDocument,
  MetadataError,
  pointer,
} from "./metadata_error.ts";
