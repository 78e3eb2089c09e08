import type { ByteWriter, StoreKey, StoreOptions } from "../store.ts";
import { IN_PLACE_LOCK, splitPath } from "../store_key.ts";
import {
  FileWriter,
  removeFile,
  type ReshapedFiles,
  reshapeFiles,
} from "./change_files.ts";
import { tryLockFile } from "./locked_value.ts";
import type { FileContext } from "./read_files.ts";
import type { FileSystemRoot } from "./root.ts";
import { type FileSystem, ifPresent } from "./system.ts";

/** The access of a file store that operations on its files share. */
export interface StoreRoot extends FileContext {
  readonly root: FileSystemRoot;
  readonly system: FileSystem;
}

const roots = /* @__PURE__ */ new WeakMap<object, StoreRoot>();

/** Remembers the root of a file store, for operations that work on its files. */
export function rememberRoot(store: object, root: StoreRoot): void {
  roots.set(store, root);
}

/** The root of a file store; `undefined` for any other store. */
export function rootOf(store: object): StoreRoot | undefined {
  return roots.get(store);
}

/** The key of a folder. */
type FolderKey = "" | StoreKey;

/** The properties of a regular file below the root of a store. */
interface FileFacts {
  readonly size: number;
  /** The number of names that the file has. */
  readonly links: number;
}

/**
 * Operations on the files of a file store that a conversion in place consists of, beside
 * those of the store. Files whose names or folders are symbolic links are refused.
 */
export class FileChanges {
  readonly #context: StoreRoot;

  constructor(context: StoreRoot) {
    this.#context = context;
  }

  /** Returns the operations on the files of a store; `undefined` if it is not a file store. */
  static of(store: object): FileChanges | undefined {
    const root = rootOf(store);
    return root && new FileChanges(root);
  }

  /** Locks a folder; returns a function that unlocks it, or `undefined` if another run holds the lock. */
  async lock(folder: FolderKey): Promise<(() => Promise<void>) | undefined> {
    const { system, root } = this.#context;
    const path = `${await root.ensureFolder(folder)}/${IN_PLACE_LOCK}`;
    const file = await tryLockFile(system, path);
    return file && (async () => {
      try {
        await system.remove(path);
      } finally {
        file.close();
      }
    });
  }

  /** Returns the state of the file of a key; `undefined` if there is none. */
  stat(key: StoreKey): FileFacts | undefined {
    const path = this.#find(key);
    const info = path === undefined
      ? undefined
      : ifPresent(() => this.#context.system.runtime.lstatSync(path));
    if (info === undefined) return undefined;
    if (info.isFile) return { size: info.size, links: info.nlink ?? 1 };
    throw new Error(
      `Expected a regular file, found ${
        info.isSymlink ? "a symbolic link" : "a folder or a special file"
      }: ${path}`,
    );
  }

  /** Finds a symbolic link to a folder, in a folder and those below it. */
  async findLinkedFolder(folder: FolderKey): Promise<StoreKey | undefined> {
    const { system: { runtime }, root } = this.#context;
    const path = await root.ensureFolder(folder);
    for await (
      const { name, isDirectory, isSymlink } of runtime.readDir(path)
    ) {
      const key: StoreKey = `${folder as StoreKey}/${name}`;
      if (isDirectory) {
        const found = await this.findLinkedFolder(key);
        if (found !== undefined) return found;
      } else if (isSymlink) {
        const target = ifPresent(() => runtime.statSync(`${path}/${name}`));
        if (target?.isDirectory) return key;
      }
    }
    return undefined;
  }

  /** Gives the files of a chunk another layout as one change. */
  async reshape(chunk: StoreKey, files: ReshapedFiles): Promise<void> {
    await reshapeFiles(this.#context, chunk, files);
  }

  /** Removes the file of a key, if there is one. */
  async remove(key: StoreKey): Promise<void> {
    this.#find(key);
    await removeFile(this.#context, key);
  }

  /** Removes the empty folders below a folder. Returns whether the folder is empty itself. */
  async removeEmptyFolders(folder: FolderKey): Promise<boolean> {
    const { system: { runtime }, root } = this.#context;
    const path = root.follow(folder);
    if (path === undefined) return true;
    let isEmpty = true;
    for await (const { name, isDirectory } of runtime.readDir(path)) {
      const below: StoreKey = `${folder as StoreKey}/${name}`;
      if (isDirectory && await this.removeEmptyFolders(below)) {
        runtime.removeSync(`${path}/${name}`);
      } else isEmpty = false;
    }
    return isEmpty;
  }

  /** The path of a file; `undefined` if its folder is missing. Refuses a folder that a link leads to. */
  #find(key: StoreKey): string | undefined {
    const { root } = this.#context;
    const { folder, name } = splitPath(key);
    const path = root.follow(folder);
    if (path === undefined || path === root.path + folder) {
      return path && `${path}/${name}`;
    }
    throw new Error(
      `Expected a folder that no symbolic link leads to, found ${
        JSON.stringify(folder)
      }, which leads to ${path}`,
    );
  }
}

/** Whether {@linkcode copyFile} copies from one store to another. */
export function canCopyFiles(from: object, to: object): boolean {
  // On other systems, Deno may replace the file that it copies to, or set other attributes.
  return rootOf(from) !== undefined &&
    rootOf(to)?.system.runtime.build.os === "linux";
}

/**
 * Has the operating system copy the first bytes of a file to the start of a new value,
 * which takes half of the time of reading and writing.
 *
 * @param from The store and the key of the file, and its length in bytes.
 * @param writer The writer of a pending value to which nothing was written.
 * @param length The number of bytes to copy, up to that length.
 * @returns Whether the bytes were copied. If not, since the file has another length, the
 * value must be given up.
 */
export async function copyFile(
  { store, key, size }: {
    readonly store: object;
    readonly key: StoreKey;
    readonly size: number;
  },
  writer: ByteWriter,
  length: number,
  options: StoreOptions,
): Promise<boolean> {
  options.signal?.throwIfAborted();
  const file = rootOf(store)?.root.find(key);
  return file?.state.size === size && writer instanceof FileWriter &&
    await writer.copy(file.path, size, length);
}

/**
 * Returns a text by which the file of a key differs from its later versions; `undefined` if
 * there is no file, or the store is not a file store. The lookup may follow links out of the
 * root.
 */
export function fileStamp(
  store: object,
  key: StoreKey,
  options: StoreOptions,
): string | undefined {
  options.signal?.throwIfAborted();
  const state = rootOf(store)?.root.state(key);
  return state && `${state.dev} ${state.ino} ${state.mtime} ${state.size}`;
}
