/**
 * Stores of bytes by key: the interface (`store.ts`), one folder or file a store, and what
 * all code asks of stores of any kind (`capabilities.ts`, `locks.ts`, `forwarding_store.ts`).
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
  toBytes,
  toStream,
} from "./byte_streams.ts";
export {
  assertInGroup,
  assertLinks,
  assertWritable,
  givesOwnedMemory,
  hasGroups,
  isSameFile,
  readRange,
  readSize,
  readStream,
  readValue,
  remove,
  requestRange,
  write,
} from "./capabilities.ts";
export {
  assertStore,
  describeStore,
  inspectAsString,
  redactUrl,
} from "./describe_store.ts";
export { canCopyFiles, copyFile, fileStamp } from "./file_system/copy_file.ts";
export {
  type FileChanges,
  fileChangesOf,
  type FolderKey,
} from "./file_system/file_changes.ts";
export {
  FileSystemStore,
  type FileSystemStoreOptions,
} from "./file_system/file_system_store.ts";
export { rootOf } from "./file_system/root.ts";
export { isAbsence, isDiskFull } from "./file_system/system.ts";
export { backendOf } from "./foreign_store.ts";
export {
  type Forwarding,
  forwardingGroup,
  forwardingStore,
  type FoundPlace,
  type Place,
} from "./forwarding_store.ts";
export type { HttpStoreOptions } from "./http/http_client.ts";
export { HttpStore } from "./http/http_store.ts";
export {
  exclusively,
  KeyLocks,
  removeValue,
  replaceValue,
  writeNew,
} from "./locks.ts";
export { MemoryStore } from "./memory_store.ts";
export { recover, type RecoverOptions, type Recovery } from "./recover.ts";
export type { S3Credentials, S3StoreOptions } from "./s3/bucket.ts";
export { S3Store } from "./s3/s3_store.ts";
export {
  assertByteRange,
  type ByteRange,
  type ByteReader,
  type ByteWriter,
  type GetOptions,
  type GroupValues,
  type GroupWriter,
  type OwnedReadOptions,
  resolveByteRange,
  type Store,
  type StoreGroup,
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
} from "./store_key.ts";
