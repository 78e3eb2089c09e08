/** Zip archives: their records and directories, the store of what they hold, and shards that are zip files. */
export type { ZipDescription } from "./describe_archive.ts";
export { fitZip } from "./fit_zip.ts";
export { zipContainer, type ZipOptions } from "./zip_container.ts";
export {
  type EntryProblem,
  storedEntries,
  type StoredEntry,
  wrongEntries,
  zipShardProblems,
} from "./verify_archive.ts";
export {
  encodeDirectory,
  encodeLocalHeader,
  END_MARK,
  END_SIZE,
  MOST_16,
  type WrittenEntry,
  type ZipEntry,
} from "./zip_records.ts";
export { ZipStore, type ZipStoreOptions } from "./zip_store.ts";
