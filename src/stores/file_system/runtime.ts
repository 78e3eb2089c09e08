/**
 * The operations on files that the store uses, as the namespace `Deno` has them. In Node,
 * `node_runtime.ts` does the same by `node:fs`.
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
