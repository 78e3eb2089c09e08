import type { StoreKey, StoreOptions } from "../store.ts";

/** Where keys lead in the file system. */
export interface Folders {
  /** Finds the file of a value. Refuses an invalid key, and a key that names no regular file below the root. */
  find(
    key: StoreKey,
    options?: StoreOptions,
  ): Promise<{ readonly path: string } | undefined>;
  /** Finds a folder; `undefined` if nothing is there. */
  follow(folder: string): Promise<string | undefined>;
  /** Finds a folder, or the nearest existing folder above it. Creates the root. */
  nearestFolder(
    folder: string,
  ): Promise<{ readonly folder: string; readonly path: string }>;
  /** Finds a folder, and creates it if it is missing. */
  ensureFolder(folder: string): Promise<string>;
  /** Removes the file that a key names, or a link to it. */
  remove(key: StoreKey): Promise<void>;
}
