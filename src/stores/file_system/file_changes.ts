// deno-lint-ignore-file require-await -- Errors of the methods are rejections.
import { runConcurrently } from "../../runtime/mod.ts";
import type { StoreKey } from "../store.ts";
import { IN_PLACE_LOCK, splitPath } from "../store_key.ts";
import { createTemporary, discard } from "./change_files.ts";
import { type FileSystemRoot, rootOf, type StoreRoot } from "./root.ts";
import {
  type OpenOptions,
  type Runtime,
  type RuntimeFile,
  SEEK,
} from "./runtime.ts";
import {
  type Awaitable,
  type FileSystem,
  hasCode,
  ifPresent,
  isSameState,
  withPath,
} from "./system.ts";

/** The properties of a regular file below the root of a store. */
interface FileFacts {
  readonly size: number;
  /** The number of names that the file has. */
  readonly links: number;
  readonly ino: number | null;
}

/** The key of a folder. */
export type FolderKey = "" | StoreKey;

/** The operations of {@linkcode fileChangesOf}. */
export type FileChanges = Pick<SystemFileChanges, keyof SystemFileChanges>;

/** Returns the operations on the files of a store; `undefined` if it is not a file store. */
export function fileChangesOf(store: object): FileChanges | undefined {
  const root = rootOf(store);
  return root && new SystemFileChanges(root);
}

/** The codes of errors of file systems without hard links, or without further ones for a file. */
const NO_LINKS = ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"];

/** The number of folders that are remembered, so that memory stays small. */
const MOST_FOLDERS = 4096;

/** The number of folders that are waited for at once: the disk writes the names in all of them together. */
const SYNCS = 16;

/**
 * Operations that change the files of a file store in place, without copies. Files whose
 * names or folders are symbolic links are refused. If writers of the store wait for the
 * disk, so do these operations, and `sync` waits for names.
 */
class SystemFileChanges {
  readonly #root: FileSystemRoot;
  readonly #system: FileSystem;
  readonly #runtime: Runtime;
  readonly #isSynced: boolean;
  /** The folders that were found to exist and to be no links. */
  readonly #direct = new Set<string>();

  constructor({ root, system, isSynced }: StoreRoot) {
    this.#root = root;
    this.#system = system;
    this.#runtime = system.runtime;
    this.#isSynced = isSynced;
  }

  /** Locks a folder; returns a function that unlocks it, or `undefined` if another run holds the lock. */
  async lock(folder: FolderKey): Promise<(() => Promise<void>) | undefined> {
    const path = `${await this.#ensureFolder(folder)}/${IN_PLACE_LOCK}`;
    while (true) {
      const file = this.#system.openOrCreate(path);
      if (!await file.tryLock()) {
        file.close();
        return undefined;
      }
      // The run that had the lock before may have removed the file.
      if (isSameState(file.stat(), this.#system.stat(path))) {
        return async () => {
          await this.#system.remove(path);
          file.close();
        };
      }
      file.close();
    }
  }

  /** Returns the state of the file of a key; `undefined` if there is none. */
  async stat(key: StoreKey): Promise<FileFacts | undefined> {
    const path = this.#findPath(key);
    const info = path === undefined
      ? undefined
      : ifPresent(() => this.#runtime.lstatSync(path));
    if (info === undefined) return undefined;
    if (info.isFile) {
      return { size: info.size, links: info.nlink ?? 1, ino: info.ino };
    }
    throw new Error(
      `Expected a regular file, found ${
        info.isSymlink ? "a symbolic link" : "a folder or a special file"
      }: ${path}`,
    );
  }

  /**
   * Reads a range of a file, or all of it from an offset; `undefined` if there is no file.
   * Short reads run at once, since handing them to another thread takes longer.
   */
  async read(
    key: StoreKey,
    offset: number,
    length?: number,
  ): Promise<Uint8Array | undefined> {
    const path = this.#findPath(key);
    const file = path === undefined ? undefined : this.#system.open(path);
    if (file === undefined) return undefined;
    try {
      const { size } = file.stat();
      const end = Math.min(size, offset + (length ?? size));
      const bytes = new Uint8Array(Math.max(0, end - offset));
      return bytes.subarray(0, await file.fill(bytes, offset));
    } finally {
      file.close();
    }
  }

  /** Finds a symbolic link to a folder, in a folder and those below it. */
  async findLinkedFolder(folder: FolderKey): Promise<StoreKey | undefined> {
    const path = await this.#ensureFolder(folder);
    for await (
      const { name, isDirectory, isSymlink } of this.#runtime.readDir(path)
    ) {
      const key: StoreKey = `${folder as StoreKey}/${name}`;
      if (isDirectory) {
        const found = await this.findLinkedFolder(key);
        if (found !== undefined) return found;
      } else if (isSymlink) {
        const target = ifPresent(() =>
          this.#runtime.statSync(`${path}/${name}`)
        );
        if (target?.isDirectory) return key;
      }
    }
    return undefined;
  }

  /** Writes a file, which has all of its bytes before it gets its name. */
  async write(key: StoreKey, bytes: Uint8Array): Promise<void> {
    const path = await this.#path(key);
    const { folder } = splitPath(path);
    const temporary = await createTemporary(this.#system, folder);
    try {
      await temporary.file.append(bytes);
      if (this.#isSynced) await temporary.file.sync();
      await this.#system.rename(temporary.path, path);
      temporary.file.close();
    } catch (error) {
      await discard(this.#system, temporary);
      throw error;
    }
  }

  /**
   * Creates a file, which may be seen before it has all of its bytes; returns `false` if
   * there is one. Takes a fifth of the time of `write`.
   */
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

  /** Cuts a file to a length. */
  async cut(key: StoreKey, length: number): Promise<void> {
    await this.#change(key, (file) => file.truncateSync(length));
  }

  /** Writes bytes at an offset, which become the end of the file. */
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

  /** Gives a file a second name; returns `false` where the file system has no hard links. */
  async link(from: StoreKey, to: StoreKey): Promise<boolean> {
    const [path, other] = [await this.#path(from), await this.#path(to)];
    try {
      this.#runtime.linkSync(path, other);
      return true;
    } catch (error) {
      if (NO_LINKS.includes((error as { code?: string }).code!)) return false;
      throw error;
    }
  }

  /** Gives a file another name, in place of another file, which must be short, since its blocks are freed. */
  async rename(from: StoreKey, to: StoreKey): Promise<void> {
    this.#runtime.renameSync(await this.#path(from), await this.#path(to));
  }

  /** Removes the file of a key, if there is one. */
  async remove(key: StoreKey): Promise<void> {
    const path = this.#findPath(key);
    if (path !== undefined) await this.#system.remove(path);
  }

  /** Removes a folder, if it is empty. Returns whether it is gone. */
  async removeFolder(folder: FolderKey): Promise<boolean> {
    const path = this.#findFolder(folder);
    if (path === undefined) return true;
    this.#direct.delete(folder);
    try {
      await this.#runtime.remove(path);
      return true;
    } catch {
      return false; // It holds other files.
    }
  }

  /** Waits until the names in folders are on the disk. */
  async sync(folders: Iterable<FolderKey>): Promise<void> {
    if (!this.#isSynced) return;
    await runConcurrently(new Set(folders), SYNCS, async (folder) => {
      const path = this.#findFolder(folder);
      if (path !== undefined) await this.#system.syncFolder(path);
    });
  }

  /** Changes a file. */
  async #change(
    key: StoreKey,
    change: (file: RuntimeFile) => void,
    options: OpenOptions = {},
  ): Promise<void> {
    const path = await this.#path(key);
    const file = this.#runtime.openSync(path, { ...options, write: true });
    try {
      change(file);
      if (this.#isSynced) await file.sync();
    } catch (error) {
      throw withPath(error, path);
    } finally {
      file.close();
    }
  }

  /** The path of a file, whose folder is created if it is missing. */
  async #path(key: StoreKey): Promise<string> {
    const { folder, name } = splitPath(key);
    return `${await this.#ensureFolder(folder as FolderKey)}/${name}`;
  }

  /** The path of a file; `undefined` if its folder is missing. */
  #findPath(key: StoreKey): string | undefined {
    const { folder, name } = splitPath(key);
    const path = this.#findFolder(folder as FolderKey);
    return path && `${path}/${name}`;
  }

  #ensureFolder(folder: FolderKey): Awaitable<string> {
    return this.#findFolder(folder) ??
      this.#root.ensureFolder(folder).then((path) =>
        this.#remember(folder, path)
      );
  }

  /** The path of a folder; `undefined` if it is missing. */
  #findFolder(folder: FolderKey): string | undefined {
    if (this.#direct.has(folder)) return this.#root.path + folder;
    const path = this.#root.follow(folder);
    return path && this.#remember(folder, path);
  }

  /** Remembers a folder, and refuses one that a link leads to. */
  #remember(folder: FolderKey, path: string): string {
    const [found, expected] = [path, this.#root.path + folder].map((each) =>
      each.replaceAll(/\/+/g, "/").replace(/\/$/, "")
    );
    if (found !== expected) {
      throw new Error(
        `Expected a folder that no symbolic link leads to, found ${
          JSON.stringify(folder)
        }, which leads to ${path}`,
      );
    }
    if (this.#direct.size >= MOST_FOLDERS) this.#direct.clear();
    this.#direct.add(folder);
    return path;
  }
}

function writeAllSync(file: RuntimeFile, bytes: Uint8Array): void {
  while (bytes.length > 0) bytes = bytes.subarray(file.writeSync(bytes));
}
