import type { StoreKey, StoreOptions } from "../store.ts";
import type { FileState } from "./files.ts";

/** The file that a key leads to. */
export interface FoundFile {
  /** The path of the file, without links below the root. */
  readonly path: string;
  /**
   * Whether the key still leads to a file that was opened by its path; `undefined` for
   * the state of an open file that cannot be told. Missing where no link is on the way.
   */
  leadsTo?(file: FileState | undefined): boolean;
}

/** Where keys lead in the file system. */
export interface Folders {
  /** Finds the file of a value. Refuses an invalid key, and a key that names no regular file in a folder that may be read. */
  find(key: StoreKey, options?: StoreOptions): Promise<FoundFile | undefined>;
  /** Finds a folder to read; `undefined` if nothing is there. */
  locate(folder: string): Promise<string | undefined>;
  /** Finds a folder to change, below the root; `undefined` if nothing is there. */
  follow(folder: string): Promise<string | undefined>;
  /**
   * Finds a folder, or the nearest existing folder above it. Creates the root.
   *
   * @param key A key in the folder, for the message of an error.
   * @throws {FolderKeyError} If a file is in the place of a folder.
   */
  nearestFolder(
    folder: string,
    key?: StoreKey,
  ): Promise<{ readonly folder: string; readonly path: string }>;
  /**
   * Finds a folder, and creates it if it is missing.
   *
   * @param key A key in the folder, for the message of an error.
   * @throws {FolderKeyError} If a file is in the place of a folder.
   */
  ensureFolder(folder: string, key?: StoreKey): Promise<string>;
  /** Removes the file that a key names, or a link to it. */
  remove(key: StoreKey): Promise<void>;
}
