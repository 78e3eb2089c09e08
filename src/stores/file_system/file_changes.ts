import { runConcurrently } from "../../runtime/mod.ts";
import type { StoreKey } from "../store.ts";
import { IN_PLACE_LOCK, splitPath } from "../store_key.ts";
import {
  type Awaitable,
  fileSystem,
  hasCode,
  ifPresent,
  ifPresentSync,
  isSameState,
  withPath,
} from "./files.ts";
import { type FileSystemRoot, rootOf, type StoreRoot } from "./root.ts";
import { PendingValue } from "./value.ts";
import { type OpenOptions, SEEK, type SystemFile } from "./system.ts";

/** The properties of a regular file below the root of a store. */
interface FileFacts {
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
  /** Returns the state of the file of a key; `undefined` if there is none. */
  stat(key: StoreKey): Promise<FileFacts | undefined>;
  /**
   * Reads a range of a file, or all of it from an offset; `undefined` if there is no file.
   * Short reads run at once, since handing them to another thread takes longer.
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

/** Returns the operations on the files of a store; `undefined` if it is not a file store. */
export function fileChangesOf(store: object): FileChanges | undefined {
  const root = rootOf(store);
  return root && new SystemFileChanges(root);
}

/** The longest file that is read or removed without another thread, in bytes. */
const SHORT = 64 * 1024;

/** The time from which a step counts as one that waits for the disk, in milliseconds. */
const LONG_STEP = 1;

/** The codes of errors of file systems without hard links, or without further ones for a file. */
const NO_LINKS = ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"];

/** The number of folders that are remembered, so that memory stays small. */
const MOST_FOLDERS = 4096;

/** The number of folders that are waited for at once: the disk writes the names in all of them together. */
const SYNCS = 16;

class SystemFileChanges implements FileChanges {
  readonly #root: FileSystemRoot;
  readonly #isSynced: boolean;
  /** The folders that were found to exist and to be no links. */
  readonly #direct = new Set<string>();
  /** Whether the latest step at once has waited for the disk. The next ones then wait on other threads, together. */
  #isWaiting = false;

  constructor({ root, isSynced }: StoreRoot) {
    this.#root = root;
    this.#isSynced = isSynced;
  }

  async lock(folder: FolderKey): Promise<(() => Promise<void>) | undefined> {
    const path = `${await this.#ensureFolder(folder)}/${IN_PLACE_LOCK}`;
    while (true) {
      const file = await this.#root.files.openOrCreate(path);
      if (!await file.tryLock()) {
        file.close();
        return undefined;
      }
      const state = file.stat();
      // The run that had the lock before may have removed the file.
      if (!state || isSameState(state, await this.#root.files.stat(path))) {
        return async () => {
          await ifPresent(() => fileSystem().remove(path));
          file.close();
        };
      }
      file.close();
    }
  }

  async stat(key: StoreKey): Promise<FileFacts | undefined> {
    const { folder, name } = splitPath(key);
    const above = await this.#findFolder(folder);
    if (above === undefined) return undefined;
    const info = ifPresentSync(() =>
      fileSystem().lstatSync(`${above}/${name}`)
    );
    if (info === undefined) return undefined;
    if (info.isFile) {
      return { size: info.size, links: info.nlink ?? 1, ino: info.ino };
    }
    throw new Error(
      `Expected a regular file, found ${
        info.isSymlink ? "a symbolic link" : "a folder or a special file"
      }: ${above}/${name}`,
    );
  }

  async read(
    key: StoreKey,
    offset: number,
    length?: number,
  ): Promise<Uint8Array | undefined> {
    const { folder, name } = splitPath(key);
    const above = await this.#findFolder(folder);
    if (above === undefined) return undefined;
    const file = ifPresentSync(() => fileSystem().openSync(`${above}/${name}`));
    if (file === undefined) return undefined;
    try {
      return await readFrom(file, offset, length);
    } finally {
      file.close();
    }
  }

  async findLinkedFolder(folder: FolderKey): Promise<StoreKey | undefined> {
    const path = await this.#ensureFolder(folder);
    for await (
      const { name, isDirectory, isSymlink } of fileSystem().readDir(path)
    ) {
      const key: StoreKey = `${folder as StoreKey}/${name}`;
      if (isDirectory) {
        const found = await this.findLinkedFolder(key);
        if (found !== undefined) return found;
      } else if (isSymlink) {
        const target = await ifPresent(() =>
          fileSystem().stat(`${path}/${name}`)
        );
        if (target?.isDirectory) return key;
      }
    }
    return undefined;
  }

  async write(key: StoreKey, bytes: Uint8Array): Promise<void> {
    const value = await PendingValue.open(this.#root.files, this.#root, key);
    try {
      await value.append(bytes);
      if (this.#isSynced) await value.sync();
      await value.store({}, false);
    } catch (error) {
      await value.discard();
      throw error;
    }
  }

  async create(key: StoreKey, bytes: Uint8Array): Promise<boolean> {
    try {
      await this.#change(
        key,
        (file) => writeAllSync(file, bytes),
        { createNew: true },
      );
      return true;
    } catch (error) {
      if (hasCode(error, "EEXIST", "AlreadyExists")) return false;
      throw error;
    }
  }

  async cut(key: StoreKey, length: number): Promise<void> {
    await this.#change(key, (file) =>
      this.#step(
        () => file.truncateSync(length),
        () => file.truncate(length),
      ));
  }

  async extend(
    key: StoreKey,
    offset: number,
    bytes: Uint8Array,
  ): Promise<void> {
    await this.#change(key, (file) => {
      file.seekSync(offset, SEEK.start);
      writeAllSync(file, bytes);
      file.truncateSync(offset + bytes.length);
    });
  }

  async link(from: StoreKey, to: StoreKey): Promise<boolean> {
    const [path, other] = [await this.#path(from), await this.#path(to)];
    try {
      fileSystem().linkSync(path, other);
      return true;
    } catch (error) {
      if (NO_LINKS.includes((error as { code?: string }).code!)) return false;
      throw error;
    }
  }

  async rename(from: StoreKey, to: StoreKey): Promise<void> {
    fileSystem().renameSync(await this.#path(from), await this.#path(to));
  }

  async remove(key: StoreKey): Promise<void> {
    const { folder, name } = splitPath(key);
    const above = await this.#findFolder(folder);
    if (above === undefined) return;
    const path = `${above}/${name}`;
    const info = ifPresentSync(() => fileSystem().lstatSync(path));
    if (info === undefined) return;
    // The bytes of a file with another name stay, so that removing one name takes no time.
    const isShort = info.size <= SHORT || (info.nlink ?? 1) > 1;
    const later = async () => await ifPresent(() => fileSystem().remove(path));
    if (!isShort) return await later();
    await this.#step(
      () => ifPresentSync(() => fileSystem().removeSync(path)),
      later,
    );
  }

  async removeFolder(folder: FolderKey): Promise<boolean> {
    const path = await this.#findFolder(folder);
    if (path === undefined) return true;
    this.#direct.delete(folder);
    try {
      await fileSystem().remove(path);
      return true;
    } catch {
      return false; // It holds other files.
    }
  }

  async sync(folders: Iterable<FolderKey>): Promise<void> {
    if (!this.#isSynced) return;
    await runConcurrently(new Set(folders), SYNCS, async (folder) => {
      const path = await this.#findFolder(folder);
      if (path !== undefined) await this.#root.files.syncFolder(path);
    });
  }

  /** Takes a step at once, or on another thread if an earlier one has waited for the disk. */
  async #step(now: () => void, later: () => Promise<void>): Promise<void> {
    if (this.#isWaiting) return await later();
    const start = performance.now();
    now();
    this.#isWaiting = performance.now() - start > LONG_STEP;
  }

  /** Changes a file. */
  async #change(
    key: StoreKey,
    change: (file: SystemFile) => void | Promise<void>,
    options: OpenOptions = {},
  ): Promise<void> {
    const path = await this.#path(key);
    const file = fileSystem().openSync(path, { ...options, write: true });
    try {
      await change(file);
      if (this.#isSynced) await file.sync();
    } catch (error) {
      throw withPath(error, path);
    } finally {
      file.close();
    }
  }

  async #path(key: StoreKey): Promise<string> {
    const { folder, name } = splitPath(key);
    return `${await this.#ensureFolder(folder as FolderKey)}/${name}`;
  }

  /** The path of a folder, which is created if it is missing. */
  #ensureFolder(folder: FolderKey): Awaitable<string> {
    return this.#direct.has(folder)
      ? this.#root.path + folder
      : this.#remember(folder, this.#root.ensureFolder(folder));
  }

  /** The path of a folder; `undefined` if it is missing. */
  #findFolder(folder: string): Awaitable<string | undefined> {
    return this.#direct.has(folder)
      ? this.#root.path + folder
      : this.#remember(folder, this.#root.follow(folder));
  }

  async #remember<Path extends string | undefined>(
    folder: string,
    finding: Promise<Path>,
  ): Promise<Path> {
    const path = await finding;
    if (path === undefined) return path;
    this.#assertDirect(folder, path);
    if (this.#direct.size >= MOST_FOLDERS) this.#direct.clear();
    this.#direct.add(folder);
    return path;
  }

  /** Refuses a folder that a link leads to. */
  #assertDirect(folder: string, path: string): void {
    const [found, expected] = [path, this.#root.path + folder].map((each) =>
      each.replaceAll(/\/+/g, "/").replace(/\/$/, "")
    );
    if (found === expected) return;
    throw new Error(
      `Expected a folder that no symbolic link leads to, found ${
        JSON.stringify(folder)
      }, which leads to ${path}`,
    );
  }
}

function writeAllSync(file: SystemFile, bytes: Uint8Array): void {
  while (bytes.length > 0) bytes = bytes.subarray(file.writeSync(bytes));
}

/** Reads a range of an open file, or all of it from an offset. */
async function readFrom(
  file: SystemFile,
  offset: number,
  length: number | undefined,
): Promise<Uint8Array> {
  const size = file.seekSync(0, SEEK.end);
  const end = Math.min(size, offset + (length ?? size));
  const bytes = new Uint8Array(Math.max(0, end - offset));
  file.seekSync(offset, SEEK.start);
  for (let filled = 0; filled < bytes.length;) {
    const rest = bytes.subarray(filled);
    const read = rest.length > SHORT
      ? await file.read(rest)
      : file.readSync(rest);
    if (read === null) return bytes.subarray(0, filled);
    filled += read;
  }
  return bytes;
}
