import { noteOwnedMemory } from "../capabilities.ts";
import {
  BOOLEAN,
  checkOptions,
  FUNCTION,
  type OptionRules,
} from "../../errors/mod.ts";
import {
  abortable,
  assertValue,
  discard,
  offerShortcut,
} from "../byte_streams.ts";
import { inspectAsString } from "../describe_store.ts";
import { KeyLocks } from "../locks.ts";
import type { RecoverOptions, Recovery } from "../recover.ts";
import {
  assertByteRange,
  type ByteRange,
  type ByteWriter,
  type GetOptions,
  type Store,
  type StoreGroup,
  type StoreKey,
  type StoreOptions,
  type StoreVersion,
} from "../store.ts";
import {
  assertNotTemporary,
  assertStoreKey,
  assertStorePrefix,
  splitPath,
} from "../store_key.ts";
import { EXCLUSIVE_FILES, SYSTEM_FILES } from "./system_files.ts";
import { FileGroup } from "./file_group.ts";
import { readRangeOf, streamRangeOf } from "./file_version.ts";
import { openFiles } from "./open_files.ts";
import { listFiles, openFile, readFileRange, WHOLE } from "./read_files.ts";
import { recoverFolder } from "./recover_folder.ts";
import { FileSystemRoot, rememberRoot } from "./root.ts";
import { FileValueWriter, PendingValue } from "./value.ts";
import { fileSystem, notFound } from "./files.ts";

/**
 * Options of {@linkcode FileSystemStore}.
 *
 * @example
 * ```ts
 * import { FileSystemStore, type FileSystemStoreOptions } from "@zarr-parts/zarr-parts";
 *
 * const options: FileSystemStoreOptions = {
 *   sync: true,
 *   onRecovery: (key) => console.warn(`${key} was left half written, and is whole now`),
 * };
 * new FileSystemStore("data.zarr", options);
 * ```
 */
export interface FileSystemStoreOptions {
  /**
   * Whether a write waits until its bytes and names are on the disk (`fsync`), so that
   * a loss of power leaves the earlier value or the new one. Off by default, since it
   * takes milliseconds for each write. A program that is killed does no harm either way.
   */
  sync?: boolean;
  /**
   * Called with the key of a chunk when a writer finishes the change that a killed writer
   * of that chunk had begun.
   */
  onRecovery?: (key: StoreKey) => void;
  /**
   * The folders outside of the root, as paths or `file:` URLs, that symbolic links below
   * the root may lead to, directly or by other links. Files in them are read and listed,
   * and never written. None by default.
   */
  followLinksInto?: readonly (string | URL)[];
  /**
   * Whether the caller promises that no other program, and no other store of this program
   * without this option, writes below the root. Writers then take no locks of the operating
   * system. Node takes these by the programs `flock` or `perl`, in about 2 ms for each value,
   * and without both it refuses to write unless this option is set. Off by default.
   */
  exclusive?: boolean;
}

const OPTIONS: OptionRules<FileSystemStoreOptions> = {
  sync: BOOLEAN,
  onRecovery: FUNCTION,
  exclusive: BOOLEAN,
  followLinksInto: {
    expected: "a list of folders, as paths or file: URLs",
    isValid: Array.isArray,
  },
};

/**
 * A store in a folder of the file system, for Deno and Node: the value of key `/c/0/1`
 * is the file `c/0/1` below the root. In Deno, it needs `--allow-read` for the root, and
 * `--allow-write` for `set` and `delete`.
 *
 * A value is written to a temporary file in its folder, or in the nearest existing
 * folder above it, and then renamed. Readers see the earlier value or the new one,
 * never a part of it, and a failed write keeps the earlier one. The names of
 * temporary files start with `.zarr-parts-tmp-`: such files are not listed, and keys
 * with such names are refused. `recover` removes those of killed programs.
 * The files of a chunk in parts are replaced together, also for other programs that use
 * this class.
 *
 * Symbolic links below the root are followed as long as they lead to a place
 * below it; the root itself may be a link. Setting or deleting a linked value
 * replaces or removes the link, not the file it leads to. The check takes about
 * 10 µs of each read. It keeps readers of a folder that others have filled from
 * reading other files; it does not protect against a process that replaces a file
 * by a link between the check and the use. `StoreVersion.readNow` checks instead that
 * the file is still the one of the version, which was below the root.
 *
 * With `followLinksInto`, links may also lead to files in other folders, which are
 * read and not written: a key in a linked folder cannot be set or deleted, and a
 * linked value is replaced by a file of its own. After opening a file, such a store
 * checks that the key still leads to that file. It also needs `--allow-read` for the
 * other folders.
 *
 * Paths are looked up, and short values read and written, synchronously as long as the
 * cache of the operating system answers at once; everything else runs on other threads.
 *
 * Every method throws a `RangeError` for a key that is not `/` and names joined
 * by `/`, an `Error` for a key that names a folder or leads out of the root and
 * for a root that is a file, the signal's reason once the operation is aborted,
 * and the errors of the runtime for failures of the file system. A missing file, or a file
 * in the place of a folder, is an absent value and not an error.
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
  readonly #isSynced: boolean;
  readonly #onRecovery: ((key: StoreKey) => void) | undefined;

  /**
   * Opens nothing yet.
   *
   * @param root The path or `file:` URL of the folder. A missing folder is an empty
   * store, and is created by the first `set`. A relative path is relative to the
   * working directory at the time of each call.
   * @param options `sync`: whether writes wait for the disk; `onRecovery`: called with the
   * keys of chunks that a killed writer left half written; `followLinksInto`: the folders that
   * links may lead to; `exclusive`: whether no other program writes to the folder.
   * @throws {RangeError} If a path is empty.
   * @throws {TypeError} If a URL is not a `file:` URL of this machine, or
   * `followLinksInto` is not a list.
   * @throws {Error} If the runtime has no files, such as a browser.
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
  constructor(root: string | URL, options: FileSystemStoreOptions = {}) {
    inspectAsString(this);
    if (new.target === FileSystemStore) noteOwnedMemory(this); // Not for subclasses.
    checkOptions(options, OPTIONS, "FileSystemStore");
    this.#isSynced = options.sync ?? false;
    this.#root = new FileSystemRoot(
      root,
      options.exclusive ? EXCLUSIVE_FILES : SYSTEM_FILES,
      this.#isSynced,
      options.followLinksInto,
    );
    rememberRoot(this, { root: this.#root, isSynced: this.#isSynced });
    this.#onRecovery = options.onRecovery;
  }

  /**
   * Reads a whole file.
   *
   * @param key The file's path below the root.
   * @param options `signal` aborts the reading; `limit` is the greatest length of
   * the file in bytes.
   * @returns The bytes, or `undefined` if there is no such file.
   * @throws {RangeError} If the key is invalid, or that of a temporary file.
   * @throws {SizeLimitError} If the file is longer than `limit`.
   * @throws {Error} If the key names a folder or leads out of the root.
   *
   * @example A folder is neither a value nor an absent one
   * ```ts
   * import { FileSystemStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals, assertRejects } from "@std/assert";
   *
   * const root = await Deno.makeTempDir();
   * await Deno.mkdir(`${root}/c`);
   * const store = new FileSystemStore(root);
   * assertEquals(await store.get("/c/0"), undefined);
   * await assertRejects(() => store.get("/c"), Error, "names a folder");
   * await Deno.remove(root, { recursive: true });
   * ```
   */
  async get(
    key: StoreKey,
    options: GetOptions = {},
  ): Promise<Uint8Array | undefined> {
    return await readFileRange(this.#root, key, WHOLE, options);
  }

  /**
   * Reads a range of a file.
   *
   * @param key The file's path below the root.
   * @param range Which bytes: whole numbers from 0 to 2^53−1.
   * @param options `signal` aborts the reading.
   * @returns The bytes, fewer where the file ends before the range, or `undefined`
   * if there is no such file.
   * @throws {RangeError} If the range or the key is invalid, or the key that of a
   * temporary file.
   * @throws {Error} If the key names a folder or leads out of the root.
   *
   * @example The end of a file
   * ```ts
   * import { FileSystemStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const root = await Deno.makeTempDir();
   * await Deno.writeFile(`${root}/0.bin`, new Uint8Array([1, 2, 3]));
   * const store = new FileSystemStore(root);
   * assertEquals(await store.getRange("/0.bin", { suffixLength: 2 }), new Uint8Array([2, 3]));
   * assertEquals(await store.getRange("/0.bin", { suffixLength: 9 }), new Uint8Array([1, 2, 3]));
   * await Deno.remove(root, { recursive: true });
   * ```
   */
  async getRange(
    key: StoreKey,
    range: ByteRange,
    options: StoreOptions = {},
  ): Promise<Uint8Array | undefined> {
    assertByteRange(range);
    return await readFileRange(this.#root, key, range, options);
  }

  /**
   * Opens a file as a stream. The file stays open until the stream is read to its
   * end, cancelled or aborted; a `set` before that does not change what is read.
   *
   * @param key The file's path below the root.
   * @param options `signal` aborts the reading, also that of the stream.
   * @returns The stream, or `undefined` if there is no such file.
   * @throws {RangeError} If the key is invalid, or that of a temporary file.
   * @throws {Error} If the key names a folder or leads out of the root.
   *
   * @example Leaving the loop closes the file
   * ```ts
   * import { FileSystemStore } from "@zarr-parts/zarr-parts";
   *
   * const root = await Deno.makeTempDir();
   * const store = new FileSystemStore(root);
   * await store.set("/c/0", new Uint8Array(1_000_000));
   * for await (const _bytes of (await store.stream("/c/0"))!) break;
   * await Deno.remove(root, { recursive: true });
   * ```
   */
  async stream(
    key: StoreKey,
    options: StoreOptions = {},
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    const file = await openFile(this.#root, key, options);
    if (file === undefined) return undefined;
    return options.signal === undefined
      ? offerShortcut(file.readable, { reader: file })
      : abortable(file.readable, options.signal);
  }

  /**
   * Tells how long a file is, without reading it.
   *
   * @param key The file's path below the root.
   * @param options `signal` aborts the operation.
   * @returns The length in bytes, or `undefined` if there is no such file.
   * @throws {RangeError} If the key is invalid, or that of a temporary file.
   * @throws {Error} If the key names a folder or leads out of the root.
   *
   * @example
   * ```ts
   * import { FileSystemStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const root = await Deno.makeTempDir();
   * await Deno.writeTextFile(`${root}/file`, "höhe");
   * const store = new FileSystemStore(root);
   * assertEquals(await store.size("/file"), 5);
   * assertEquals(await store.size("/file/0"), undefined); // A file in a folder's place.
   * await Deno.remove(root, { recursive: true });
   * ```
   */
  async size(
    key: StoreKey,
    options: StoreOptions = {},
  ): Promise<number | undefined> {
    return (await this.#root.find(key, options))?.state.size;
  }

  /**
   * Stores a value atomically. Folders are created as needed. If the operation
   * fails, a stream is cancelled. The bytes must not change before the promise has
   * settled.
   *
   * @param key The file's path below the root.
   * @param value The bytes, or a stream of them.
   * @param options `signal` aborts the writing; the earlier value then stays.
   * @throws {RangeError} If the key is invalid, or that of a temporary file.
   * @throws {TypeError} If the value is neither a `Uint8Array` nor a stream.
   * @throws {Error} If the key names a folder or leads out of the root.
   *
   * @example An aborted write leaves the earlier value
   * ```ts
   * import { FileSystemStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals, assertRejects } from "@std/assert";
   *
   * const root = await Deno.makeTempDir();
   * const store = new FileSystemStore(root);
   * await store.set("/c/0", new Blob(["earlier"]).stream());
   * const signal = AbortSignal.abort();
   * await assertRejects(() => store.set("/c/0", new Blob(["new"]).stream(), { signal }));
   * assertEquals(new TextDecoder().decode(await store.get("/c/0")), "earlier");
   * await Deno.remove(root, { recursive: true });
   * ```
   */
  async set(
    key: StoreKey,
    value: Uint8Array | ReadableStream<Uint8Array>,
    options: StoreOptions = {},
  ): Promise<void> {
    try {
      assertValue(value);
      const store = () => this.#store(key, value, options);
      // Writing a stream may take long, and does not count as an open file.
      await (value instanceof Uint8Array ? openFiles.run(1, store) : store());
    } catch (error) {
      await discard(value, error);
      throw error;
    }
  }

  async #store(
    key: StoreKey,
    value: Uint8Array | ReadableStream<Uint8Array>,
    options: StoreOptions,
  ): Promise<void> {
    await this.#root.find(key, options);
    const pending = await PendingValue.open(this.#root.files, this.#root, key);
    try {
      await pending.write(value, options);
      await pending.store(options, this.#isSynced);
    } catch (error) {
      await pending.discard();
      throw error;
    }
  }

  /**
   * Opens a value for writing piece by piece, from memory that the caller reuses.
   * The value is stored when the writer is closed.
   *
   * @param key The file's path below the root.
   * @param options `signal` aborts the writing, also that of the writer.
   * @returns The writer, to be ended by `close` or `abort`.
   * @throws {RangeError} If the key is invalid, or that of a temporary file.
   * @throws {Error} If the key names a folder or leads out of the root.
   *
   * @example
   * ```ts
   * import { FileSystemStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const root = await Deno.makeTempDir();
   * const store = new FileSystemStore(root);
   * const writer = await store.writer("/c/0");
   * const memory = new Uint8Array([1, 2]);
   * await writer.write(memory);
   * memory.fill(3);
   * await writer.write(memory);
   * assertEquals(await store.get("/c/0"), undefined); // It is not stored yet.
   * await writer.close();
   * assertEquals(await store.get("/c/0"), new Uint8Array([1, 2, 3, 3]));
   * await Deno.remove(root, { recursive: true });
   * ```
   */
  async writer(
    key: StoreKey,
    options: StoreOptions = {},
  ): Promise<ByteWriter> {
    await this.#root.find(key, options);
    const value = await PendingValue.open(this.#root.files, this.#root, key);
    return new FileValueWriter(
      value,
      options,
      () => value.store(options, this.#isSynced),
    );
  }

  /**
   * Removes the file of a value. No error if there is none. Empty folders stay.
   *
   * @param key The file's path below the root.
   * @param options `signal` aborts the operation.
   * @throws {RangeError} If the key is invalid, or that of a temporary file.
   * @throws {Error} If the key names a folder or leads out of the root.
   *
   * @example
   * ```ts
   * import { FileSystemStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const root = await Deno.makeTempDir();
   * const store = new FileSystemStore(root);
   * await store.set("/c/0", new Uint8Array([1]));
   * await store.delete("/c/0");
   * assertEquals(await Array.fromAsync(store.list()), []);
   * await Deno.remove(root, { recursive: true });
   * ```
   */
  async delete(key: StoreKey, options: StoreOptions = {}): Promise<void> {
    await this.#root.find(key, options);
    await this.#root.remove(key);
  }

  /**
   * Gives a file another name beside its own, by a hard link: both are the same file,
   * and no byte is copied. Setting or deleting the value of one key leaves the file under
   * the other key as it is. Nothing happens if both keys have the same file already.
   *
   * @param key The file's path below the root.
   * @param other The other path below the root. Folders are created as needed.
   * @param options `signal` aborts the operation.
   * @throws {RangeError} If a key is invalid, or that of a temporary file.
   * @throws {Deno.errors.NotFound} If there is no such file.
   * @throws {Deno.errors.AlreadyExists} If the other key has another file.
   * @throws {Error} If a key names a folder or leads out of the root.
   *
   * @example
   * ```ts
   * import { FileSystemStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const root = await Deno.makeTempDir();
   * const store = new FileSystemStore(root);
   * await store.set("/S2A_T32TMT_B04.bin", new Uint8Array([1, 2, 3]));
   * await store.link("/S2A_T32TMT_B04.bin", "/red/c/0/0.bin");
   * assertEquals(await store.get("/red/c/0/0.bin"), new Uint8Array([1, 2, 3]));
   * await Deno.remove(root, { recursive: true });
   * ```
   */
  async link(
    key: StoreKey,
    other: StoreKey,
    options: StoreOptions = {},
  ): Promise<void> {
    const file = await this.#root.find(key, options);
    if (file === undefined) {
      throw notFound(
        `Key ${JSON.stringify(key)} has no file: ${this.#root.path}${key}`,
      );
    }
    const { folder, name } = splitPath(other);
    if (await this.#root.isSameFile(key, other, options)) return;
    const path = await this.#root.ensureFolder(folder, other);
    const link = `${path}/${name}`;
    await fileSystem().link(file.path, link).catch((error) => {
      if (error?.code !== "EXDEV") throw error;
      throw new Error(
        `Cannot link ${file.path} to ${link}: they are on different file systems, and a hard link is on that of its file; choose a folder there, or copy the files`,
        { cause: error },
      );
    });
    if (this.#isSynced) await this.#root.files.syncFolder(path);
  }

  /**
   * Lists the files below the root, in no certain order. Only the deepest folder
   * that the prefix names is walked. Linked files are listed. Linked folders are
   * not walked unless the prefix names them, since links can form circles.
   *
   * @param prefix The start of the keys.
   * @param options `signal` aborts the walk.
   * @returns The keys of the files; none for a missing root.
   * @throws {RangeError} If no key can start with the prefix.
   * @throws {Error} If the prefix leads out of the root.
   *
   * @example
   * ```ts
   * import { FileSystemStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const root = await Deno.makeTempDir();
   * const store = new FileSystemStore(root);
   * for (const key of ["/c/1", "/c/10/2", "/c/2"] as const) {
   *   await store.set(key, new Uint8Array());
   * }
   * assertEquals((await Array.fromAsync(store.list("/c/1"))).sort(), ["/c/1", "/c/10/2"]);
   * assertEquals(await Array.fromAsync(store.list("/d/")), []);
   * await Deno.remove(root, { recursive: true });
   * ```
   */
  async *list(
    prefix: StoreKey = "/",
    options: StoreOptions = {},
  ): AsyncIterable<StoreKey> {
    assertStorePrefix(prefix);
    yield* listFiles(this.#root, prefix, options);
  }

  /**
   * Returns files that are read, replaced and deleted together: the parts of a chunk.
   * Readers get the files of one write or an error, also in other processes and after
   * a writer was killed. The files of a chunk are locked while they are changed, by
   * `flock` of a file `.zarr-parts-tmp-journal-…` beside them.
   *
   * @param key The key of the chunk.
   * @param keys The keys of the files. The last one is absent while the others are
   * replaced.
   * @returns The group. Nothing is read yet.
   * @throws {RangeError} If a key is invalid, or that of a temporary file.
   *
   * @example
   * ```ts
   * import { FileSystemStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const root = await Deno.makeTempDir();
   * const group = new FileSystemStore(root).group("/c/0", ["/c/0", "/c/0.index"]);
   * const writer = await group.write!();
   * await writer.set("/c/0", new Uint8Array([1, 2, 3]));
   * await writer.set("/c/0.index", new Uint8Array([4]));
   * await writer.close();
   * assertEquals(await group.read((values) => values.size("/c/0.index")), 1);
   * await Deno.remove(root, { recursive: true });
   * ```
   */
  group(key: StoreKey, keys: readonly StoreKey[]): StoreGroup {
    for (const each of [key, ...keys]) {
      assertStoreKey(each);
      assertNotTemporary(each);
    }
    return new FileGroup({
      files: this.#root.files,
      openFiles,
      root: this.#root,
      key,
      keys,
      locks: KeyLocks.of(this),
      isSynced: this.#isSynced,
      onRecovery: this.#onRecovery,
    });
  }

  /**
   * Reads a range of one version of a file, which takes a `stat` more than `getRange`.
   *
   * @param version The version, as a group told it.
   * @param key The file's path below the root.
   * @param range Which bytes: whole numbers from 0 to 2^53−1.
   * @param options `signal` aborts the reading.
   * @returns The bytes, as `getRange` does; `undefined` if another file is there by now,
   * or none.
   * @throws {RangeError} If the range or the key is invalid, or the key that of a
   * temporary file.
   * @throws {Error} If the key names a folder or leads out of the root.
   *
   * @example
   * ```ts
   * import { FileSystemStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const root = await Deno.makeTempDir();
   * const store = new FileSystemStore(root);
   * await store.set("/c/0", new Uint8Array([1, 2, 3]));
   * const version = await store.group("/c/0", ["/c/0"])
   *   .read((values) => Promise.resolve(values.version("/c/0")!));
   * const end = { suffixLength: 1 };
   * assertEquals(await store.getRangeOf(version, "/c/0", end), new Uint8Array([3]));
   * await store.set("/c/0", new Uint8Array([1, 2, 3]));
   * assertEquals(await store.getRangeOf(version, "/c/0", end), undefined);
   * version.release();
   * await Deno.remove(root, { recursive: true });
   * ```
   */
  async getRangeOf(
    version: StoreVersion,
    key: StoreKey,
    range: ByteRange,
    options: StoreOptions = {},
  ): Promise<Uint8Array | undefined> {
    assertByteRange(range);
    const place = { files: this.#root.files, openFiles, root: this.#root };
    return await readRangeOf(place, version, key, range, options);
  }

  /**
   * Reads a range of one version of a file as a stream. The file is open until the
   * stream ends or is cancelled, and so cannot change.
   *
   * @param version The version, as a group told it.
   * @param key The path of the file below the root.
   * @param range Which bytes: whole numbers from 0 to 2^53−1.
   * @param options `signal` aborts the reading, also while the stream is read.
   * @returns A stream of the bytes, fewer where the file ends before the range;
   * `undefined` if another file is there by now, or none.
   * @throws {RangeError} If the key is not `/` and names joined by `/`, or the range
   * not of such numbers.
   * @throws {Error} If the key names a folder or leads out of the root.
   *
   * @example
   * ```ts
   * import { FileSystemStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const root = await Deno.makeTempDir();
   * const store = new FileSystemStore(root);
   * await store.set("/c/0", new Uint8Array([1, 2, 3]));
   * const version = await store.group("/c/0", ["/c/0"])
   *   .read((values) => Promise.resolve(values.version("/c/0")!));
   * const stream = await store.streamRangeOf(version, "/c/0", { offset: 1, length: 9 });
   * assertEquals(await new Response(stream).bytes(), new Uint8Array([2, 3]));
   * version.release();
   * await Deno.remove(root, { recursive: true });
   * ```
   */
  async streamRangeOf(
    version: StoreVersion,
    key: StoreKey,
    range: ByteRange,
    options: StoreOptions = {},
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    assertByteRange(range);
    const place = { files: this.#root.files, root: this.#root };
    return await streamRangeOf(place, version, key, range, options);
  }

  /**
   * Finishes the changes of killed writers, and removes their temporary files. Call the
   * function `recover` instead, which works for every store that can be recovered.
   *
   * @param options `path`: the node to recover; `dryRun`: whether nothing is changed;
   * `signal` aborts the work.
   * @returns What was done.
   * @throws {RangeError} If the path is not names joined by `/`.
   * @throws {Error} If the root is a file, or the path leads out of it.
   *
   * @example
   * ```ts
   * import { FileSystemStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const root = await Deno.makeTempDir();
   * assertEquals((await new FileSystemStore(root).recover()).written, []);
   * await Deno.remove(root, { recursive: true });
   * ```
   */
  async recover(options: RecoverOptions = {}): Promise<Recovery> {
    const names = (options.path ?? "").replace(/^\/|\/$/g, "");
    const folder = names === "" ? "" : `/${names}`;
    if (folder !== "") assertStoreKey(folder);
    return await recoverFolder(this.#root, folder, {
      ...options,
      isSynced: this.#isSynced,
    });
  }

  /**
   * Describes the store, for messages; `console.log` prints this too.
   *
   * @returns The class, and the path of the folder as it was given.
   *
   * @example
   * ```ts
   * import { FileSystemStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * assertEquals(String(new FileSystemStore("data/x.zarr")), "FileSystemStore(data/x.zarr)");
   * ```
   */
  toString(): string {
    return `FileSystemStore(${this.#root.path})`;
  }
}
