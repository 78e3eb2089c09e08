import { PendingWriteError } from "../../errors/mod.ts";
import { takeShortcut } from "../byte_streams.ts";
import type { ByteWriter, StoreKey, StoreOptions } from "../store.ts";
import { splitPath, temporaryPath } from "../store_key.ts";
import { type Files, type Folders, isAbsence, type OpenFile } from "./files.ts";

/** The number of bytes that are written between two checks of the signal. */
const WINDOW = 16 * 1024 * 1024;

/**
 * A value that is being written: a temporary file in the folder of the value, or
 * in the nearest existing folder above it, until it is complete.
 */
export class PendingValue {
  readonly #files: Files;
  readonly #root: Folders;
  readonly #key: StoreKey;
  readonly #folder: string;
  #temporary: Temporary;

  private constructor(
    files: Files,
    root: Folders,
    key: StoreKey,
    folder: string,
    temporary: Temporary,
  ) {
    this.#files = files;
    this.#root = root;
    this.#key = key;
    this.#folder = folder;
    this.#temporary = temporary;
  }

  /** Starts a value, whose key was checked by `find`. Creates no folder but the root. */
  static async open(
    files: Files,
    root: Folders,
    key: StoreKey,
  ): Promise<PendingValue> {
    const { folder, path } = await root.nearestFolder(
      splitPath(key).folder,
      key,
    );
    const temporary = await createTemporary(files, path);
    return new PendingValue(files, root, key, folder, temporary);
  }

  /** The temporary file as a key. */
  get temporaryKey(): string {
    return `${this.#folder}/${splitPath(this.#temporary.path).name}`;
  }

  /** Writes the whole value, by the shortcut of a stream if it has one. */
  async write(
    value: Uint8Array | ReadableStream<Uint8Array>,
    options: StoreOptions,
  ): Promise<void> {
    const { signal } = options;
    if (!(value instanceof Uint8Array)) {
      const drain = takeShortcut(value, "drain");
      if (drain !== undefined) {
        const write = async (bytes: Uint8Array) => {
          await this.append(bytes);
          return bytes.length;
        };
        return await drain({ write, close() {} }, options);
      }
      const file = new WritableStream<Uint8Array>({
        write: (bytes) => this.append(bytes),
      });
      return await value.pipeTo(file, signal === undefined ? {} : { signal });
    }
    for (let offset = 0; offset < value.length; offset += WINDOW) {
      signal?.throwIfAborted();
      await this.append(value.subarray(offset, offset + WINDOW));
    }
  }

  /** Writes bytes at the end. */
  async append(bytes: Uint8Array): Promise<void> {
    await this.#temporary.file.append(bytes);
  }

  /**
   * Copies the first bytes of a file, if nothing was written before.
   *
   * @returns Whether that is possible, and the file has the expected size.
   */
  async copy(path: string, size: number, length: number): Promise<boolean> {
    const copy = await copyTemporary(this.#files, this.#temporary, path);
    if (copy === undefined) return false;
    this.#temporary = copy;
    if (await copy.file.size() !== size) return false;
    if (length < size) await copy.file.truncate!(length);
    return true;
  }

  /** Waits until the bytes are on the disk. */
  async sync(): Promise<void> {
    await this.#temporary.file.sync();
  }

  /** Gives the file the name of the value, in place of an earlier file. */
  async store(options: StoreOptions, isSynced: boolean): Promise<void> {
    options.signal?.throwIfAborted();
    const { folder, name } = splitPath(this.#key);
    if (isSynced) await this.sync();
    const path = await this.#root.ensureFolder(folder, this.#key);
    await this.#files.rename(this.#temporary.path, `${path}/${name}`);
    this.close();
    try {
      if (isSynced) await this.#files.syncFolder(path);
    } catch (cause) {
      throw new PendingWriteError(this.#key, { cause }); // The value is in its place.
    }
  }

  /** Closes the file, and leaves it as it is. */
  close(): void {
    this.#temporary.file.close();
  }

  /** Closes and removes the temporary file. */
  async discard(): Promise<void> {
    await discardTemporary(this.#files, this.#temporary);
  }
}

/** Writes a value piece by piece. */
export class FileValueWriter implements ByteWriter {
  readonly #value: PendingValue;
  readonly #options: StoreOptions;
  readonly #store: () => Promise<void>;
  #isOpen = true;

  /** @param store Stores the value, once it is written. */
  constructor(
    value: PendingValue,
    options: StoreOptions,
    store: () => Promise<void>,
  ) {
    this.#value = value;
    this.#options = options;
    this.#store = store;
  }

  async write(bytes: Uint8Array): Promise<number> {
    this.#options.signal?.throwIfAborted();
    await this.#value.append(bytes);
    return bytes.length;
  }

  /** Copies the first bytes of a file, if nothing was written before. Returns whether the file had the expected size. */
  async copy(path: string, size: number, length: number): Promise<boolean> {
    this.#options.signal?.throwIfAborted();
    return await this.#value.copy(path, size, length);
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    try {
      await this.#store();
    } catch (error) {
      await this.#value.discard();
      throw error;
    }
  }

  async abort(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.#value.discard();
  }
}

/** A new file under a temporary name, which is locked as long as it is open. */
interface Temporary {
  readonly path: string;
  readonly file: OpenFile;
}

/**
 * Creates a temporary file. The lock tells `recover` that the writer of the file is
 * alive. If `recover` locks the file first, it removes the file, and another one is
 * created.
 */
export async function createTemporary(
  files: Files,
  folder: string,
): Promise<Temporary> {
  while (true) {
    const path = temporaryPath(folder);
    const temporary = await lock(files, path, await files.create(path));
    if (temporary !== undefined) return temporary;
  }
}

/** Locks a new file; `undefined` if `recover` has locked it before. */
async function lock(
  files: Files,
  path: string,
  file: OpenFile,
): Promise<Temporary | undefined> {
  try {
    // The name is new, so that no other file can have it.
    if (await file.tryLock() && await files.stat(path) !== undefined) {
      return { path, file };
    }
  } catch (error) {
    await file.close();
    await files.remove(path);
    throw error;
  }
  await file.close();
  await files.remove(path); // A dry run of `recover` removes no files.
}

/**
 * Replaces a temporary file by a copy of another file. The copy is a new file, since ext4
 * starts to write a file to the disk at once if it was emptied before.
 *
 * @returns The copy; `undefined` if files cannot be copied, if the other file is absent, or
 * if `recover` has removed the copy, which is not locked before it is complete. The
 * temporary file is still there then.
 */
async function copyTemporary(
  files: Files,
  temporary: Temporary,
  from: string,
): Promise<Temporary | undefined> {
  if (files.copy === undefined) return undefined;
  const path = temporaryPath(splitPath(temporary.path).folder);
  try {
    await files.copy(from, path, temporary.path);
    const copy = await lock(files, path, await files.openOrCreate(path));
    if (copy !== undefined) await discardTemporary(files, temporary);
    return copy;
  } catch (error) {
    await files.remove(path);
    if (isAbsence(error)) return undefined;
    throw error;
  }
}

/** Closes and removes a temporary file. No error if it was renamed or removed. */
export async function discardTemporary(
  files: Files,
  { path, file }: Temporary,
): Promise<void> {
  try {
    await files.remove(path);
  } catch {
    // `recover` removes the file once it is closed.
  }
  await file.close();
}
