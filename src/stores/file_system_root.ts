import { ensureDir } from "@std/fs/ensure-dir";
import { describeStore, redactUrl } from "./describe_store.ts";
import type { StoreKey } from "./store.ts";
import { assertStoreKey } from "./store_key.ts";

const MOST_CACHED = 4096;
const TEMPORARY = ".zarr-parts-tmp-";

/** A folder of the file system, and the files and folders that keys name in it. */
export class FileSystemRoot {
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

  constructor(root: string | URL) {
    if (!("Deno" in globalThis)) {
      throw new Error(
        'FileSystemStore needs Deno: in Node, use FileSystemStore of "@zarrita/storage", and in browsers HttpStore',
      );
    }
    if (typeof root !== "string" && !(root instanceof URL)) {
      throw new TypeError(
        `Expected the path or file: URL of a folder, found ${
          describeStore(root)
        }`,
      );
    }
    this.path = pathOf(root);
    if (this.path === "") {
      throw new RangeError('Expected the path of a folder, found ""');
    }
  }

  /** Finds the file of a value. Refuses an invalid key, and a key that names no regular file below the root. */
  async find(
    key: StoreKey,
  ): Promise<{ path: string; size: number } | undefined> {
    assertStoreKey(key);
    if (key.includes(`/${TEMPORARY}`)) {
      throw new RangeError(
        `Key ${
          JSON.stringify(key)
        } has a name that starts with "${TEMPORARY}": such names are for temporary files`,
      );
    }
    const path = await this.follow(key);
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
      if (key !== "") await this.follow(split(key).folder);
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

  /** The paths of the folders that {@linkcode ensureFolder} would create, deepest first. */
  async missingFolders(folder: string): Promise<string[]> {
    if (await this.follow(folder) !== undefined) return [];
    const path = this.path + folder;
    if (folder === "") return [path];
    return [path, ...await this.missingFolders(split(folder).folder)];
  }

  /** The path of a folder, or of the nearest existing folder above it. */
  async nearestFolder(folder: string): Promise<string> {
    if (folder === "") return await this.ensureFolder("");
    return await this.follow(folder) ??
      await this.nearestFolder(split(folder).folder);
  }

  /** Creates a missing folder. One name at a time, so that no folder is created behind a link. */
  async ensureFolder(folder: string): Promise<string> {
    const present = await this.follow(folder);
    if (present !== undefined) return present;
    const { folder: parent, name } = split(folder);
    const path = folder === ""
      ? this.path
      : `${await this.ensureFolder(parent)}/${name}`;
    await ensureDir(path);
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

/** Splits `/c/0/1` into the folder `/c/0` and the name `1`. */
export function split(key: string): { folder: string; name: string } {
  const slash = key.lastIndexOf("/");
  return { folder: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** Whether a name is that of a temporary file. */
export function isTemporary(name: string): boolean {
  return name.startsWith(TEMPORARY);
}

/** A new path in a folder for a temporary file. */
export function temporaryName(folder: string): string {
  return `${folder}/${TEMPORARY}${crypto.randomUUID()}`;
}

/** The result of an operation on a path, or `undefined` if nothing is there. */
export async function ifPresent<T>(
  operation: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await operation();
  } catch (error) {
    if (isAbsence(error)) return undefined;
    throw error;
  }
}

/** As {@linkcode ifPresent}, for an operation that blocks. */
export function ifPresentSync<T>(operation: () => T): T | undefined {
  try {
    return operation();
  } catch (error) {
    if (isAbsence(error)) return undefined;
    throw error;
  }
}

/** Whether an error says that no file is at a path, or that a file is in a folder's place. */
function isAbsence(error: unknown): boolean {
  return error instanceof Deno.errors.NotFound ||
    error instanceof Deno.errors.NotADirectory;
}

/** A URL's scheme, which has two letters at least: one letter is a drive of Windows. */
const SCHEME = /^[a-z][a-z\d+.-]+:\/\//i;

function pathOf(root: string | URL): string {
  if (typeof root === "string" && !SCHEME.test(root)) return root;
  if (root instanceof URL && root.protocol === "file:" && root.host === "") {
    // Not `fileURLToPath` of node:url: this module must load in browsers.
    const path = decodeURIComponent(root.pathname);
    return Deno.build.os === "windows" ? path.slice(1) : path;
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
