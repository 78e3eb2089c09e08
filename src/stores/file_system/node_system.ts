import type * as ChildProcess from "node:child_process";
import type * as Fs from "node:fs";
import type {
  FileInfo,
  FileSystem,
  FolderEntry,
  OpenOptions,
  SystemFile,
} from "./system.ts";

/**
 * Returns the operations on files by `node:fs`; `undefined` in browsers and edge
 * functions. The modules are not imported, since bundlers for browsers would look for
 * them.
 */
export function nodeSystem(): FileSystem | undefined {
  const { process } = globalThis as {
    process?: {
      platform: string;
      getBuiltinModule?(name: string): unknown;
    };
  };
  const load = <T>(name: string) =>
    process?.getBuiltinModule?.(name) as T | undefined;
  const fs = load<typeof Fs>("node:fs");
  const children = load<typeof ChildProcess>("node:child_process");
  if (typeof fs?.openSync !== "function" || children === undefined) return;
  const os = process!.platform === "win32" ? "windows" : process!.platform;
  const context = { fs, children, os };
  const { promises } = fs;
  return {
    build: { os },
    openSync: (path, options) => new NodeFile(context, path, options),
    // An executor, so that an error rejects.
    open: (path, options) =>
      new Promise((resolve) => resolve(new NodeFile(context, path, options))),
    statSync: (path) => infoOf(fs.statSync(path, BIGINT)),
    stat: async (path) => infoOf(await promises.stat(path, BIGINT)),
    lstatSync: (path) => infoOf(fs.lstatSync(path, BIGINT)),
    // The native functions, since the others look links up one by one.
    realPathSync: (path) => fs.realpathSync.native(path),
    realPath: async (path) => await promises.realpath(path),
    async *readDir(path) {
      for await (const entry of await promises.opendir(path)) {
        yield { name: entry.name, ...kindOf(entry) };
      }
    },
    async mkdir(path, options) {
      await promises.mkdir(path, options);
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
    link: (path, other) => promises.link(path, other),
    copyFile: (from, to) => promises.copyFile(from, to),
    chmodSync: (path, mode) => fs.chmodSync(path, mode),
    utimeSync: (path, accessed, changed) =>
      fs.utimesSync(path, accessed, changed),
  };
}

/** The modules of Node, and the name of the operating system. */
interface Context {
  readonly fs: typeof Fs;
  readonly children: typeof ChildProcess;
  readonly os: string;
}

/** Inode numbers and times are whole and exact in bigints. */
const BIGINT = { bigint: true } as const;

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

/** The number of bytes of one piece of a stream. */
const PIECE = 64 * 1024;

/** An open file of Node. */
class NodeFile implements SystemFile {
  readonly #context: Context;
  readonly #path: string;
  readonly #descriptor: number;
  #position = 0;

  constructor(
    context: Context,
    path: string,
    { read, write, create, createNew }: OpenOptions = { read: true },
  ) {
    const { O_RDONLY, O_WRONLY, O_RDWR, O_CREAT, O_EXCL } =
      context.fs.constants;
    const access = write ? read ? O_RDWR : O_WRONLY : O_RDONLY;
    const creation = createNew ? O_CREAT | O_EXCL : create ? O_CREAT : 0;
    this.#context = context;
    this.#path = path;
    this.#descriptor = context.fs.openSync(path, access | creation);
  }

  readSync(memory: Uint8Array): number | null {
    const read = this.#context.fs.readSync(
      this.#descriptor,
      memory,
      0,
      memory.length,
      this.#position,
    );
    return this.#moved(read, memory);
  }

  async read(memory: Uint8Array): Promise<number | null> {
    const position = this.#position;
    const read = await this.#run<number>((done) =>
      this.#context.fs.read(
        this.#descriptor,
        memory,
        0,
        memory.length,
        position,
        done,
      )
    );
    return this.#moved(read, memory);
  }

  writeSync(bytes: Uint8Array): number {
    const written = this.#context.fs.writeSync(
      this.#descriptor,
      bytes,
      0,
      bytes.length,
      this.#position,
    );
    this.#position += written;
    return written;
  }

  async write(bytes: Uint8Array): Promise<number> {
    const position = this.#position;
    const written = await this.#run<number>((done) =>
      this.#context.fs.write(
        this.#descriptor,
        bytes,
        0,
        bytes.length,
        position,
        done,
      )
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
    return infoOf(this.#context.fs.fstatSync(this.#descriptor, BIGINT));
  }

  truncateSync(length: number): void {
    this.#context.fs.ftruncateSync(this.#descriptor, length);
  }

  async truncate(length: number): Promise<void> {
    await this.#run((done) =>
      this.#context.fs.ftruncate(this.#descriptor, length, done)
    );
  }

  async sync(): Promise<void> {
    await this.#run((done) => this.#context.fs.fsync(this.#descriptor, done));
  }

  tryLockSync(): boolean {
    return tryLock(this.#context, this.#descriptor, this.#path);
  }

  get readable(): ReadableStream<Uint8Array> {
    return new ReadableStream({
      type: "bytes",
      autoAllocateChunkSize: PIECE,
      pull: async (controller) => {
        try {
          const request = controller.byobRequest!;
          const memory = request.view as Uint8Array<ArrayBuffer>;
          const read = await this.read(memory);
          if (read === null) {
            this.close();
            controller.close();
          }
          request.respond(read ?? 0);
        } catch (error) {
          this.close();
          throw error;
        }
      },
      cancel: () => this.close(),
    });
  }

  close(): void {
    this.#context.fs.closeSync(this.#descriptor);
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
function tryLock(
  { children, os }: Context,
  descriptor: number,
  path: string,
): boolean {
  const ignored = "ignore";
  for (const [program, ...args] of locker ? [locker] : LOCKERS) {
    if (os === "windows") break;
    const { status } = children.spawnSync(program, args, {
      stdio: [ignored, ignored, ignored, descriptor],
    });
    if (status !== 0 && status !== 1) continue;
    locker = [program, ...args];
    return status === 0;
  }
  throw new Error(
    `Cannot lock ${path}, since neither "flock" nor "perl" could: install one of them, or set the option "exclusive" if no other program writes to this folder`,
  );
}
