/** Zip archives: their records and directories, and the store of what they hold. */
export type { ZipDescription } from "./describe_archive.ts";
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
export { ZipStore, type ZipStoreOptions } from "./zip_store.ts";
