/** Locks of files, and values in one file under their locks. */
import { PendingWriteError } from "../../errors/mod.ts";
import { KeyLocks } from "../locks.ts";
import type { StoreKey } from "../store.ts";
import { splitPath, valueLockName } from "../store_key.ts";
import { isSameState, type OpenFile, type System, WINDOW } from "./system.ts";

/** The locks of journals in this process, so that only one of its writers at a time tries to lock the file. */
export const turns = /* @__PURE__ */ new KeyLocks();

/** How a value is stored. */
interface LockedPlace {
  readonly system: System;
  /** Whether each step waits until it is on the disk, against loss of power. */
  readonly isSynced: boolean;
}

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
  readonly #key: StoreKey;
  readonly #path: string;
  readonly #place: LockedPlace;
  readonly #file: OpenFile;
  readonly #filePath: string;
  /** Whether the locked file has become the value. */
  #isTaken = false;

  private constructor(
    key: StoreKey,
    path: string,
    place: LockedPlace,
    file: OpenFile,
    filePath: string,
  ) {
    this.#key = key;
    this.#path = path;
    this.#place = place;
    this.#file = file;
    this.#filePath = filePath;
  }

  /**
   * Runs a task under the lock of this process and that of the disk.
   *
   * @param folder The path of the folder of the value, which exists.
   */
  static async lock(
    place: LockedPlace,
    key: StoreKey,
    folder: string,
    task: (value: LockedValue) => Promise<void>,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { name } = splitPath(key);
    const path = `${folder}/${await valueLockName(name)}`;
    const { system } = place;
    await turns.write(path, async () => {
      signal?.throwIfAborted();
      const file = await lockFile(system, path, signal);
      const value = new LockedValue(
        key,
        `${folder}/${name}`,
        place,
        file,
        path,
      );
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

  /** Replaces the value by bytes. */
  async write(
    bytes: Uint8Array,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const file = this.#file;
    // A writer that was killed may have left bytes.
    if (file.size() > 0) await file.replace(new Uint8Array());
    await appendAll(file, bytes, signal);
    signal?.throwIfAborted();
    if (this.#place.isSynced) await file.sync();
    await this.#place.system.rename(this.#filePath, this.#path);
    this.#isTaken = true;
    await syncPlaced(this.#place, this.#key, this.#path);
  }

  /** Replaces the value by another temporary file. */
  async place(temporary: string): Promise<void> {
    await placeFile(this.#place, this.#key, temporary, this.#path);
  }
}

/** Gives a complete temporary file the name of a value. */
export async function placeFile(
  place: LockedPlace,
  key: StoreKey,
  from: string,
  to: string,
): Promise<void> {
  await place.system.rename(from, to);
  await syncPlaced(place, key, to);
}

async function syncPlaced(
  { system, isSynced }: LockedPlace,
  key: StoreKey,
  path: string,
): Promise<void> {
  try {
    if (isSynced) await system.syncFolder(splitPath(path).folder);
  } catch (cause) {
    throw new PendingWriteError(key, { cause }); // The value is in its place.
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
