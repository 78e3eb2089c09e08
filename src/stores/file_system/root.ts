import { describeStore, redactUrl } from "../describe_store.ts";
import type { StoreKey, StoreOptions } from "../store.ts";
import {
  assertNotTemporary,
  assertStoreKey,
  FolderKeyError,
  splitPath,
} from "../store_key.ts";
import {
  type Files,
  type FileState,
  fileSystem,
  type Folders,
  type FoundFile,
  ifPresent,
  ifPresentSync,
  isAbsence,
  isNotFolder,
  stateOf,
} from "./files.ts";
import { QuickSteps } from "./quick_reads.ts";

/** The greatest number of keys that are remembered as looked up. */
const MOST_CACHED = 4096;

/** Lookups of paths that may not be in the cache of the operating system. */
const lookups = /* @__PURE__ */ new QuickSteps();

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
  readonly #linked: LinkedFolders;
  /** The operations on files, with the locks that the store takes. */
  readonly files: Files;

  /**
   * @param files The operations on files.
   * @param isSynced Whether a new folder must be on the disk before it is used.
   * @param linked The folders outside of the root that links may lead to.
   */
  constructor(
    root: string | URL,
    files: Files,
    isSynced = false,
    linked: readonly (string | URL)[] = [],
  ) {
    this.files = files;
    this.#isSynced = isSynced;
    fileSystem(); // Throws in browsers.
    this.path = rootPath(root);
    if (this.path === "") {
      throw new RangeError('Expected the path of a folder, found ""');
    }
    this.#linked = new LinkedFolders(linked);
  }

  /** Finds the file of a value. Refuses an invalid key, and a key that names no regular file below the root or in a linked folder. */
  async find(
    key: StoreKey,
    options: StoreOptions = {},
  ): Promise<FoundFile & { readonly state: FileState } | undefined> {
    options.signal?.throwIfAborted();
    assertStoreKey(key);
    assertNotTemporary(key);
    const path = await this.locate(key);
    options.signal?.throwIfAborted();
    if (path === undefined) return undefined;
    // Synchronous: the path has just been looked up, so that the operating system
    // answers from its cache, in less time than another thread takes to start.
    const info = ifPresentSync(() => fileSystem().statSync(path));
    if (info === undefined) return undefined;
    if (!info.isFile) {
      const ErrorClass = info.isDirectory ? FolderKeyError : Error;
      throw new ErrorClass(
        `Key ${JSON.stringify(key)} names ${
          info.isDirectory ? "a folder" : "a special file"
        }, expected a regular file: ${path}`,
      );
    }
    const state = stateOf(info);
    if (path === this.path + key && this.#linked.isEmpty) {
      return { path, state };
    }
    return { path, state, leadsTo: (file) => this.#leadsTo(key, path, file) };
  }

  /**
   * The state of the file that a key leads to, only to tell its versions apart: in less than
   * half of the time of `find`, and without its checks. The lookup may follow links out of the
   * root.
   */
  async state(
    key: StoreKey,
    options: StoreOptions,
  ): Promise<FileState | undefined> {
    options.signal?.throwIfAborted();
    const path = this.path + key;
    const info = await lookups.run(
      () => ifPresentSync(() => fileSystem().statSync(path)),
      () => ifPresent(() => fileSystem().stat(path)),
    );
    return info && stateOf(info);
  }

  /** Whether a key still leads to an open file, whose path was `path`. */
  #leadsTo(key: StoreKey, path: string, file: FileState | undefined): boolean {
    const real = ifPresentSync(() =>
      fileSystem().realPathSync(this.path + key)
    );
    if (real === undefined) return false;
    let now: string | undefined = this.path + key;
    if (!this.#isDirect(key, real)) {
      this.#real = ifPresentSync(() => fileSystem().realPathSync(this.path));
      now = this.#allowedPath(real)?.path;
    }
    if (now === undefined) return false;
    const info = ifPresentSync(() => fileSystem().statSync(now));
    return file === undefined
      ? now === path
      : info?.dev === file.dev && info.ino === file.ino;
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
        return file && await ifPresent(() => fileSystem().stat(file.path));
      }),
    );
    return !!a && !!b && a.ino !== null && a.ino === b.ino && a.dev === b.dev;
  }

  /** Removes the file that a key names, or a link to it. */
  async remove(key: StoreKey): Promise<void> {
    const { folder, name } = splitPath(key);
    const path = await this.follow(folder);
    if (path === undefined) return;
    await ifPresent(() => fileSystem().remove(`${path}/${name}`));
  }

  /** The path of a key to change. Refuses a key that leads out of the root. */
  async follow(key: string): Promise<string | undefined> {
    const found = await this.#resolve(key);
    if (found?.folder === undefined) return found?.path;
    throw new Error(
      `Key ${
        JSON.stringify(key)
      } leads out of the store's root into ${found.folder}, where the store only reads; expected the key of a file below the root, or a FileSystemStore for that folder`,
    );
  }

  /** The path of a key to read. Refuses a key that leads out of the root and of the linked folders. */
  async locate(key: string): Promise<string | undefined> {
    return (await this.#resolve(key))?.path;
  }

  /** The path of a folder outside of the root that a key leads to; `undefined` for other keys. */
  async linkedFolder(key: string): Promise<string | undefined> {
    if (this.#linked.isEmpty) return undefined;
    const found = await this.#resolve(key).catch(() => undefined);
    if (found?.folder === undefined) return undefined;
    const info = await ifPresent(() => fileSystem().stat(found.path));
    return info?.isDirectory ? found.path : undefined;
  }

  /** The path of a key, free of links below the root; `undefined` if nothing is there. */
  async #resolve(key: string): Promise<AllowedPath | undefined> {
    let real: string;
    try {
      const looked = this.#realPath(key);
      real = looked instanceof Promise ? await looked : looked;
      this.#remember(key);
    } catch (error) {
      if (!isAbsence(error)) throw error;
      if (isNotFolder(error)) await this.assertFolder();
      // An absent value behind a link that leads out is refused, too.
      if (key !== "") await this.#resolve(splitPath(key).folder);
      return undefined;
    }
    if (this.#isDirect(key, real)) return { path: this.path + key };
    // The root may be a link that leads elsewhere by now.
    this.#real = await ifPresent(() => fileSystem().realPath(this.path));
    if (this.#real === undefined) return undefined;
    const found = this.#allowedPath(real);
    if (found !== undefined) return found;
    throw new Error(
      `Key ${
        JSON.stringify(key)
      } leads out of the store's root: ${real} is not below ${this.#real}${
        this.#linked.isEmpty ? "" : ` or ${this.#linked}`
      }`,
    );
  }

  /** Whether no link is on the way to the real path of a key, which is the usual case. */
  #isDirect(key: string, real: string): boolean {
    return below(this.#real, real) === key.slice(1);
  }

  /** The path to open for a real path, below the root or in a linked folder. */
  #allowedPath(real: string): AllowedPath | undefined {
    const relative = below(this.#real, real);
    if (relative === undefined) return this.#linked.find(real);
    // Not `real`, since permissions may name the root as a link.
    return { path: joined(this.path, relative) };
  }

  /** Looks a path up: at once if that takes no time, since the disk may have to be read. */
  #realPath(key: string): string | Promise<string> {
    const path = this.path + key;
    const now = () => fileSystem().realPathSync(path);
    return this.#cached.has(key)
      ? now()
      : lookups.run(now, () => fileSystem().realPath(path));
  }

  /** Remembers that a path was looked up. */
  #remember(key: string): void {
    if (this.#cached.has(key)) return;
    if (this.#cached.size >= MOST_CACHED) this.#cached.clear();
    this.#cached.add(key);
  }

  /** Refuses a root that is a file. It may be missing. */
  async assertFolder(): Promise<void> {
    const info = await ifPresent(() => fileSystem().stat(this.path));
    if (info === undefined || info.isDirectory) return;
    throw new Error(
      `Expected the store's root to be a folder, found a file: ${this.path}`,
    );
  }

  /** The real path of a folder that may be missing, by that of the nearest existing folder above it; `undefined` without permission. */
  async realFolder(folder: string): Promise<string | undefined> {
    let [path, missing] = [this.path + folder, ""];
    while (true) {
      try {
        return joined(await fileSystem().realPath(path), missing);
      } catch (error) {
        if (!isAbsence(error)) return undefined;
      }
      const [, above = ".", name] = /^(.*?)[\\/]*([^\\/]*)[\\/]*$/s.exec(path)!;
      if (name === "" || path === ".") return undefined;
      missing = joined(name!, missing);
      path = above === "" ? /^[\\/]/.test(path) ? "/" : "." : above;
    }
  }

  /** Finds a folder, or the nearest existing folder above it. Creates the root. */
  async nearestFolder(
    folder: string,
    key?: StoreKey,
  ): Promise<{ folder: string; path: string }> {
    const path = folder === ""
      ? await this.ensureFolder("", key)
      : await this.follow(folder);
    if (path === undefined) {
      return await this.nearestFolder(splitPath(folder).folder, key);
    }
    assertFolder(path, folder, key);
    return { folder, path };
  }

  /** Creates a missing folder. One name at a time, so that no folder is created behind a link. */
  async ensureFolder(folder: string, key?: StoreKey): Promise<string> {
    const present = await this.follow(folder);
    if (present !== undefined) {
      assertFolder(present, folder, key);
      return present;
    }
    const { folder: parent, name } = splitPath(folder);
    const above = folder === ""
      ? undefined
      : await this.ensureFolder(parent, key);
    const path = above === undefined ? this.path : `${above}/${name}`;
    await fileSystem().mkdir(path, { recursive: true });
    if (this.#isSynced && above !== undefined) {
      await this.files.syncFolder(above);
    }
    return path;
  }
}

/** Refuses a file in the place of a folder, in which a key lies. */
function assertFolder(path: string, folder: string, key?: StoreKey): void {
  // Synchronous, since the path has just been looked up.
  if (!ifPresentSync(() => fileSystem().statSync(path))?.isFile) return;
  throw new FolderKeyError(
    `Key ${JSON.stringify(folder)} names a file, expected a folder${
      key === undefined ? "" : ` for the key ${JSON.stringify(key)}`
    }: ${path}`,
  );
}

/** A path that a store may read. */
interface AllowedPath {
  readonly path: string;
  /** The linked folder that holds the path; `undefined` for a path below the root. */
  readonly folder?: string;
}

/** The folders outside of a store's root that symbolic links may lead to. */
class LinkedFolders {
  /** The paths as they were given, since permissions may name links. */
  readonly #paths: readonly string[];

  constructor(folders: readonly (string | URL)[]) {
    this.#paths = folders.map(rootPath);
    if (this.#paths.includes("")) {
      throw new RangeError(
        'Expected "followLinksInto" to have paths of folders, found ""',
      );
    }
  }

  get isEmpty(): boolean {
    return this.#paths.length === 0;
  }

  /** Finds a real path in the folders. These are looked up each time, since they may be links that change. */
  find(real: string): AllowedPath | undefined {
    for (const folder of this.#paths) {
      const found = ifPresentSync(() => fileSystem().realPathSync(folder));
      const relative = below(found, real);
      if (relative !== undefined) {
        return { path: joined(folder, relative), folder };
      }
    }
  }

  toString(): string {
    return this.#paths.join(", ");
  }
}

/** A URL's scheme, which has two letters at least: one letter is a drive of Windows. */
const SCHEME = /^[a-z][a-z\d+.-]+:\/\//i;

/** The path of a root that is given as a path or as a `file:` URL. */
function rootPath(root: unknown): string {
  if (typeof root !== "string" && !(root instanceof URL)) {
    throw new TypeError(
      `Expected the path or file: URL of a folder, found ${
        describeStore(root)
      }`,
    );
  }
  if (typeof root === "string" && !SCHEME.test(root)) return root;
  if (root instanceof URL && root.protocol === "file:" && root.host === "") {
    // Not by `fileURLToPath` of node:url, since this file must load in browsers.
    const path = decodeURIComponent(root.pathname);
    return fileSystem().build.os === "windows" ? path.slice(1) : path;
  }
  const url = redactUrl(String(root));
  const advice = /^https?:/i.test(url)
    ? `: use new HttpStore("${url}")`
    : /^file:\/\/\//i.test(url)
    ? `: use new FileSystemStore(new URL("${url}"))`
    : "";
  throw new TypeError(
    `Expected the path of a folder or a file: URL of this machine, found "${url}"${advice}`,
  );
}

/** A path relative to a folder: "" for the folder itself, `undefined` for a path outside of it. */
export function below(
  folder: string | undefined,
  path: string,
): string | undefined {
  if (folder === undefined) return undefined;
  const separator = fileSystem().build.os === "windows" ? "\\" : "/";
  const inside = folder.endsWith(separator) ? folder : folder + separator;
  return (path + separator).startsWith(inside)
    ? path.slice(inside.length)
    : undefined;
}

/** Joins a folder and a relative path as {@linkcode below} returns it. */
export function joined(folder: string, relative: string): string {
  return relative === "" ? folder : `${folder}/${relative}`;
}

/** The folder of a file store. */
export interface StoreRoot {
  readonly root: FileSystemRoot;
  /** Whether writers wait until everything is on the disk. */
  readonly isSynced: boolean;
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
