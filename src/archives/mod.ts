/** Zip archives: their records and directories, and the store of what they hold. */
export { openZipFile } from "./zip_directory.ts";
export { ZipEntries } from "./zip_entries.ts";
export {
  encodeDirectory,
  encodeLocalHeader,
  END_MARK,
  END_SIZE,
  MOST_16,
  type WrittenEntry,
  type ZipEntry,
} from "./zip_records.ts";
export {
  type ZipDescription,
  ZipStore,
  type ZipStoreOptions,
} from "./zip_store.ts";
