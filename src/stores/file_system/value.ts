import { takeShortcut } from "../shortcut.ts";
import type { StoreKey, StoreOptions } from "../store.ts";
import { DENO_FILES, type DenoFile } from "./deno_files.ts";
import { splitPath } from "./path.ts";
import type { FileSystemRoot } from "./root.ts";
import {
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
  readonly #root: FileSystemRoot;
  readonly #key: StoreKey;
  readonly #folder: string;
  readonly #temporary: Temporary<DenoFile>;

  private constructor(
    root: FileSystemRoot,
    key: StoreKey,
    folder: string,
    temporary: Temporary<DenoFile>,
  ) {
    this.#root = root;
    this.#key = key;
    this.#folder = folder;
    this.#temporary = temporary;
  }

  /** Starts a value. Refuses an invalid key, and creates no folder but the root. */
  static async open(
    root: FileSystemRoot,
    key: StoreKey,
    options: StoreOptions,
  ): Promise<PendingValue> {
    await root.find(key, options);
    const { folder, path } = await root.nearestFolder(splitPath(key).folder);
    try {
      const temporary = await createTemporary(DENO_FILES, path);
      return new PendingValue(root, key, folder, temporary);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotADirectory)) throw error;
      throw new Error(
        `Key ${
          JSON.stringify(key)
        } lies in a folder where a file stands, the value of another key: ${path}`,
        { cause: error },
      );
    }
  }

  /** The file, for writing. */
  get file(): Deno.FsFile {
    return this.#temporary.file.file;
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
      if (drain !== undefined) return await drain(this.file, options);
      const file = new WritableStream<Uint8Array>({
        write: (bytes) => this.#temporary.file.append(bytes),
      });
      return await value.pipeTo(file, signal === undefined ? {} : { signal });
    }
    for (let offset = 0; offset < value.length; offset += WINDOW) {
      signal?.throwIfAborted();
      await this.#temporary.file.append(
        value.subarray(offset, offset + WINDOW),
      );
    }
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
    const path = await this.#root.ensureFolder(folder);
    await DENO_FILES.rename(this.#temporary.path, `${path}/${name}`);
    if (isSynced) await DENO_FILES.syncFolder(path);
    this.close();
  }

  /** Closes the file, and leaves it as it is. */
  close(): void {
    this.#temporary.file.close();
  }

  /** Closes and removes the temporary file. */
  async discard(): Promise<void> {
    await discardTemporary(DENO_FILES, this.#temporary);
  }
}
