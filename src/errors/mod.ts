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
export {
  assertPartSize,
  ChecksumError,
  DamageError,
  isDamage,
  MissingPartError,
  PartSizeError,
} from "./errors.ts";
export { describe, describeAll, describeValue, shortened } from "./describe.ts";
export {
  atPath,
  below,
  ChunkKeyError,
  inDocument,
  MetadataError,
  pointer,
} from "./metadata_error.ts";
export {
  assertSizeLimit,
  OtherBytesError,
  PendingWriteError,
  SizeLimitError,
  UnfinishedWriteError,
} from "./errors.ts";
