/** Zip archives: the store of what they hold, their verification, and shards that are zip files. */
export { fitZip, zipContainer, type ZipOptions } from "./zip_container.ts";
export {
  storedEntries,
  type StoredEntry,
  wrongEntries,
  zipShardProblems,
} from "./verify_archive.ts";
export {
  type ZipDescription,
  ZipStore,
  type ZipStoreOptions,
} from "./zip_store.ts";
