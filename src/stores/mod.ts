/**
 * Stores of bytes by key: the interface (`store.ts`), one folder or file a store, what makes a
 * backend of any store (`foreign_store.ts`), and operations on any store (`operations.ts`).
 */
export type {
  Backend,
  ChangeOptions,
  PendingValues,
  ReadOptions,
  Snapshot,
  Update,
  ValuesOptions,
} from "./backend.ts";
export {
  BaseStore,
  BaseWritableStore,
  setValue,
  storeOf,
} from "./base_store.ts";
export {
  abortable,
  assertValue,
  discard,
  offerShortcut,
  takeShortcut,
  toStream,
} from "./byte_streams.ts";
export {
  assertStore,
  describeStore,
  inspectAsString,
  redactUrl,
} from "./describe_store.ts";
export {
  canCopyFiles,
  copyFile,
  FileChanges,
  fileStamp,
  rootOf,
} from "./file_system/file_changes.ts";
export {
  FileSystemStore,
  type FileSystemStoreOptions,
} from "./file_system/file_system_store.ts";
export { isAbsence, isDiskFull } from "./file_system/system.ts";
export { assertDeletes, backendOf } from "./foreign_store.ts";
export type { HttpStoreOptions } from "./http/http_client.ts";
export { HttpStore } from "./http/http_store.ts";
export { MemoryPendingValues } from "./locked_store.ts";
export { MemoryStore } from "./memory_store.ts";
export {
  assertLinks,
  assertWritable,
  canRecover,
  isSameValue,
  recover,
  type RecoverOptions,
  type Recovery,
  remove,
  write,
  writeNew,
} from "./operations.ts";
export type { S3Credentials, S3StoreOptions } from "./s3/bucket.ts";
export { S3Store } from "./s3/s3_store.ts";
export {
  assertByteRange,
  type ByteRange,
  type ByteReader,
  type ByteWriter,
  type GetOptions,
  resolveByteRange,
  type Store,
  type StoreKey,
  type StoreOptions,
  type StoreVersion,
  writeAll,
} from "./store.ts";
export {
  assertStoreKey,
  assertStorePrefix,
  chunkKeyProblem,
  FolderKeyError,
  isMetadataKey,
  isTemporary,
  keyProblem,
  LONGEST_SUFFIX,
  mayBePart,
} from "./store_key.ts";
