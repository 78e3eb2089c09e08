import type {
  ByteRange,
  GetOptions,
  StoreKey,
  StoreOptions,
} from "../store.ts";
import { nodeSystem } from "./node_system.ts";
import type { FileInfo, FileSystem, FolderEntry } from "./system.ts";

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
  /** Returns the file's state; `undefined` if there is no permission for it. */
  stat(): FileState | undefined;
  /** Takes an exclusive lock, which ends when the file is closed. Returns `false` if another program or `OpenFile` has it. */
  tryLock(): Awaitable<boolean>;
  /** Returns the length of the file in bytes. */
  size(): Awaitable<number>;
  /** Reads a range of the file. One range is read at a time. */
  read(
    key: StoreKey,
    range: ByteRange,
    options: GetOptions,
  ): Awaitable<Uint8Array>;
  /** Gives the bytes of the file as a stream, which closes the file. */
  stream(signal: AbortSignal | undefined): ReadableStream<Uint8Array>;
  /** Writes bytes at the end. */
  append(bytes: Uint8Array): Awaitable<void>;
  /** Cuts the file to a length, and writes at its end from then on. */
  truncate?(length: number): Awaitable<void>;
  /** Reads the whole file, which is short. */
  contents(): Awaitable<Uint8Array>;
  /** Replaces the contents of the file by a single write. */
  replace(bytes: Uint8Array): Awaitable<void>;
  /** Waits until the contents are on the disk. */
  sync(): Awaitable<void>;
  close(): void;
}

/**
 * The operations on files that groups of values are made of, each of which happens at
 * one moment. Tests run the same steps on other files than those of Deno.
 */
export interface Files {
  /** Opens a file for reading, or returns `undefined` if there is none. */
  open(path: string): Awaitable<OpenFile | undefined>;
  /** Creates a file, and opens it for writing. Fails if there is one. */
  create(path: string): Awaitable<OpenFile>;
  /** Opens a file for reading and writing, and creates it if there is none. */
  openOrCreate(path: string): Awaitable<OpenFile>;
  /** Copies a file to a new one, with the permissions of a third one. Missing where files cannot be copied. */
  copy?(from: string, to: string, like: string): Awaitable<void>;
  /** Returns the state of the file that a path leads to, or `undefined` if there is none. */
  stat(path: string): Awaitable<FileState | undefined>;
  /**
   * Fills memory with bytes of a file at once. Returns `false` if the file has another
   * state or is absent, and if reading may take time.
   */
  readNow?(
    path: string,
    state: FileState,
    offset: number,
    memory: Uint8Array,
  ): boolean;
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

/** The state of a file, of its properties. */
export function stateOf({ dev, ino, mtime, size }: FileInfo): FileState {
  return { dev, ino, mtime: mtime?.getTime() ?? 0, size };
}

/** Whether two states are those of the same file, unchanged. */
export function isSameState(
  a: FileState | undefined,
  b: FileState | undefined,
): boolean {
  return a !== undefined && b !== undefined && a.ino === b.ino &&
    a.dev === b.dev && a.mtime === b.mtime && a.size === b.size;
}

/** The age in milliseconds from which no later file can have the state of a file: file systems have coarse clocks. */
const YOUTH = 2_000;

/** Whether a file was so old at a time that its state differs from those of all files that replace it later. */
export function isOld({ mtime }: FileState, time: number): boolean {
  return mtime + YOUTH <= time;
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

/** The result of a synchronous operation on a path, or `undefined` if nothing is there. */
export function ifPresentSync<T>(operation: () => T): T | undefined {
  try {
    return operation();
  } catch (error) {
    if (isAbsence(error)) return undefined;
    throw error;
  }
}

/** The entries of a folder; `undefined` if nothing is there. */
export async function entriesOf(
  path: string,
): Promise<FolderEntry[] | undefined> {
  return await ifPresent(async () => {
    const entries: FolderEntry[] = [];
    for await (const entry of fileSystem().readDir(path)) entries.push(entry);
    return entries;
  });
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

/** An error for a file that is missing, as the runtime gives them. */
export function notFound(message: string): Error {
  const { Deno } = globalThis as unknown as {
    Deno?: { errors: { NotFound: new (message: string) => Error } };
  };
  const error = new (Deno?.errors.NotFound ?? Error)(message);
  return Object.assign(error, { code: "ENOENT" });
}

/** Adds the path to an error of an open file, as Deno does for errors of paths. */
export function withPath(error: unknown, path: string): unknown {
  if (error instanceof Error && !error.message.includes(path)) {
    error.message += `: write '${path}'`;
  }
  return error;
}

/** Whether an error says that the disk is full, or the quota of the user. */
export function isDiskFull(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === "ENOSPC" || code === "EDQUOT";
}

/** The file that a key leads to. */
export interface FoundFile {
  /** The path of the file, without links below the root. */
  readonly path: string;
  /**
   * Whether the key still leads to a file that was opened by its path; `undefined` for
   * the state of an open file is unknown. Missing if the path has no link.
   */
  leadsTo?(file: FileState | undefined): boolean;
}

/** Where keys lead in the file system. */
export interface Folders {
  /** Finds the file of a value. Refuses an invalid key, and a key that names no regular file in a folder that may be read. */
  find(key: StoreKey, options?: StoreOptions): Promise<FoundFile | undefined>;
  /** Finds a folder to read; `undefined` if nothing is there. */
  locate(folder: string): Promise<string | undefined>;
  /** Finds a folder to change, below the root; `undefined` if nothing is there. */
  follow(folder: string): Promise<string | undefined>;
  /**
   * Finds a folder, or the nearest existing folder above it. Creates the root.
   *
   * @param key A key in the folder, for the message of an error.
   * @throws {FolderKeyError} If a file is in the place of a folder.
   */
  nearestFolder(
    folder: string,
    key?: StoreKey,
  ): Promise<{ readonly folder: string; readonly path: string }>;
  /**
   * Finds a folder, and creates it if it is missing.
   *
   * @param key A key in the folder, for the message of an error.
   * @throws {FolderKeyError} If a file is in the place of a folder.
   */
  ensureFolder(folder: string, key?: StoreKey): Promise<string>;
  /** Removes the file that a key names, or a link to it. */
  remove(key: StoreKey): Promise<void>;
}

/** The operations of this runtime; `undefined` in browsers and edge functions. */
function systemOfRuntime(): FileSystem | undefined {
  const { Deno } = globalThis as { Deno?: FileSystem & { openSync?: unknown } };
  return typeof Deno?.openSync === "function" ? Deno : nodeSystem();
}

let found: FileSystem | undefined;

/**
 * Returns the operations on files.
 *
 * @throws {Error} If the runtime has no files.
 */
export function fileSystem(): FileSystem {
  found ??= systemOfRuntime();
  if (found !== undefined) return found;
  throw new Error(
    "FileSystemStore needs Deno, or Node 20.16 or later; in browsers, use HttpStore",
  );
}
