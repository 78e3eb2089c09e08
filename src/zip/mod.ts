/** Zip archives: the store of what they hold, their verification, and shards that are zip files. */
export type { ZipDescription } from "./describe_archive.ts";
export { fitZip } from "./zip_container.ts";
export { zipContainer, type ZipOptions } from "./zip_container.ts";
export {
  storedEntries,
  type StoredEntry,
  wrongEntries,
  zipShardProblems,
} from "./verify_archive.ts";
export { ZipStore, type ZipStoreOptions } from "./zip_store.ts";
