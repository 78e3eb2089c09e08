import { nextTurn, pause } from "../../runtime/mod.ts";
import {
  nodeRuntime,
  type OpenOptions,
  type Runtime,
  type RuntimeFile,
  SEEK,
} from "./runtime.ts";

/** A value, or a promise of it. A value that is there at once costs no turn of the event loop. */
export type Awaitable<T> = T | Promise<T>;

/** The properties that distinguish a file from others, and from its later states. */
export interface FileState {
  readonly dev: number;
  /** `null` where the file system has no inode numbers, as on Windows. */
  readonly ino: number | null;
  /** The time of the last change in milliseconds since 1970. */
  readonly mtime: number;
  readonly size: number;
}

/** A file that is open. Its name may lead to another file by now. */
export interface OpenFile {
  /** Returns the state that the file had when it was first asked for. */
  stat(): FileState;
  /** Returns the length of the file in bytes, in less time than `stat` takes. */
  size(): number;
  /** Takes an exclusive lock, which ends when the file is closed. Returns `false` if another program or `OpenFile` has it. */
  tryLock(): Awaitable<boolean>;
  /** Fills memory with the bytes from an offset on. Returns how many there are: fewer at the end of the file. */
  fill(
    memory: Uint8Array,
    offset: number,
    signal?: AbortSignal,
  ): Awaitable<number>;
  /** Writes bytes at the end. */
  append(bytes: Uint8Array): Awaitable<void>;
  /** Cuts the file to a length, and writes at its end from then on. */
  truncate?(length: number): Awaitable<void>;
  /** Replaces the contents of the file by a single write. */
  replace(bytes: Uint8Array): Awaitable<void>;
  /** Waits until the contents are on the disk. */
  sync(): Awaitable<void>;
  /** Keeps the file open until `close` is called once more. */
  retain(): void;
  close(): void;
}

/**
 * The operations on files that reading and writing values consist of, each of which
 * happens at one moment. Tests run the same steps on a simulated disk.
 */
export interface System {
  /** Opens a file for reading, or returns `undefined` if there is none. */
  open(path: string): Awaitable<OpenFile | undefined>;
  /** Creates a file, and opens it for writing. Fails if there is one. */
  create(path: string): Awaitable<OpenFile>;
  /** Opens a file for reading and writing, and creates it if there is none. */
  openOrCreate(path: string): Awaitable<OpenFile>;
  /** Copies a file to a new one, with the permissions of a third one. Missing where files cannot be copied. */
  copy?(from: string, to: string, like: string): Awaitable<void>;
  /** Returns the state of the file at a path, which is no link, or `undefined` if there is none. */
  stat(path: string): Awaitable<FileState | undefined>;
  /** Sets the time of the last change to the present. */
  touch(path: string): Awaitable<void>;
  /** Renames a file, in place of another one. */
  rename(from: string, to: string): Awaitable<void>;
  /** Removes a file. No error if there is none. */
  remove(path: string): Awaitable<void>;
  /** Waits until the names in a folder are on the disk. */
  syncFolder(path: string): Awaitable<void>;
  /** The present in milliseconds since 1970. */
  now(): number;
  /** Waits, or rejects with the reason of the signal. */
  wait(milliseconds: number, signal: AbortSignal | undefined): Promise<void>;
}

/** Whether two states are those of the same file, unchanged. */
export function isSameState(
  a: FileState | undefined,
  b: FileState | undefined,
): boolean {
  return a !== undefined && b !== undefined && a.ino === b.ino &&
    a.dev === b.dev && a.mtime === b.mtime && a.size === b.size;
}

/** Reads a whole file, which is short. */
export async function contentsOf(file: OpenFile): Promise<Uint8Array> {
  const bytes = new Uint8Array(file.size());
  return bytes.subarray(0, await file.fill(bytes, 0));
}

/** The result of an operation on a path, or `undefined` if nothing is there. */
export function ifPresent<T>(operation: () => T): T | undefined {
  try {
    return operation();
  } catch (error) {
    if (isAbsence(error)) return undefined;
    throw error;
  }
}

/** Whether an error says that no file is at a path, or that a file is in a folder's place. */
export function isAbsence(error: unknown): boolean {
  return hasCode(error, "ENOENT", "NotFound") || isNotFolder(error);
}

/** Whether an error says that a file is in a folder's place. */
export function isNotFolder(error: unknown): boolean {
  return hasCode(error, "ENOTDIR", "NotADirectory");
}

/** Whether an error has a code of the operating system, or the name that Deno gives to such errors. */
export function hasCode(error: unknown, code: string, name: string): boolean {
  const found = Object(error) as { code?: unknown; name?: unknown };
  return found.code === code || found.name === name;
}

/** Whether an error says that the disk is full, or the quota of the user. */
export function isDiskFull(error: unknown): boolean {
  const { code } = Object(error) as { code?: unknown };
  return code === "ENOSPC" || code === "EDQUOT";
}

/** An error for a file that is missing, as the runtime gives them. */
export function notFound(message: string): Error {
  const { Deno } = globalThis as unknown as {
    Deno?: { errors: { NotFound: new (message: string) => Error } };
  };
  const error = new (Deno?.errors.NotFound ?? Error)(message);
  return Object.assign(error, { code: "ENOENT" });
}

/** Adds the path to an error of an open file, as Deno does for errors of paths. */
function withPath(error: unknown, path: string): unknown {
  if (error instanceof Error && !error.message.includes(path)) {
    error.message += `: write '${path}'`;
  }
  return error;
}

/**
 * The most bytes that are read or written without another thread: handing work to a thread
 * takes longer than copying 16 KiB from the memory of the operating system, and a quarter of
 * the time of 1 MiB.
 */
const SHORT = 1024 * 1024;
/** The most bytes that are read or written between two checks of the signal. */
export const WINDOW: number = 16 * 1024 * 1024;
/** The longest file that is replaced or removed without another thread: freeing its blocks takes time. */
const SHORT_FILE = 64 * 1024;
/** The number of short reads after which one uses another thread, so that timers and messages are not held up. */
const MOST_AT_ONCE = 256;

let readsAtOnce = 0;

/** The files of the operating system. Operations that wait for no disk run at once. */
export class FileSystem implements System {
  readonly runtime: Runtime;
  readonly #lock: Lock;

  /** @param isExclusive Whether locks are those of this program alone. */
  constructor(isExclusive: boolean) {
    this.runtime = runtimeOf();
    this.#lock = isExclusive ? lockInProgram : (file) => file.tryLockSync(true);
  }

  open(path: string): OpenFile | undefined {
    return ifPresent(() => this.#open(path, { read: true }));
  }

  create(path: string): OpenFile {
    return this.#open(path, { createNew: true, read: true, write: true });
  }

  openOrCreate(path: string): OpenFile {
    return this.#open(path, { create: true, read: true, write: true });
  }

  async copy(from: string, to: string, like: string): Promise<void> {
    const { mode } = this.runtime.lstatSync(like);
    await this.runtime.copyFile(from, to);
    if (mode !== null) this.runtime.chmodSync(to, mode);
  }

  stat(path: string): FileState | undefined {
    const info = ifPresent(() => this.runtime.lstatSync(path));
    return info && stateOf(info);
  }

  touch(path: string): void {
    const now = new Date();
    this.runtime.utimeSync(path, now, now);
  }

  rename(from: string, to: string): Awaitable<void> {
    // The file that is replaced is likely to be about as long.
    return this.runtime.lstatSync(from).size > SHORT_FILE
      ? this.runtime.rename(from, to)
      : this.runtime.renameSync(from, to);
  }

  async remove(path: string): Promise<void> {
    try {
      const { size } = this.runtime.lstatSync(path);
      if (size > SHORT_FILE) await this.runtime.remove(path);
      else this.runtime.removeSync(path);
    } catch (error) {
      if (!isAbsence(error)) throw error;
    }
  }

  async syncFolder(path: string): Promise<void> {
    if (this.runtime.build.os === "windows") return; // Folders cannot be opened there.
    const folder = this.runtime.openSync(path, { read: true });
    try {
      await folder.sync();
    } finally {
      folder.close();
    }
  }

  now(): number {
    return Date.now();
  }

  wait(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
    return pause(milliseconds, signal);
  }

  #open(path: string, options: OpenOptions): OpenFile {
    return new SystemFile(
      this.runtime.openSync(path, options),
      path,
      this.#lock,
    );
  }
}

/**
 * Returns the operations on files of this runtime.
 *
 * @throws {Error} If the runtime has no files, as in browsers.
 */
function runtimeOf(): Runtime {
  const { Deno } = globalThis as {
    Deno?: Runtime & {
      openSync?: unknown;
      permissions: { querySync(of: { name: string }): { state: string } };
    };
  };
  // Below a link, Deno refuses the state of an open file unless its real path may be read,
  // and `node:fs` does not.
  const mayReadAll = typeof Deno?.openSync === "function" &&
    Deno.permissions.querySync({ name: "read" }).state === "granted";
  const runtime = mayReadAll ? Deno : nodeRuntime();
  if (runtime !== undefined) return runtime;
  throw new Error(
    "FileSystemStore needs Deno, or Node 20.16 or later; in browsers, use HttpStore",
  );
}

/** Returns the state of a file of its properties. */
export function stateOf(
  { dev, ino, mtime, size }: ReturnType<Runtime["statSync"]>,
): FileState {
  return { dev, ino, mtime: mtime?.getTime() ?? 0, size };
}

/** Locks an open file. Returns whether that was possible, or a function that unlocks the file when it is closed. */
type Lock = (file: RuntimeFile) => boolean | (() => void);

const lockedFiles = new Set<string>();

function lockInProgram(file: RuntimeFile): boolean | (() => void) {
  const { dev, ino } = file.statSync();
  const name = `${dev} ${ino}`;
  if (lockedFiles.has(name)) return false;
  lockedFiles.add(name);
  return () => lockedFiles.delete(name);
}

/** An open file of the operating system. */
class SystemFile implements OpenFile {
  readonly #file: RuntimeFile;
  readonly #path: string;
  readonly #lock: Lock;
  #unlock: (() => void) | undefined;
  #state: FileState | undefined;
  /** The latest reading on another thread. The next one waits for it, since an open file has one position. */
  #reading: Promise<unknown> | undefined;
  #users = 1;

  constructor(file: RuntimeFile, path: string, lock: Lock) {
    this.#file = file;
    this.#path = path;
    this.#lock = lock;
  }

  stat(): FileState {
    return this.#state ??= stateOf(this.#file.statSync());
  }

  size(): number {
    return this.#state?.size ?? this.#file.seekSync(0, SEEK.end);
  }

  tryLock(): boolean {
    const locked = this.#lock(this.#file);
    if (typeof locked === "function") this.#unlock = locked;
    return locked !== false;
  }

  fill(
    memory: Uint8Array,
    offset: number,
    signal?: AbortSignal,
  ): Awaitable<number> {
    const isShort = memory.length <= SHORT && this.#reading === undefined &&
      ++readsAtOnce < MOST_AT_ONCE;
    if (isShort) return this.#fillNow(memory, offset);
    readsAtOnce = 0;
    const reading = Promise.resolve(this.#reading).catch(() => {})
      .then(() => this.#fillLater(memory, offset, signal));
    this.#reading = reading;
    return reading.finally(() => {
      if (this.#reading === reading) this.#reading = undefined;
    });
  }

  #fillNow(memory: Uint8Array, offset: number): number {
    this.#file.seekSync(offset, SEEK.start);
    let filled = 0;
    while (filled < memory.length) {
      const read = this.#file.readSync(memory.subarray(filled));
      if (read === null) break;
      filled += read;
    }
    return filled;
  }

  async #fillLater(
    memory: Uint8Array,
    offset: number,
    signal: AbortSignal | undefined,
  ): Promise<number> {
    this.#file.seekSync(offset, SEEK.start);
    let filled = 0;
    while (filled < memory.length) {
      signal?.throwIfAborted();
      const piece = memory.subarray(filled, filled + WINDOW);
      const read = await this.#file.read(piece);
      if (read === null) break;
      filled += read;
    }
    return filled;
  }

  async append(bytes: Uint8Array): Promise<void> {
    try {
      while (bytes.length > 0) {
        const written = bytes.length <= SHORT
          ? this.#file.writeSync(bytes)
          : await this.#file.write(bytes);
        bytes = bytes.subarray(written);
      }
    } catch (error) {
      throw withPath(error, this.#path);
    }
  }

  truncate(length: number): void {
    this.#file.truncateSync(length);
    this.#file.seekSync(length, SEEK.start);
  }

  async replace(bytes: Uint8Array): Promise<void> {
    // After cutting a file to no bytes, ext4 waits for the disk when the file is closed.
    if (this.#file.seekSync(0, SEEK.end) > 0) this.#file.truncateSync(0);
    this.#file.seekSync(0, SEEK.start);
    await this.append(bytes);
  }

  async sync(): Promise<void> {
    await this.#file.sync();
  }

  retain(): void {
    this.#users++;
  }

  close(): void {
    if (--this.#users !== 0) return;
    this.#unlock?.();
    this.#file.close();
  }
}

/** The greatest number of files that are open at the same time, unless operations wait for each other. */
const MOST_OPEN = 128;
/** How long operations wait without any progress, in milliseconds. */
const LONGEST_WAIT = 500;
/**
 * The number of operations after which the event loop gets a turn, so that signals, timers
 * and connections are heard. Most operations on files end in the turn in which they begin.
 */
const MOST_IN_TURN = 64;

/** An operation that waits until it may open files. */
interface Waiting {
  readonly count: number;
  start(release: () => void): void;
}

/**
 * Lets operations wait until fewer files are open, since a process may open some
 * hundred files at the same time. If no operation has ended for a while, the running ones
 * may be waiting for one that has not started, so that the next one starts in any case.
 */
export class OpenFiles {
  readonly #most: number;
  readonly #waiting: Waiting[] = [];
  #open = 0;
  #inTurn = 0;
  /** The next turn of the event loop, if operations wait for it. */
  #turn: Promise<void> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(most: number = MOST_OPEN) {
    this.#most = most;
  }

  /** Waits until some files may be opened. Returns a function to be called once they are closed. */
  take(count: number): (() => void) | Promise<() => void> {
    if (++this.#inTurn > MOST_IN_TURN) {
      // All operations wait, since the others would go on in this turn.
      this.#turn ??= nextTurn().then(() => {
        this.#inTurn = 0;
        this.#turn = undefined;
      });
      return this.#turn.then(() => this.take(count));
    }
    if (this.#waiting.length === 0 && this.#hasRoom(count)) {
      return this.#start(count);
    }
    return new Promise((start) => {
      this.#waiting.push({ count, start });
      if (this.#timer === undefined) this.#watch();
    });
  }

  #hasRoom(count: number): boolean {
    return this.#open === 0 || this.#open + count <= this.#most;
  }

  #start(count: number): () => void {
    this.#open += count;
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      this.#open -= count;
      while (this.#waiting[0] && this.#hasRoom(this.#waiting[0].count)) {
        this.#startNext();
      }
      this.#watch();
    };
  }

  #startNext(): void {
    const { count, start } = this.#waiting.shift()!;
    start(this.#start(count));
  }

  /** Starts the next operation after a time without progress. */
  #watch(): void {
    // Deno loads a module of Node for `clearTimeout`.
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#waiting.length === 0) return;
    this.#timer = setTimeout(() => {
      this.#startNext();
      this.#watch();
    }, LONGEST_WAIT);
  }
}

/** The files that all file stores of this program have open for reading and writing values, except for streams. */
export const openFiles: OpenFiles = /* @__PURE__ */ new OpenFiles();
