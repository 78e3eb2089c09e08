import { writeAll } from "../byte_io.ts";
import { forEachAtOnce } from "../for_each_at_once.ts";
import type { StoreKey } from "../store.ts";
import { ifPresent, ifPresentSync } from "./absence.ts";
import { DENO_FILES } from "./deno_files.ts";
import { isSameState } from "./files.ts";
import { IN_PLACE_LOCK, splitPath } from "./path.ts";
import type { FileSystemRoot } from "./root.ts";
import { rootOf } from "./store_roots.ts";
import { PendingValue } from "./value.ts";

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
 * names or folders are symbolic links are refused.
 */
export interface FileChanges {
  /** Locks a folder; returns a function that unlocks it, or `undefined` if another run holds the lock. */
  lock(folder: FolderKey): Promise<(() => Promise<void>) | undefined>;
  /** The facts about the file of a key; `undefined` if there is none. */
  stat(key: StoreKey): Promise<FileFacts | undefined>;
  /** Finds a symbolic link to a folder, in a folder and those below it. */
  findLinkedFolder(folder: FolderKey): Promise<StoreKey | undefined>;
  /** Writes a file whose bytes are on the disk before it gets its name. */
  write(key: StoreKey, bytes: Uint8Array): Promise<void>;
  /** Cuts a file to a length, and waits until this is on the disk. */
  cut(key: StoreKey, length: number): Promise<void>;
  /** Writes bytes at an offset, which become the end of the file, and waits until they are on the disk. */
  extend(key: StoreKey, offset: number, bytes: Uint8Array): Promise<void>;
  /** Gives a file a second name; returns `false` where the file system has no hard links. */
  link(from: StoreKey, to: StoreKey): Promise<boolean>;
  /** Gives a file another name, in place of another file. */
  rename(from: StoreKey, to: StoreKey): Promise<void>;
  /** Removes the file of a key, if there is one. */
  remove(key: StoreKey): Promise<void>;
  /** Removes a folder, if it is empty. Returns whether it is gone. */
  removeFolder(folder: FolderKey): Promise<boolean>;
  /** Waits until the names in folders are on the disk. */
  sync(folders: Iterable<FolderKey>): Promise<void>;
}

/** The operations on the files of a store; `undefined` if it is no file store. */
export function fileChangesOf(store: object): FileChanges | undefined {
  const root = rootOf(store);
  return root && new DenoFileChanges(root);
}

/** The codes of errors that say that a file system has no hard links, or no more for this file. */
const NO_LINKS = ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"];

/** How many folders are waited for at once: the disk writes the names in all of them together. */
const SYNCS = 16;

class DenoFileChanges implements FileChanges {
  readonly #root: FileSystemRoot;

  constructor(root: FileSystemRoot) {
    this.#root = root;
  }

  async lock(folder: FolderKey): Promise<(() => Promise<void>) | undefined> {
    const path = `${await this.#folder(folder)}/${IN_PLACE_LOCK}`;
    while (true) {
      const file = await DENO_FILES.openOrCreate(path);
      if (!await file.tryLock()) {
        file.close();
        return undefined;
      }
      const state = file.stat();
      // The run that had the lock before may have removed the file meanwhile.
      if (!state || isSameState(state, await DENO_FILES.stat(path))) {
        return async () => {
          await ifPresent(() => Deno.remove(path));
          file.close();
        };
      }
      file.close();
    }
  }

  async stat(key: StoreKey): Promise<FileFacts | undefined> {
    const { folder, name } = splitPath(key);
    const above = await this.#root.follow(folder);
    if (above === undefined) return undefined;
    this.#assertDirect(folder, above);
    const info = ifPresentSync(() => Deno.lstatSync(`${above}/${name}`));
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

  async findLinkedFolder(folder: FolderKey): Promise<StoreKey | undefined> {
    const path = await this.#folder(folder);
    for await (const { name, isDirectory, isSymlink } of Deno.readDir(path)) {
      const key: StoreKey = `${folder as StoreKey}/${name}`;
      if (isDirectory) {
        const found = await this.findLinkedFolder(key);
        if (found !== undefined) return found;
      } else if (isSymlink) {
        const target = await ifPresent(() => Deno.stat(`${path}/${name}`));
        if (target?.isDirectory) return key;
      }
    }
    return undefined;
  }

  async write(key: StoreKey, bytes: Uint8Array): Promise<void> {
    const value = await PendingValue.open(DENO_FILES, this.#root, key);
    try {
      await value.append(bytes);
      await value.sync();
      await value.store({}, false);
    } catch (error) {
      await value.discard();
      throw error;
    }
  }

  async cut(key: StoreKey, length: number): Promise<void> {
    using file = await Deno.open(await this.#path(key), { write: true });
    await file.truncate(length);
    await file.sync();
  }

  async extend(
    key: StoreKey,
    offset: number,
    bytes: Uint8Array,
  ): Promise<void> {
    using file = await Deno.open(await this.#path(key), { write: true });
    await file.seek(offset, Deno.SeekMode.Start);
    await writeAll(file, bytes);
    await file.truncate(offset + bytes.length);
    await file.sync();
  }

  async link(from: StoreKey, to: StoreKey): Promise<boolean> {
    const [path, folder] = [await this.#path(from), splitPath(to).folder];
    const above = await this.#root.ensureFolder(folder);
    this.#assertDirect(folder, above);
    try {
      await Deno.link(path, `${above}/${splitPath(to).name}`);
      return true;
    } catch (error) {
      if (NO_LINKS.includes((error as { code?: string }).code!)) return false;
      throw error;
    }
  }

  async rename(from: StoreKey, to: StoreKey): Promise<void> {
    const [path, folder] = [await this.#path(from), splitPath(to).folder];
    const above = await this.#root.ensureFolder(folder);
    this.#assertDirect(folder, above);
    await Deno.rename(path, `${above}/${splitPath(to).name}`);
  }

  async remove(key: StoreKey): Promise<void> {
    await this.#root.remove(key);
  }

  async removeFolder(folder: FolderKey): Promise<boolean> {
    const path = await this.#root.follow(folder);
    if (path === undefined) return true;
    try {
      await Deno.remove(path);
      return true;
    } catch {
      return false; // It holds other files.
    }
  }

  async sync(folders: Iterable<FolderKey>): Promise<void> {
    await forEachAtOnce([...new Set(folders)], SYNCS, async (folder) => {
      const path = await this.#root.follow(folder);
      if (path !== undefined) await DENO_FILES.syncFolder(path);
    });
  }

  async #path(key: StoreKey): Promise<string> {
    const { folder, name } = splitPath(key);
    return `${await this.#folder(folder as FolderKey)}/${name}`;
  }

  async #folder(folder: FolderKey): Promise<string> {
    const path = await this.#root.ensureFolder(folder);
    this.#assertDirect(folder, path);
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
