import type * as ChildProcess from "node:child_process";
import type * as Fs from "node:fs";

/**
 * The operations on files that the store uses, as the namespace `Deno` has them. In Node,
 * {@linkcode nodeRuntime} does the same by `node:fs`.
 */
export interface Runtime {
  readonly build: { readonly os: string };
  openSync(path: string, options: OpenOptions): RuntimeFile;
  statSync(path: string): FileInfo;
  lstatSync(path: string): FileInfo;
  realPathSync(path: string): string;
  /** Names in a folder, with what they are themselves: links are not followed. */
  readDir(path: string): AsyncIterable<FolderEntry>;
  mkdirSync(path: string, options: { recursive: boolean }): void;
  /** Removes a file, a link, or an empty folder. */
  removeSync(path: string): void;
  remove(path: string): Promise<void>;
  renameSync(from: string, to: string): void;
  rename(from: string, to: string): Promise<void>;
  linkSync(path: string, other: string): void;
  copyFile(from: string, to: string): Promise<void>;
  chmodSync(path: string, mode: number): void;
  utimeSync(path: string, accessed: Date, changed: Date): void;
}

/** How a file is opened. */
export interface OpenOptions {
  readonly read?: boolean;
  readonly write?: boolean;
  readonly create?: boolean;
  /** Whether a file is created, and one that exists is an error. */
  readonly createNew?: boolean;
}

/** What a name in a folder is. */
export interface FolderEntry {
  readonly name: string;
  readonly isFile: boolean;
  readonly isDirectory: boolean;
  readonly isSymlink: boolean;
}

/** The properties of a file. Those that the operating system does not have are `null`. */
export interface FileInfo extends Omit<FolderEntry, "name"> {
  readonly size: number;
  readonly mtime: Date | null;
  readonly dev: number;
  readonly ino: number | null;
  readonly nlink: number | null;
  readonly mode: number | null;
}

/** An open file, with a position at which it is read and written. */
export interface RuntimeFile {
  read(memory: Uint8Array): Promise<number | null>;
  readSync(memory: Uint8Array): number | null;
  write(bytes: Uint8Array): Promise<number>;
  writeSync(bytes: Uint8Array): number;
  /** Moves the position, and returns it. `whence` is one of {@linkcode SEEK}. */
  seekSync(offset: number, whence: number): number;
  statSync(): FileInfo;
  truncateSync(length: number): void;
  sync(): Promise<void>;
  /** Takes an exclusive lock, unless another open file has one. */
  tryLockSync(exclusive: true): boolean;
  close(): void;
}

/** What offsets of {@linkcode RuntimeFile.seekSync} count from. */
export const SEEK = { start: 0, end: 2 } as const;

/**
 * Returns the operations on files by `node:fs`; `undefined` in browsers and edge
 * functions. The modules are not imported, since bundlers for browsers would look for
 * them.
 */
export function nodeRuntime(): Runtime | undefined {
  const { process } = globalThis as {
    process?: {
      platform: string;
      getBuiltinModule?(name: string): unknown;
    };
  };
  const fs = process?.getBuiltinModule?.("node:fs") as typeof Fs | undefined;
  if (typeof fs?.openSync !== "function") return undefined;
  const { promises } = fs;
  const os = process!.platform === "win32" ? "windows" : process!.platform;
  const { Deno } = globalThis as { Deno?: Runtime };
  const children = process!.getBuiltinModule!(
    "node:child_process",
  ) as typeof ChildProcess;
  const lock: Lock = typeof Deno?.openSync === "function"
    ? (_, path, options) => lockInDeno(Deno, path, options)
    : (descriptor, path) => lockByProgram(children, os, descriptor, path);
  return {
    build: { os },
    openSync: (path, options) => new NodeFile(fs, lock, path, options),
    statSync: (path) => infoOf(fs.statSync(path, BIGINT)),
    lstatSync: (path) => infoOf(fs.lstatSync(path, BIGINT)),
    // The native function, since the other one looks links up one by one.
    realPathSync: (path) => fs.realpathSync.native(path),
    // The module of Node takes 0.7 KB an entry in Deno.
    readDir: typeof Deno?.readDir === "function"
      ? (path) => Deno.readDir(path)
      : (path) => readDirInNode(fs, path),
    mkdirSync(path, options) {
      fs.mkdirSync(path, options);
    },
    removeSync(path) {
      if (fs.lstatSync(path).isDirectory()) fs.rmdirSync(path);
      else fs.unlinkSync(path);
    },
    async remove(path) {
      const isFolder = (await promises.lstat(path)).isDirectory();
      await (isFolder ? promises.rmdir(path) : promises.unlink(path));
    },
    renameSync: (from, to) => fs.renameSync(from, to),
    rename: (from, to) => promises.rename(from, to),
    linkSync: (path, other) => fs.linkSync(path, other),
    copyFile: (from, to) => promises.copyFile(from, to),
    chmodSync: (path, mode) => fs.chmodSync(path, mode),
    utimeSync: (path, accessed, changed) =>
      fs.utimesSync(path, accessed, changed),
  };
}

/** Inode numbers and times are whole and exact in bigints. */
const BIGINT = { bigint: true } as const;

async function* readDirInNode(
  fs: typeof Fs,
  path: string,
): AsyncGenerator<FolderEntry> {
  const entries = await fs.promises.readdir(path, { withFileTypes: true });
  for (const entry of entries) yield { name: entry.name, ...kindOf(entry) };
}

function kindOf(
  entry: Fs.Dirent | Fs.BigIntStats,
): Omit<FolderEntry, "name"> {
  return {
    isFile: entry.isFile(),
    isDirectory: entry.isDirectory(),
    isSymlink: entry.isSymbolicLink(),
  };
}

function infoOf(stats: Fs.BigIntStats): FileInfo {
  return {
    ...kindOf(stats),
    size: Number(stats.size),
    mtime: new Date(Number(stats.mtimeMs)),
    dev: Number(stats.dev),
    ino: Number(stats.ino),
    nlink: Number(stats.nlink),
    mode: Number(stats.mode),
  };
}

/** Takes an exclusive lock on an open file. Returns a function that ends it, or `undefined` if another open file has one. */
type Lock = (
  descriptor: number,
  path: string,
  options: OpenOptions,
) => (() => void) | undefined;

/** An open file of Node. */
class NodeFile implements RuntimeFile {
  readonly #fs: typeof Fs;
  readonly #lock: Lock;
  readonly #path: string;
  readonly #options: OpenOptions;
  readonly #descriptor: number;
  #unlock: (() => void) | undefined;
  #position = 0;

  constructor(
    fs: typeof Fs,
    lock: Lock,
    path: string,
    options: OpenOptions,
  ) {
    const { read, write, create, createNew } = options;
    const { O_RDONLY, O_WRONLY, O_RDWR, O_CREAT, O_EXCL } = fs.constants;
    const access = write ? read ? O_RDWR : O_WRONLY : O_RDONLY;
    const creation = createNew ? O_CREAT | O_EXCL : create ? O_CREAT : 0;
    this.#fs = fs;
    this.#lock = lock;
    this.#path = path;
    this.#options = options;
    this.#descriptor = fs.openSync(path, access | creation);
  }

  readSync(memory: Uint8Array): number | null {
    const { length } = memory;
    const read = this.#fs
      .readSync(this.#descriptor, memory, 0, length, this.#position);
    return this.#moved(read, memory);
  }

  async read(memory: Uint8Array): Promise<number | null> {
    const { length } = memory;
    const read = await this.#run<number>((done) =>
      this.#fs.read(this.#descriptor, memory, 0, length, this.#position, done)
    );
    return this.#moved(read, memory);
  }

  writeSync(bytes: Uint8Array): number {
    const { length } = bytes;
    const written = this.#fs
      .writeSync(this.#descriptor, bytes, 0, length, this.#position);
    this.#position += written;
    return written;
  }

  async write(bytes: Uint8Array): Promise<number> {
    const { length } = bytes;
    const written = await this.#run<number>((done) =>
      this.#fs.write(this.#descriptor, bytes, 0, length, this.#position, done)
    );
    this.#position += written;
    return written;
  }

  seekSync(offset: number, whence: number): number {
    const start = whence === 0 ? 0 : this.statSync().size;
    this.#position = start + offset;
    return this.#position;
  }

  statSync(): FileInfo {
    return infoOf(this.#fs.fstatSync(this.#descriptor, BIGINT));
  }

  truncateSync(length: number): void {
    this.#fs.ftruncateSync(this.#descriptor, length);
  }

  async sync(): Promise<void> {
    await this.#run((done) => this.#fs.fsync(this.#descriptor, done));
  }

  tryLockSync(): boolean {
    this.#unlock = this.#lock(this.#descriptor, this.#path, this.#options);
    return this.#unlock !== undefined;
  }

  close(): void {
    this.#unlock?.();
    this.#fs.closeSync(this.#descriptor);
  }

  /** Moves the position past bytes that were read; `null` at the end of the file. */
  #moved(read: number, memory: Uint8Array): number | null {
    this.#position += read;
    return read === 0 && memory.length > 0 ? null : read;
  }

  #run<T = void>(
    start: (done: (error: Error | null, result?: T) => void) => void,
  ): Promise<T> {
    return new Promise((resolve, reject) =>
      start((error, result) => error ? reject(error) : resolve(result as T))
    );
  }
}

/**
 * Takes a lock in Deno, whose `node:fs` has none, by opening the file once more. The path may
 * lead to another file by now, so that whoever takes a lock looks afterwards whether the path
 * leads to the file that was opened first.
 */
function lockInDeno(
  deno: Runtime,
  path: string,
  { write = false }: OpenOptions,
): (() => void) | undefined {
  let file: RuntimeFile;
  try {
    file = deno.openSync(path, { read: true, write });
  } catch (error) {
    if ((error as Error).name === "NotFound") return undefined;
    throw error;
  }
  if (file.tryLockSync(true)) return () => file.close();
  file.close();
  return undefined;
}

/** Programs that lock the file of their descriptor 3. They exit with 1 if another file has the lock. */
const LOCKERS: readonly (readonly [string, ...string[]])[] = [
  ["flock", "-xn", "3"],
  // macOS has no `flock`, and it has Perl.
  ["perl", "-e", 'open(F,">>&=",3)||exit 2;exit(flock(F,6)?0:1)'],
];

/** The program that has locked a file before. */
let locker: (typeof LOCKERS)[number] | undefined;

/**
 * Takes a lock as `Deno.FsFile.tryLock` does, by `flock` of the operating system, which
 * Node does not have. Such a lock belongs to the opened file, and not to a process: a
 * program that is given the descriptor takes the lock and exits, and the file has the lock
 * until it is closed, also because Node was killed.
 */
function lockByProgram(
  children: typeof ChildProcess,
  os: string,
  descriptor: number,
  path: string,
): (() => void) | undefined {
  const ignored = "ignore";
  for (const [program, ...args] of locker ? [locker] : LOCKERS) {
    if (os === "windows") break;
    const { status } = children.spawnSync(program, args, {
      stdio: [ignored, ignored, ignored, descriptor],
    });
    if (status !== 0 && status !== 1) continue;
    locker = [program, ...args];
    return status === 0 ? () => {} : undefined;
  }
  throw new Error(
    `Cannot lock ${path}, since neither "flock" nor "perl" could: install one of them, or set the option "exclusive" if no other program writes to this folder`,
  );
}
