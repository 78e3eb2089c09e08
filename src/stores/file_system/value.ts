import { takeShortcut } from "../shortcut.ts";
import type { StoreKey, StoreOptions } from "../store.ts";
import type { Files } from "./files.ts";
import { splitPath } from "../key_path.ts";
import { PendingWriteError } from "../pending_write_error.ts";
import type { Folders } from "./folders.ts";
import {
  copyTemporary,
  createTemporary,
  discardTemporary,
  type Temporary,
} from "./temporary.ts";

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

  /** Gives the file the name of the value, in place of an earlier one. */
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
