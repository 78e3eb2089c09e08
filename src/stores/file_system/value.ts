import { splitPath, temporaryPath } from "./path.ts";
import type { FileSystemRoot } from "./root.ts";
import { takeShortcut } from "../shortcut.ts";
import type { StoreKey, StoreOptions } from "../store.ts";

/**
 * A value that is being written: a temporary file in the folder of the value, or
 * in the nearest existing folder above it, until it is complete.
 */
export class PendingValue {
  /** The path of the temporary file. */
  readonly path: string;
  readonly #root: FileSystemRoot;
  readonly #key: StoreKey;

  private constructor(root: FileSystemRoot, key: StoreKey, folder: string) {
    this.#root = root;
    this.#key = key;
    this.path = temporaryPath(folder);
  }

  /** Starts a value. Refuses an invalid key, and creates no folder but the root. */
  static async of(
    root: FileSystemRoot,
    key: StoreKey,
    options: StoreOptions,
  ): Promise<PendingValue> {
    await root.find(key, options);
    const folder = await root.nearestFolder(splitPath(key).folder);
    return new PendingValue(root, key, folder);
  }

  /** Writes the whole value, by the shortcut of a stream if it has one. */
  async write(
    value: Uint8Array | ReadableStream<Uint8Array>,
    options: StoreOptions,
  ): Promise<void> {
    const { signal } = options;
    const abort = signal === undefined ? {} : { signal };
    if (value instanceof Uint8Array) {
      await this.#inFolder(() =>
        Deno.writeFile(this.path, value, { createNew: true, ...abort })
      );
      return;
    }
    const file = await this.open();
    try {
      const drain = takeShortcut(value, "drain");
      await (drain?.(file, options) ?? value.pipeTo(file.writable, abort));
    } finally {
      close(file);
    }
  }

  /** Opens the file for writing. */
  async open(): Promise<Deno.FsFile> {
    return await this.#inFolder(() =>
      Deno.open(this.path, { createNew: true, write: true })
    );
  }

  /** Creates the file, and explains the error where another file stands in the place of its folder. */
  async #inFolder<T>(create: () => Promise<T>): Promise<T> {
    try {
      return await create();
    } catch (error) {
      if (!(error instanceof Deno.errors.NotADirectory)) throw error;
      const { folder } = splitPath(this.path);
      throw new Error(
        `Key ${
          JSON.stringify(this.#key)
        } lies in a folder where a file stands, the value of another key: ${folder}`,
        { cause: error },
      );
    }
  }

  /** Renames the file to the name of the value, in place of an earlier one. */
  async store(options: StoreOptions): Promise<void> {
    options.signal?.throwIfAborted();
    const { folder, name } = splitPath(this.#key);
    const path = await this.#root.ensureFolder(folder);
    await Deno.rename(this.path, `${path}/${name}`);
    // A rename onto a hard link of the same file does nothing.
    await this.discard();
  }

  /** Removes the temporary file, if there still is one. */
  async discard(): Promise<void> {
    await Deno.remove(this.path).catch(() => {});
  }
}

/** Writes a temporary file by `write` and gives it the name of the value. */
export async function replaceValue(
  root: FileSystemRoot,
  key: StoreKey,
  options: StoreOptions,
  write: (value: PendingValue) => Promise<void>,
): Promise<void> {
  const value = await PendingValue.of(root, key, options);
  try {
    await write(value);
    await value.store(options);
  } catch (error) {
    await value.discard();
    throw error;
  }
}

/** Closes a file that its stream may have closed. Not by `using`, which Node 20 cannot parse. */
function close(file: Deno.FsFile): void {
  try {
    file.close();
  } catch (error) {
    if (!(error instanceof Deno.errors.BadResource)) throw error;
  }
}
