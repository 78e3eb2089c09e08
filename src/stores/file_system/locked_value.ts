/** Locks of files, and values in one file under their locks. */
import { PendingWriteError } from "../../errors/mod.ts";
import type { ChangeOptions } from "../backend.ts";
import { KeyLocks } from "../locks.ts";
import type { StoreKey } from "../store.ts";
import { splitPath, valueLockName } from "../store_key.ts";
import type { FileContext } from "./read_files.ts";
import { isSameState, type OpenFile, type System, WINDOW } from "./system.ts";

/** The locks of journals in this process, so that only one of its writers at a time tries to lock the file. */
export const turns = /* @__PURE__ */ new KeyLocks();

/** How long a writer waits for a lock that another program holds, in milliseconds. */
const LONGEST_WAIT = 120_000;

/** Opens and locks a file that different writers use; `undefined` if another one has the lock. */
export async function tryLockFile(
  system: System,
  path: string,
): Promise<OpenFile | undefined> {
  while (true) {
    const file = await system.openOrCreate(path);
    let isLocked = false;
    try {
      if (!await file.tryLock()) return undefined;
      // The program that had the lock before has removed or renamed the file, if the path
      // leads to another one or nowhere.
      isLocked = isSameState(file.stat(), await system.stat(path));
      if (isLocked) return file;
    } finally {
      if (!isLocked) file.close();
    }
  }
}

/** Locks a file, and waits as long as another writer has the lock. */
export async function lockFile(
  system: System,
  path: string,
  signal: AbortSignal | undefined,
): Promise<OpenFile> {
  const deadline = system.now() + LONGEST_WAIT;
  for (let pause = 0.1;; pause = Math.min(50, 2 * pause)) {
    const file = await tryLockFile(system, path);
    if (file !== undefined) return file;
    if (system.now() > deadline) {
      throw new Error(
        `Another program has been changing the chunk for ${
          LONGEST_WAIT / 1000
        } seconds, expected its lock to be free by then: ${path}`,
      );
    }
    await system.wait(pause, signal);
  }
}

/**
 * A value in one file, under its lock: a temporary file that all of its writers use, and that
 * becomes the value by being renamed. No journal is needed, since a rename is the whole change.
 */
export class LockedValue {
  readonly #context: FileContext;
  readonly #key: StoreKey;
  readonly #folder: string;
  /** The file that is locked, and its path. */
  readonly #lock:
    | { readonly file: OpenFile; readonly path: string }
    | undefined;
  /** Whether the locked file has become the value. */
  #isTaken = false;

  private constructor(
    context: FileContext,
    key: StoreKey,
    folder: string,
    lock?: { readonly file: OpenFile; readonly path: string },
  ) {
    this.#context = context;
    this.#key = key;
    this.#folder = folder;
    this.#lock = lock;
  }

  /**
   * Runs a task under the lock of this process and that of the disk.
   *
   * @param folder The path of the folder of the value, which exists.
   * @param options `exclusive`: whether no lock is needed.
   */
  static async lock(
    context: FileContext,
    key: StoreKey,
    folder: string,
    task: (value: LockedValue) => Promise<void>,
    { signal, exclusive }: ChangeOptions,
  ): Promise<void> {
    if (exclusive) return await task(new LockedValue(context, key, folder));
    const { system } = context;
    const path = `${folder}/${await valueLockName(splitPath(key).name)}`;
    await turns.write(path, async () => {
      signal?.throwIfAborted();
      const file = await lockFile(system, path, signal);
      const value = new LockedValue(context, key, folder, { file, path });
      try {
        await task(value);
      } finally {
        try {
          if (!value.#isTaken) await system.remove(path);
        } catch {
          // A lock that stays does no harm.
        }
        file.close(); // Last, since it ends the lock.
      }
    });
  }

  /** Replaces the value by bytes, which are written to the locked file. */
  async write(
    bytes: Uint8Array,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { file, path } = this.#lock!;
    // A writer that was killed may have left bytes.
    if (file.size() > 0) await file.replace(new Uint8Array());
    await appendAll(file, bytes, signal);
    signal?.throwIfAborted();
    if (this.#context.isSynced) await file.sync();
    await this.place(path);
  }

  /** Replaces the value by a complete temporary file. */
  async place(temporary: string): Promise<void> {
    const { system, isSynced } = this.#context;
    await system.rename(temporary, this.#path);
    this.#isTaken = temporary === this.#lock?.path;
    try {
      if (isSynced) await system.syncFolder(this.#folder);
    } catch (cause) {
      throw new PendingWriteError(this.#key, { cause }); // The value is in its place.
    }
  }

  /** Deletes the value. */
  async remove(): Promise<void> {
    const { system, isSynced } = this.#context;
    await system.remove(this.#path);
    if (isSynced) await system.syncFolder(this.#folder);
  }

  get #path(): string {
    return `${this.#folder}/${splitPath(this.#key).name}`;
  }
}

/** Writes bytes at the end of a file, and looks at the signal from time to time. */
export async function appendAll(
  file: OpenFile,
  bytes: Uint8Array,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (let offset = 0; offset < bytes.length; offset += WINDOW) {
    signal?.throwIfAborted();
    await file.append(bytes.subarray(offset, offset + WINDOW));
  }
}
