export {
  assertPartSize,
  ChecksumError,
  DamageError,
  isDamage,
  MissingPartError,
  PartSizeError,
} from "./damage.ts";
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
} from "./write_errors.ts";
