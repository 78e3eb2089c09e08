/**
 * The classes of errors that users catch (`errors.ts`, `metadata_error.ts`),
 * and what messages are made of: values in words, and the rules of options.
 */
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
  describe,
  describeAll,
  describeValue,
  JsonNumber,
  sentence,
  shortened,
} from "./describe.ts";
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
