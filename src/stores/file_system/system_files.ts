import { assertSizeLimit } from "../../errors/mod.ts";
import { abortable, offerShortcut } from "../byte_streams.ts";
import {
  type ByteRange,
  type GetOptions,
  type OwnedReadOptions,
  resolveByteRange,
  type StoreKey,
  writeAll,
} from "../store.ts";
import {
  type Files,
  type FileState,
  fileSystem,
  hasCode,
  ifPresent,
  ifPresentSync,
  isOld,
  isSameState,
  type OpenFile,
  stateOf,
  withPath,
} from "./files.ts";
import {
  isShortRead,
  nextPiece,
  QuickSteps,
  readSome,
  readTimed,
} from "./quick_reads.ts";
import { type OpenOptions, SEEK, type SystemFile } from "./system.ts";

/**
 * The files of the operating system. Operations that read no disk run at once, since
 * handing them to another thread takes longer than they do.
 */
export const SYSTEM_FILES: Files = {
  ...openers((file) => file.tryLockSync(true)),

  async copy(from, to, like) {
    const { mode } = fileSystem().lstatSync(like);
    await fileSystem().copyFile(from, to);
    if (mode !== null) fileSystem().chmodSync(to, mode);
  },

  stat(path) {
    const info = ifPresentSync(() => fileSystem().statSync(path));
    return info && stateOf(info);
  },

  readNow(path, state, offset, memory) {
    // Without inode numbers, another file may have the same state.
    if (state.ino === null || isStatRefused || !isShortRead(memory)) {
      return false;
    }
    try {
      // The states are compared before the file is opened, since opening a pipe waits for its
      // writer; and by `lstat`, since `stat` follows a link that has replaced the file.
      if (!isSameState(state, stateOf(fileSystem().lstatSync(path)))) {
        return false;
      }
      const file = fileSystem().openSync(path);
      try {
        return isSameState(state, stateOfOpen(file)) &&
          readNow(file, offset, memory);
      } finally {
        file.close();
      }
    } catch {
      return false; // Reading on another thread throws the error again.
    }
  },

  touch(path) {
    const now = new Date();
    fileSystem().utimeSync(path, now, now);
  },

  async rename(from, to) {
    if (isLong(to)) await fileSystem().rename(from, to);
    else fileSystem().renameSync(from, to);
  },

  async remove(path) {
    if (isLong(path)) await ifPresent(() => fileSystem().remove(path));
    else ifPresentSync(() => fileSystem().removeSync(path));
  },

  async syncFolder(path) {
    if (fileSystem().build.os === "windows") return; // Folders cannot be opened there.
    const folder = await fileSystem().open(path);
    try {
      await folder.sync();
    } finally {
      folder.close();
    }
  },

  now: () => Date.now(),

  async wait(milliseconds, signal) {
    signal?.throwIfAborted();
    let stop!: () => void;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      stop = () => {
        clearTimeout(timer);
        resolve();
      };
      signal?.addEventListener("abort", stop);
    });
    signal?.removeEventListener("abort", stop);
    signal?.throwIfAborted();
  },
};

/** The same files for the only program that writes to them, whose locks other programs do not see. */
export const EXCLUSIVE_FILES: Files = /* @__PURE__ */ (() => {
  const locked = new Set<string>();
  return {
    ...SYSTEM_FILES,
    ...openers((file) => {
      const { dev, ino } = file.statSync();
      const name = `${dev} ${ino}`;
      if (locked.has(name)) return false;
      locked.add(name);
      return () => locked.delete(name);
    }),
  };
})();

/** Locks an open file. Returns whether that was possible, or a function that unlocks the file when it is closed. */
type Lock = (file: SystemFile) => boolean | (() => void);

function openers(lock: Lock): Pick<Files, "open" | "create" | "openOrCreate"> {
  const open = (path: string, options: OpenOptions) =>
    new SystemOpenFile(path, options, lock);
  return {
    open: (path) => ifPresentSync(() => open(path, { read: true })),
    create: (path) => open(path, { createNew: true, read: true, write: true }),
    openOrCreate: (path) =>
      open(path, { create: true, read: true, write: true }),
  };
}

/**
 * The longest file that is written, replaced or removed without another thread, in
 * bytes. Freeing the blocks of a long file takes time.
 */
const SHORT = 64 * 1024;
/** The longest value that is written without another thread as long as that takes no time, in bytes. */
const LONGEST_QUICK_WRITE = 512 * 1024;

/** Writes of values that are not short. */
const writes = /* @__PURE__ */ new QuickSteps();

/** Whether Deno has refused the state of an open file, as it does below a root that is a link. */
let isStatRefused = false;

/** An open file of the operating system. */
class SystemOpenFile implements OpenFile {
  readonly #file: SystemFile;
  readonly #path: string;
  /** The state that the path had before the file was opened, if it is needed. */
  readonly #earlier: FileState | undefined;
  readonly #lock: Lock;
  #unlock: (() => void) | undefined;
  #isOpen = true;

  constructor(path: string, options: OpenOptions, lock: Lock) {
    this.#path = path;
    this.#lock = lock;
    this.#earlier = isStatRefused ? oldState(path) : undefined;
    this.#file = fileSystem().openSync(path, options);
  }

  stat(): FileState | undefined {
    const told = stateOfOpen(this.#file);
    if (told !== undefined) return told;
    isStatRefused = true;
    const state = SYSTEM_FILES.stat(this.#path) as FileState | undefined;
    return isSameState(this.#earlier, state) ? state : undefined;
  }

  tryLock(): boolean {
    const locked = this.#lock(this.#file);
    if (typeof locked === "function") this.#unlock = locked;
    return locked !== false;
  }

  size(): number {
    // By seeking, which reads nothing, since `stat` may be refused.
    return this.#file.seekSync(0, SEEK.end);
  }

  async read(
    key: StoreKey,
    range: ByteRange,
    options: GetOptions,
  ): Promise<Uint8Array> {
    return await readOpenFile(this.#file, key, range, options);
  }

  stream(signal: AbortSignal | undefined): ReadableStream<Uint8Array> {
    this.#file.seekSync(0, SEEK.start);
    const { readable } = this.#file;
    return signal === undefined
      ? offerShortcut(readable, { reader: this.#file })
      : abortable(readable, signal);
  }

  async append(bytes: Uint8Array): Promise<void> {
    try {
      if (bytes.length > LONGEST_QUICK_WRITE) {
        return await writeAll(this.#file, bytes);
      }
      while (bytes.length > 0) {
        const written = bytes.length > SHORT
          ? writes.run(
            () => this.#file.writeSync(bytes),
            () => this.#file.write(bytes),
          )
          : this.#file.writeSync(bytes);
        bytes = bytes.subarray(
          written instanceof Promise ? await written : written,
        );
      }
    } catch (error) {
      throw withPath(error, this.#path);
    }
  }

  async truncate(length: number): Promise<void> {
    await this.#file.truncate(length);
    this.#file.seekSync(0, SEEK.end);
  }

  contents(): Uint8Array {
    const bytes = new Uint8Array(this.size());
    this.#file.seekSync(0, SEEK.start);
    let filled = 0;
    while (filled < bytes.length) {
      const read = this.#file.readSync(bytes.subarray(filled));
      if (read === null) break;
      filled += read;
    }
    return bytes.subarray(0, filled);
  }

  async replace(bytes: Uint8Array): Promise<void> {
    // After cutting a file to no bytes, ext4 waits for the disk when the file is closed.
    if (this.size() > 0) this.#file.truncateSync(0);
    this.#file.seekSync(0, SEEK.start);
    await this.append(bytes);
  }

  async sync(): Promise<void> {
    await this.#file.sync();
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#unlock?.();
    this.#file.close();
  }
}

/** The state of a file, unless the file is so young that a later one may have the same state. */
function oldState(path: string): FileState | undefined {
  const now = Date.now();
  const state = SYSTEM_FILES.stat(path) as FileState | undefined;
  return state && isOld(state, now) ? state : undefined;
}

/** Whether a file is so long that removing or replacing it takes time. */
function isLong(path: string): boolean {
  const info = ifPresentSync(() => fileSystem().lstatSync(path));
  return info !== undefined && info.size > SHORT;
}

/** The state of an open file; `undefined` without permission for its real path. */
export function stateOfOpen(file: SystemFile): FileState | undefined {
  try {
    return stateOf(file.statSync());
  } catch (error) {
    if (hasCode(error, "", "NotCapable")) return undefined;
    throw error;
  }
}

/** Reads a range of a file that is open. */
export async function readOpenFile(
  file: SystemFile,
  key: StoreKey,
  range: ByteRange,
  options: GetOptions & OwnedReadOptions,
): Promise<Uint8Array> {
  // By seeking, since `stat` needs permission for the real path below a linked root.
  // Synchronous, since seeking reads nothing.
  const size = file.seekSync(0, SEEK.end);
  assertSizeLimit(key, options.limit, size);
  const { start, end } = resolveByteRange(range, size);
  file.seekSync(start, SEEK.start);
  const bytes = options.allocate?.(end - start) ?? new Uint8Array(end - start);
  let filled = 0;
  while (filled < bytes.length) {
    options.signal?.throwIfAborted();
    const read = await readSome(file, nextPiece(bytes, filled));
    if (read === null) {
      throw new Error(
        `Key ${
          JSON.stringify(key)
        } names a file that was cut short while it was read, to ${
          start + filled
        } bytes: expected ${size}`,
      );
    }
    filled += read;
  }
  options.signal?.throwIfAborted();
  return bytes;
}

/** Fills memory with bytes of an open file at once. Returns `false` if the file ends before. */
function readNow(
  file: SystemFile,
  offset: number,
  memory: Uint8Array,
): boolean {
  file.seekSync(offset, SEEK.start);
  for (let filled = 0; filled < memory.length;) {
    const read = readTimed(file, memory.subarray(filled));
    if (read === null) return false;
    filled += read;
  }
  return true;
}
