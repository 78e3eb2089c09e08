import type { StoreKey } from "../store.ts";

/** A regular file below the root of a store. */
export interface FileFacts {
  readonly size: number;
  /** The number of names that the file has. */
  readonly links: number;
  readonly ino: number | null;
}

/** The key of a folder. */
export type FolderKey = "" | StoreKey;

/**
 * Operations that change the files of a file store in place, without copies. Files whose
 * names or folders are symbolic links are refused. If writers of the store wait for the
 * disk, so do these operations, and `sync` waits for names.
 */
export interface FileChanges {
  /** Locks a folder; returns a function that unlocks it, or `undefined` if another run holds the lock. */
  lock(folder: FolderKey): Promise<(() => Promise<void>) | undefined>;
  /** The facts about the file of a key; `undefined` if there is none. */
  stat(key: StoreKey): Promise<FileFacts | undefined>;
  /**
   * Reads a range of a file, or all of it from an offset; `undefined` if there is no file.
   * Short reads use no other thread, which takes longer than they do.
   */
  read(
    key: StoreKey,
    offset: number,
    length?: number,
  ): Promise<Uint8Array | undefined>;
  /** Finds a symbolic link to a folder, in a folder and those below it. */
  findLinkedFolder(folder: FolderKey): Promise<StoreKey | undefined>;
  /** Writes a file, which has all of its bytes before it gets its name. */
  write(key: StoreKey, bytes: Uint8Array): Promise<void>;
  /**
   * Creates a file, which may be seen before it has all of its bytes; returns `false` if
   * there is one. Takes a fifth of the time of `write`.
   */
  create(key: StoreKey, bytes: Uint8Array): Promise<boolean>;
  /** Cuts a file to a length. */
  cut(key: StoreKey, length: number): Promise<void>;
  /** Writes bytes at an offset, which become the end of the file. */
  extend(key: StoreKey, offset: number, bytes: Uint8Array): Promise<void>;
  /** Gives a file a second name; returns `false` where the file system has no hard links. */
  link(from: StoreKey, to: StoreKey): Promise<boolean>;
  /** Gives a file another name, in place of another file, which must be short, since its blocks are freed. */
  rename(from: StoreKey, to: StoreKey): Promise<void>;
  /** Removes the file of a key, if there is one. */
  remove(key: StoreKey): Promise<void>;
  /** Removes a folder, if it is empty. Returns whether it is gone. */
  removeFolder(folder: FolderKey): Promise<boolean>;
  /** Waits until the names in folders are on the disk. */
  sync(folders: Iterable<FolderKey>): Promise<void>;
}
