import { assertByteRange, resolveByteRange } from "./byte_range.ts";
import {
  FileSystemRoot,
  isTemporary,
  presentOnly,
  split,
  temporaryName,
} from "./file_system_root.ts";
import type {
  ByteRange,
  Store,
  StoreKey,
  StoreOptions,
  StoreSnapshot,
} from "./store.ts";
import { keyProblem } from "./store_key.ts";
import { assertStorePrefix } from "./store_prefix.ts";
import { abortable, assertValue, discard } from "./stream.ts";

/** How many bytes are read between two looks at the signal. */
const WINDOW = 16 * 1024 * 1024;
const WHOLE: ByteRange = { offset: 0, length: Number.MAX_SAFE_INTEGER };

/**
 * A store in a folder of the file system, for Deno: the value of key `/c/0/1`
 * is the file `c/0/1` below the root. It needs `--allow-read` for the root, and
 * `--allow-write` for `set`, `delete` and `snapshot`.
 *
 * A value is written to a temporary file beside it, which then takes its name:
 * readers see the earlier value or the new one, never a part, and a failed
 * write leaves the earlier one. Temporary names start with `.zarr-parts-tmp-`;
 * such files are not listed, and a key with such a name is refused. One that
 * stays behind because the process was killed may be removed.
 *
 * Symbolic links below the root are followed as long as they lead to a place
 * below it; the root itself may be a link. Setting or deleting a linked value
 * replaces or removes the link, not the file it leads to. This guards against
 * links that lie in the folder, not against a process that changes them
 * between the check and the use.
 *
 * Every method throws a `RangeError` for a key that is not `/` and names joined
 * by `/`, an `Error` for one that names a folder or leads out of the root, the
 * signal's reason once the operation is aborted, and Deno's own errors for what
 * the file system refuses. No file, or a file in a folder's place, is an absent
 * value and no error.
 *
 * @example
 * ```ts
 * import { FileSystemStore } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const root = await Deno.makeTempDir();
 * const store = new FileSystemStore(root);
 * await store.set("/c/0/1", new Uint8Array([1, 2, 3]));
 *
 * assertEquals(await Deno.readFile(`${root}/c/0/1`), new Uint8Array([1, 2, 3]));
 * assertEquals(await store.getRange("/c/0/1", { offset: 1, length: 9 }), new Uint8Array([2, 3]));
 * assertEquals(await Array.fromAsync(store.list("/c/0")), ["/c/0/1"]);
 * await Deno.remove(root, { recursive: true });
 * ```
 */
export class FileSystemStore implements Store {
  readonly #root: FileSystemRoot;

  /**
   * Does not look at the folder yet.
   *
   * @param root The folder's path or `file:` URL. It need not exist: it is then
   * empty, and created by the first `set`. A relative path is relative to the
   * working directory at the time of each call.
   * @throws {RangeError} If the path is empty.
   * @throws {TypeError} If the URL is not a `file:` URL of this machine.
   *
   * @example
   * ```ts
   * import { FileSystemStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const store = new FileSystemStore(new URL("file:///no/such/folder"));
   * assertEquals(await store.get("/zarr.json"), undefined);
   * ```
   */
  constructor(root: string | URL) {
    this.#root = new FileSystemRoot(root);
  }

  /** The whole value, or `undefined` if the key has none. */
  async get(
    key: StoreKey,
    options?: StoreOptions,
  ): Promise<Uint8Array | undefined> {
    return await this.getRange(key, WHOLE, options);
  }

  /**
   * A range of the value, or `undefined` if the key has none. Only the range is
   * read from the file.
   */
  async getRange(
    key: StoreKey,
    range: ByteRange,
    options: StoreOptions = {},
  ): Promise<Uint8Array | undefined> {
    assertByteRange(range);
    const file = await this.#open(key, options);
    if (file === undefined) return undefined;
    try {
      // Not `stat`: below a linked root it needs permission for the real path.
      const size = await file.seek(0, Deno.SeekMode.End);
      const { start, end } = resolveByteRange(range, size);
      await file.seek(start, Deno.SeekMode.Start);
      const bytes = new Uint8Array(end - start);
      let filled = 0;
      while (filled < bytes.length) {
        options.signal?.throwIfAborted();
        const read = await file.read(bytes.subarray(filled, filled + WINDOW));
        if (read === null) break; // The file was cut short meanwhile.
        filled += read;
      }
      options.signal?.throwIfAborted();
      return bytes.subarray(0, filled);
    } finally {
      file.close();
    }
  }

  /**
   * The present value as a stream, or `undefined` if the key has none. The file
   * stays open until the stream is read to its end, cancelled or aborted.
   */
  async stream(
    key: StoreKey,
    options: StoreOptions = {},
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    const file = await this.#open(key, options);
    return file && abortable(file.readable, options.signal);
  }

  /** The value's length in bytes, or `undefined` if the key has none. */
  async size(
    key: StoreKey,
    options: StoreOptions = {},
  ): Promise<number | undefined> {
    return (await this.#find(key, options))?.size;
  }

  /**
   * Stores a value, all of it or nothing. If the operation fails, a stream is
   * cancelled. The bytes must not be changed before it has settled.
   */
  async set(
    key: StoreKey,
    value: Uint8Array | ReadableStream<Uint8Array>,
    options: StoreOptions = {},
  ): Promise<void> {
    try {
      assertValue(value);
      await this.#replace(
        key,
        options,
        (temporary) =>
          Deno.writeFile(temporary, value, {
            createNew: true,
            ...options.signal && { signal: options.signal },
          }),
      );
    } catch (error) {
      await discard(value, error);
      throw error;
    }
  }

  /** Removes the value. No error if the key has none. Empty folders stay. */
  async delete(key: StoreKey, options: StoreOptions = {}): Promise<void> {
    await this.#find(key, options);
    const { folder, name } = split(key);
    const path = await this.#root.follow(folder);
    if (path === undefined) return;
    await presentOnly(() => Deno.remove(`${path}/${name}`));
  }

  /**
   * All keys that start with `prefix`, in no certain order; a missing root has
   * none. Only the deepest folder that the prefix names is walked. A linked
   * file below the root is listed; a linked folder is not descended into, since
   * links can form circles, unless it is the prefix that names it.
   */
  async *list(
    prefix: StoreKey = "/",
    options: StoreOptions = {},
  ): AsyncIterable<StoreKey> {
    assertStorePrefix(prefix);
    options.signal?.throwIfAborted();
    const { folder } = split(prefix);
    const path = await this.#root.follow(folder);
    if (path !== undefined) yield* this.#walk(path, folder, prefix, options);
  }

  /**
   * Keeps the present value of a key under a temporary name, as a hard link
   * where the file system has them, else as a copy. Memory use does not depend
   * on the value's size. Releasing it removes the temporary file.
   */
  async snapshot(
    key: StoreKey,
    options: StoreOptions = {},
  ): Promise<StoreSnapshot> {
    const value = await this.#find(key, options);
    if (value === undefined) {
      return {
        restore: () => this.delete(key),
        release: () => Promise.resolve(),
      };
    }
    const kept = temporaryName(split(value.path).folder);
    await linkOrCopy(value.path, kept);
    return {
      restore: () =>
        this.#replace(key, {}, (temporary) => linkOrCopy(kept, temporary)),
      release: async () => {
        await presentOnly(() => Deno.remove(kept));
      },
    };
  }

  /** Writes a temporary file and gives it the value's name. */
  async #replace(
    key: StoreKey,
    options: StoreOptions,
    write: (temporary: string) => Promise<void>,
  ): Promise<void> {
    await this.#find(key, options);
    const { folder, name } = split(key);
    const path = await this.#root.ensureFolder(folder);
    const temporary = temporaryName(path);
    try {
      await write(temporary);
      options.signal?.throwIfAborted();
      await Deno.rename(temporary, `${path}/${name}`);
    } finally {
      // After success too: a rename onto a link of the same file does nothing.
      await Deno.remove(temporary).catch(() => {});
    }
  }

  /** Opens the file of a value for reading. */
  async #open(
    key: StoreKey,
    options: StoreOptions,
  ): Promise<Deno.FsFile | undefined> {
    const value = await this.#find(key, options);
    return value && await presentOnly(() => Deno.open(value.path));
  }

  async #find(
    key: StoreKey,
    options: StoreOptions,
  ): Promise<{ path: string; size: number } | undefined> {
    options.signal?.throwIfAborted();
    const value = await this.#root.find(key);
    options.signal?.throwIfAborted();
    return value;
  }

  async *#walk(
    path: string,
    folder: string,
    prefix: StoreKey,
    options: StoreOptions,
  ): AsyncIterable<StoreKey> {
    options.signal?.throwIfAborted();
    const entries = await presentOnly(() =>
      Array.fromAsync(Deno.readDir(path))
    );
    for (const { name, isDirectory, isFile } of entries ?? []) {
      const key: StoreKey = `${folder as StoreKey}/${name}`;
      if (!key.startsWith(prefix) || isTemporary(name)) continue;
      if (keyProblem(name) !== undefined) continue;
      if (isDirectory) {
        yield* this.#walk(`${path}/${name}`, key, prefix, options);
      } else if (isFile || await this.#root.find(key).catch(() => undefined)) {
        yield key;
      }
      options.signal?.throwIfAborted();
    }
  }
}

async function linkOrCopy(from: string, to: string): Promise<void> {
  try {
    await Deno.link(from, to);
  } catch {
    try {
      await Deno.copyFile(from, to);
    } catch (error) {
      await Deno.remove(to).catch(() => {});
      throw error;
    }
  }
}
