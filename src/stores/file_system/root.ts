import { ensureDir } from "@std/fs/ensure-dir";
import { ifPresent, ifPresentSync, isAbsence } from "./absence.ts";
import { assertNotTemporary, rootPath, splitPath } from "./path.ts";
import type { StoreKey, StoreOptions } from "../store.ts";
import { DENO_FILES } from "./deno_files.ts";
import type { Folders } from "./folders.ts";
import { assertStoreKey } from "../store_key.ts";

const MOST_CACHED = 4096;

/** A folder of the file system, and the files and folders that keys name in it. */
export class FileSystemRoot implements Folders {
  /** The path as it was given, since permissions may name a link. */
  readonly path: string;
  /** The real path of the root when it was last looked up. */
  #real: string | undefined;
  /**
   * Keys whose paths the operating system has looked up lately, and so looks up
   * again without reading the disk: that takes less time than handing it to
   * another thread.
   */
  readonly #cached = new Set<string>();
  readonly #isSynced: boolean;

  /** @param isSynced Whether a new folder must be on the disk before it is used. */
  constructor(root: string | URL, isSynced = false) {
    this.#isSynced = isSynced;
    if (!("Deno" in globalThis)) {
      throw new Error(
        'FileSystemStore needs Deno: in Node, use FileSystemStore of "@zarrita/storage", and in browsers HttpStore',
      );
    }
    this.path = rootPath(root);
    if (this.path === "") {
      throw new RangeError('Expected the path of a folder, found ""');
    }
  }

  /** Finds the file of a value. Refuses an invalid key, and a key that names no regular file below the root. */
  async find(
    key: StoreKey,
    options: StoreOptions = {},
  ): Promise<{ path: string; size: number } | undefined> {
    options.signal?.throwIfAborted();
    assertStoreKey(key);
    assertNotTemporary(key);
    const path = await this.follow(key);
    options.signal?.throwIfAborted();
    if (path === undefined) return undefined;
    // Synchronous: the path has just been looked up, so that the operating system
    // answers from its cache, in less time than another thread takes to start.
    const info = ifPresentSync(() => Deno.statSync(this.path + key));
    if (info === undefined) return undefined;
    if (!info.isFile) {
      throw new Error(
        `Key ${JSON.stringify(key)} names ${
          info.isDirectory ? "a folder" : "a special file"
        }, expected a regular file: ${path}`,
      );
    }
    return { path, size: info.size };
  }

  /** Whether two keys name the same file, by hard or symbolic links. */
  async isSameFile(
    key: StoreKey,
    other: StoreKey,
    options: StoreOptions,
  ): Promise<boolean> {
    const [a, b] = await Promise.all(
      [key, other].map(async (key) => {
        const file = await this.find(key as StoreKey, options);
        return file && await ifPresent(() => Deno.stat(file.path));
      }),
    );
    return !!a && !!b && a.ino !== null && a.ino === b.ino && a.dev === b.dev;
  }

  /** Removes the file that a key names, or a link to it. */
  async remove(key: StoreKey): Promise<void> {
    const { folder, name } = splitPath(key);
    const path = await this.follow(folder);
    if (path === undefined) return;
    await ifPresent(() => Deno.remove(`${path}/${name}`));
  }

  /**
   * The path of a key, free of links below the root; `undefined` if nothing is
   * there. Refuses a key that leads out of the root.
   */
  async follow(key: string): Promise<string | undefined> {
    let real: string;
    try {
      real = this.#cached.has(key)
        ? Deno.realPathSync(this.path + key)
        : await this.#realPath(key);
    } catch (error) {
      if (!isAbsence(error)) throw error;
      if (error instanceof Deno.errors.NotADirectory) await this.assertFolder();
      // An absent value behind a link that leads out is refused, too.
      if (key !== "") await this.follow(splitPath(key).folder);
      return undefined;
    }
    // The usual case: no link is on the way.
    if (below(this.#real, real) === key.slice(1)) return this.path + key;
    // The root may be a link that leads elsewhere by now.
    this.#real = await ifPresent(() => Deno.realPath(this.path));
    if (this.#real === undefined) return undefined;
    const relative = below(this.#real, real);
    if (relative === undefined) {
      throw new Error(
        `Key ${
          JSON.stringify(key)
        } leads out of the store's root: ${real} is not below ${this.#real}`,
      );
    }
    // Not `real`, since permissions may name the root as a link.
    return relative === "" ? this.path : `${this.path}/${relative}`;
  }

  /** Looks a path up on another thread, since the disk may have to be read. */
  async #realPath(key: string): Promise<string> {
    const real = await Deno.realPath(this.path + key);
    if (this.#cached.size >= MOST_CACHED) this.#cached.clear();
    this.#cached.add(key);
    return real;
  }

  /** Refuses a root that is a file. It may be missing. */
  async assertFolder(): Promise<void> {
    const info = await ifPresent(() => Deno.stat(this.path));
    if (info === undefined || info.isDirectory) return;
    throw new Error(
      `Expected the store's root to be a folder, found a file: ${this.path}`,
    );
  }

  /** Finds a folder, or the nearest existing folder above it. Creates the root. */
  async nearestFolder(
    folder: string,
  ): Promise<{ folder: string; path: string }> {
    const path = folder === ""
      ? await this.ensureFolder("")
      : await this.follow(folder);
    return path === undefined
      ? await this.nearestFolder(splitPath(folder).folder)
      : { folder, path };
  }

  /** Creates a missing folder. One name at a time, so that no folder is created behind a link. */
  async ensureFolder(folder: string): Promise<string> {
    const present = await this.follow(folder);
    if (present !== undefined) return present;
    const { folder: parent, name } = splitPath(folder);
    const above = folder === "" ? undefined : await this.ensureFolder(parent);
    const path = above === undefined ? this.path : `${above}/${name}`;
    await ensureDir(path);
    if (this.#isSynced && above !== undefined) {
      await DENO_FILES.syncFolder(above);
    }
    return path;
  }
}

/** A path relative to a root: "" for the root itself, `undefined` for a path outside of it. */
function below(
  root: string | undefined,
  path: string,
): string | undefined {
  if (root === undefined) return undefined;
  const separator = Deno.build.os === "windows" ? "\\" : "/";
  const inside = root.endsWith(separator) ? root : root + separator;
  return (path + separator).startsWith(inside)
    ? path.slice(inside.length)
    : undefined;
}
