import { describeStore, redactUrl } from "../describe_store.ts";
import type { StoreKey } from "../store.ts";
import {
  FolderKeyError,
  isTemporary,
  keyProblem,
  splitPath,
} from "../store_key.ts";
import type { FileInfo, FolderEntry, Runtime } from "./runtime.ts";
import {
  type Awaitable,
  type FileState,
  type FileSystem,
  ifPresent,
  isAbsence,
  isNotFolder,
  type OpenFile,
  stateOf,
} from "./system.ts";

/** Where keys lead in the file system. */
export interface Folders {
  /** The path of the folder, to which keys are appended. Links on the way are not checked. */
  readonly path: string;
  /** Opens the file of a key; `undefined` if there is none. Refuses a key that leads out of the root, and one that names no regular file. */
  open(key: StoreKey): OpenFile | undefined;
  /** Finds the file of a key, as {@linkcode open} does. */
  find(key: StoreKey): { path: string; state: FileState } | undefined;
  /** Returns the state of the file that a key leads to, by any links; `undefined` if there is none. */
  state(key: StoreKey): FileState | undefined;
  /** Whether a key has a file, or a link that leads nowhere. Refuses a key that {@linkcode open} refuses. */
  has(key: StoreKey): Awaitable<boolean>;
  /** Finds a folder to change, below the root; `undefined` if nothing is there. */
  follow(folder: string): Awaitable<string | undefined>;
  /**
   * Finds the folder for a new file of a key, and creates it if it is missing. Refuses a key
   * that {@linkcode open} refuses.
   *
   * @throws {FolderKeyError} If a file is in the place of a folder.
   */
  folderFor(key: StoreKey): Awaitable<string>;
  /**
   * Finds a folder to change, and creates it if it is missing.
   *
   * @param key A key in the folder, for the message of an error.
   * @throws {FolderKeyError} If a file is in the place of a folder.
   */
  ensureFolder(folder: string, key?: StoreKey): Awaitable<string>;
}

/** Options of {@linkcode FileSystemRoot}. */
interface RootOptions {
  /** Whether a new folder must be on the disk before it is used. */
  readonly isSynced: boolean;
  /** Whether files and folders outside of the root are read, if links lead to them. */
  readonly followsLinks: boolean;
}

/** A folder of the file system, and the files and folders that keys name in it. */
export class FileSystemRoot implements Folders {
  /** The path as it was given, since permissions may name a link. */
  readonly path: string;
  readonly #system: FileSystem;
  readonly #options: RootOptions;
  /** The real path of the root when it was last looked up. */
  #real: string | undefined;

  constructor(
    root: string | URL,
    system: FileSystem,
    options: RootOptions,
  ) {
    this.#system = system;
    this.#options = options;
    this.path = rootPath(root, system.runtime);
    if (this.path === "") {
      throw new RangeError('Expected the path of a folder, found ""');
    }
  }

  get #runtime(): Runtime {
    return this.#system.runtime;
  }

  open(key: StoreKey): OpenFile | undefined {
    const found = this.find(key);
    return found && this.#system.open(found.path);
  }

  state(key: StoreKey): FileState | undefined {
    const info = ifPresent(() => this.#runtime.statSync(this.path + key));
    return info && stateOf(info);
  }

  has(key: StoreKey): boolean {
    return this.find(key) !== undefined ||
      ifPresent(() => this.#runtime.lstatSync(this.path + key)) !== undefined;
  }

  /** Finds the file of a key to read. Its path has no links below the root, unless links are followed. */
  find(key: StoreKey): { path: string; state: FileState } | undefined {
    const path = this.locate(key);
    if (path === undefined) return undefined;
    const info = ifPresent(() => this.#runtime.statSync(path));
    if (info === undefined) {
      if (this.#options.followsLinks) this.assertFolder();
      return undefined;
    }
    if (!info.isFile) throw notFileError(key, path, info);
    return { path, state: stateOf(info) };
  }

  /** The path of a key to read; `undefined` if nothing is there. */
  locate(key: string): string | undefined {
    return this.#options.followsLinks ? this.path + key : this.follow(key);
  }

  follow(key: string): string | undefined {
    let real: string;
    try {
      real = this.#runtime.realPathSync(this.path + key);
    } catch (error) {
      if (!isAbsence(error)) throw error;
      if (isNotFolder(error)) this.assertFolder();
      // An absent value behind a link that leads out is refused, too.
      if (key !== "") this.follow(splitPath(key).folder);
      return undefined;
    }
    if (this.#below(this.#real, real) === key.slice(1)) return this.path + key;
    // The root may be a link that leads elsewhere by now.
    this.#real = ifPresent(() => this.#runtime.realPathSync(this.path));
    if (this.#real === undefined) return undefined;
    const relative = this.#below(this.#real, real);
    // Not `real`, since permissions may name the root as a link.
    if (relative !== undefined) return joined(this.path, relative);
    throw new Error(
      `Key ${
        JSON.stringify(key)
      } leads out of the store's root: ${real} is not below ${this.#real}${
        this.#options.followsLinks
          ? ', and the option "followLinks" is for reading only'
          : ""
      }`,
    );
  }

  /** A path relative to a folder: "" for the folder itself, `undefined` for a path outside of it. */
  #below(folder: string | undefined, path: string): string | undefined {
    if (folder === undefined) return undefined;
    const separator = this.#runtime.build.os === "windows" ? "\\" : "/";
    const inside = folder.endsWith(separator) ? folder : folder + separator;
    return (path + separator).startsWith(inside)
      ? path.slice(inside.length)
      : undefined;
  }

  /** Refuses a root that is a file. It may be missing. */
  assertFolder(): void {
    const info = ifPresent(() => this.#runtime.statSync(this.path));
    if (info === undefined || info.isDirectory) return;
    throw new Error(
      `Expected the store's root to be a folder, found a file: ${this.path}`,
    );
  }

  /** The real path of a folder that may be missing, by that of the nearest existing folder above it; `undefined` without permission. */
  realFolder(folder: string): string | undefined {
    let [path, missing] = [this.path + folder, ""];
    while (true) {
      try {
        return joined(this.#runtime.realPathSync(path), missing);
      } catch (error) {
        if (!isAbsence(error)) return undefined;
      }
      const [, above = ".", name] = /^(.*?)[\\/]*([^\\/]*)[\\/]*$/s.exec(path)!;
      if (name === "" || path === ".") return undefined;
      missing = joined(name!, missing);
      path = above === "" ? /^[\\/]/.test(path) ? "/" : "." : above;
    }
  }

  async folderFor(key: StoreKey): Promise<string> {
    const found = this.find(key);
    const { folder } = splitPath(key);
    return found?.path === this.path + key && !this.#options.followsLinks
      ? this.path + folder
      : await this.ensureFolder(folder, key);
  }

  /** Creates one folder at a time, so that none is created behind a link. */
  async ensureFolder(folder: string, key?: StoreKey): Promise<string> {
    const present = this.follow(folder);
    if (present !== undefined) {
      this.#assertNoFile(present, folder, key);
      return present;
    }
    if (folder === "") {
      this.#runtime.mkdirSync(this.path, { recursive: true });
      return this.path;
    }
    const { folder: parent, name } = splitPath(folder);
    const above = await this.ensureFolder(parent, key);
    const path = `${above}/${name}`;
    this.#runtime.mkdirSync(path, { recursive: true });
    if (this.#options.isSynced) await this.#system.syncFolder(above);
    return path;
  }

  /** Refuses a file in the place of a folder. */
  #assertNoFile(path: string, folder: string, key: StoreKey | undefined): void {
    const info = ifPresent(() => this.#runtime.statSync(path));
    if (!info?.isFile) return;
    throw new FolderKeyError(
      `Key ${JSON.stringify(folder)} names a file, expected a folder${
        key === undefined ? "" : ` for the key ${JSON.stringify(key)}`
      }: ${path}`,
    );
  }

  /** Lists the keys of files, from the deepest folder that the prefix names. */
  async *list(
    prefix: StoreKey,
    signal: AbortSignal | undefined,
  ): AsyncIterable<StoreKey> {
    signal?.throwIfAborted();
    this.assertFolder();
    const { folder } = splitPath(prefix);
    const path = this.locate(folder);
    if (path !== undefined) yield* this.#walk(path, folder, prefix, signal, []);
  }

  /** @param from The real paths of the folders whose links led here. */
  async *#walk(
    path: string,
    folder: string,
    prefix: StoreKey,
    signal: AbortSignal | undefined,
    from: readonly string[],
  ): AsyncIterable<StoreKey> {
    for await (
      const { name, isDirectory, isFile } of this.entries(path)
    ) {
      signal?.throwIfAborted();
      const key: StoreKey = `${folder as StoreKey}/${name}`;
      if (!key.startsWith(prefix) || isTemporary(name)) continue;
      if (keyProblem(name) !== undefined) continue;
      const inside = `${path}/${name}`;
      if (isDirectory) yield* this.#walk(inside, key, prefix, signal, from);
      else if (isFile || this.#leadsToFile(key)) yield key;
      else if (this.#options.followsLinks && this.#isFolder(inside)) {
        const here = [...from, this.#runtime.realPathSync(path)];
        const target = this.#runtime.realPathSync(inside);
        const isCircle = here.some((each) =>
          this.#below(target, each) !== undefined
        );
        if (!isCircle) yield* this.#walk(inside, key, prefix, signal, here);
      }
    }
  }

  /** The entries of a folder; none if it is absent. They are not collected, since a folder may have millions. */
  async *entries(path: string): AsyncIterable<FolderEntry> {
    try {
      yield* this.#runtime.readDir(path);
    } catch (error) {
      if (!isAbsence(error)) throw error;
    }
  }

  #leadsToFile(key: StoreKey): boolean {
    try {
      return this.find(key) !== undefined;
    } catch {
      return false; // It leads out of the root, or to no regular file.
    }
  }

  #isFolder(path: string): boolean {
    try {
      return this.#runtime.statSync(path).isDirectory;
    } catch {
      return false; // A link that leads nowhere, or a circle of links.
    }
  }
}

function notFileError(key: StoreKey, path: string, info: FileInfo): Error {
  const ErrorClass = info.isDirectory ? FolderKeyError : Error;
  return new ErrorClass(
    `Key ${JSON.stringify(key)} names ${
      info.isDirectory ? "a folder" : "a special file"
    }, expected a regular file: ${path}`,
  );
}

/** A URL's scheme, which has two letters at least: one letter is a drive of Windows. */
const SCHEME = /^[a-z][a-z\d+.-]+:\/\//i;

/** The path of a root that is given as a path or as a `file:` URL. */
function rootPath(root: unknown, { build }: Runtime): string {
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
    return build.os === "windows" ? path.slice(1) : path;
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

/** Joins a folder and a relative path. */
function joined(folder: string, relative: string): string {
  return relative === "" ? folder : `${folder}/${relative}`;
}
