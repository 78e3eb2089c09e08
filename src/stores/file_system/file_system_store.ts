import {
  BOOLEAN,
  checkOptions,
  FUNCTION,
  type OptionRules,
} from "../../errors/mod.ts";
import type {
  ChangeOptions,
  PendingValues,
  ReadOptions,
  Snapshot,
  Update,
  ValuesOptions,
} from "../backend.ts";
import { BaseWritableStore } from "../base_store.ts";
import { inspectAsString } from "../describe_store.ts";
import type { RecoverOptions, Recovery } from "../operations.ts";
import type {
  ByteRange,
  StoreKey,
  StoreOptions,
  StoreVersion,
} from "../store.ts";
import {
  assertNotTemporary,
  assertStorePrefix,
  splitPath,
} from "../store_key.ts";
import {
  prepareFiles,
  removeFiles,
  updateFiles,
  writeFile,
} from "./change_files.ts";
import { type FileContext, readFileOf, readFiles } from "./read_files.ts";
import { recoverFolder } from "./recover_folder.ts";
import { rememberRoot, type StoreRoot } from "./file_changes.ts";
import { FileSystemRoot } from "./root.ts";
import { FileSystem, hasCode, notFound, openFiles } from "./system.ts";

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
   * Whether symbolic links are followed out of the root, as other programs do. Files that
   * they lead to are read and listed, and never written. Off by default: a folder that others
   * have filled could name any file of this machine.
   */
  followLinks?: boolean;
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
  followLinks: BOOLEAN,
  exclusive: BOOLEAN,
};

/**
 * A store in a folder of the file system, for Deno and Node: the value of key `/c/0/1`
 * is the file `c/0/1` below the root. In Deno, it needs `--allow-read` for the root, and
 * `--allow-write` to change values.
 *
 * A value is written to a temporary file in its folder, which is created if it is
 * missing, and then renamed. Readers see the earlier value or the new one,
 * never a part of it, and a failed write keeps the earlier one. The names of
 * temporary files start with `.zarr-parts-tmp-`: such files are not listed, and keys
 * with such names are refused. `recover` removes those of killed programs.
 *
 * Values that are written together, such as the parts of a chunk, are replaced together,
 * also for other programs that use this class: they are locked meanwhile, by `flock` of a
 * file `.zarr-parts-tmp-journal-…` beside them.
 *
 * Symbolic links below the root are followed as long as they lead to a place
 * below it; the root itself may be a link. Setting or deleting a linked value
 * replaces or removes the link, not the file it leads to. The check takes about
 * 10 µs of each read. It keeps readers of a folder that others have filled from
 * reading other files; it does not protect against a process that replaces a file
 * by a link between the check and the use. With `followLinks`, nothing is checked for
 * reading.
 *
 * Short values are read and written synchronously, since that takes less time than handing
 * them to another thread; everything else runs on other threads.
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
 * import { assertEquals, assertRejects } from "@std/assert";
 *
 * const root = await Deno.makeTempDir();
 * const store = new FileSystemStore(root);
 * await store.set("/c/0/1", new Uint8Array([1, 2, 3]));
 *
 * assertEquals(await Deno.readFile(`${root}/c/0/1`), new Uint8Array([1, 2, 3]));
 * assertEquals(await store.getRange("/c/0/1", { offset: 1, length: 9 }), new Uint8Array([2, 3]));
 * assertEquals(await Array.fromAsync(store.list("/c/0")), ["/c/0/1"]);
 * await assertRejects(() => store.get("/c"), Error, "names a folder");
 * await Deno.remove(root, { recursive: true });
 * ```
 */
export class FileSystemStore extends BaseWritableStore {
  readonly #root: FileSystemRoot;
  readonly #context: StoreRoot;
  readonly #exclusive: FileContext;

  /**
   * Opens nothing yet.
   *
   * @param root The path or `file:` URL of the folder. A missing folder is an empty
   * store, and is created by the first `set`. A relative path is relative to the
   * working directory at the time of each call.
   * @param options `sync`: whether writes wait for the disk; `onRecovery`: called with the
   * keys of chunks that a killed writer left half written; `followLinks`: whether links out
   * of the folder are followed; `exclusive`: whether no other program writes to the folder.
   * @throws {RangeError} If the path is empty.
   * @throws {TypeError} If a URL is not a `file:` URL of this machine.
   * @throws {Error} If the runtime has no files, such as a browser.
   */
  constructor(root: string | URL, options: FileSystemStoreOptions = {}) {
    super();
    inspectAsString(this);
    checkOptions(options, OPTIONS, "FileSystemStore");
    const { sync: isSynced = false, followLinks = false, onRecovery } = options;
    const system = new FileSystem(options.exclusive ?? false);
    this.#root = new FileSystemRoot(root, system, {
      isSynced,
      followsLinks: followLinks,
    });
    this.#context = {
      system,
      root: this.#root,
      openFiles,
      isSynced,
      onRecovery: onRecovery && ((chunk) => onRecovery(chunk)),
    };
    this.#exclusive = { ...this.#context, system: new FileSystem(true) };
    rememberRoot(this, this.#context);
  }

  /** Refuses an invalid key, and that of a temporary file. */
  protected override checkKey(key: StoreKey): void {
    super.checkKey(key);
    assertNotTemporary(key);
  }

  /** See {@linkcode Backend.read}. */
  override read<T>(
    keys: readonly StoreKey[],
    task: (values: Snapshot) => Promise<T>,
    options?: ValuesOptions,
  ): Promise<T> {
    return readFiles(this.#context, keys, task, options);
  }

  /** Asks for the length of a file, which is not opened. */
  protected override async sizeOf(key: StoreKey): Promise<number | undefined> {
    const release = await this.#context.openFiles.take(1);
    try {
      return this.#root.find(key)?.state.size;
    } finally {
      release();
    }
  }

  /** See {@linkcode Backend.readOf}. */
  readOf(
    version: StoreVersion,
    key: StoreKey,
    range: ByteRange,
    options?: StoreOptions & ReadOptions,
  ): Promise<Uint8Array | undefined> {
    return readFileOf(this.#context, version, key, range, options);
  }

  /** See {@linkcode Backend.prepare}. */
  override prepare(
    keys: readonly StoreKey[],
    options?: ChangeOptions,
  ): Promise<PendingValues> {
    return prepareFiles(this.#contextOf(options), keys, options);
  }

  /** Stores a value in the file that locks it, which is then renamed. */
  protected override setBytes(
    key: StoreKey,
    bytes: Uint8Array,
    options?: StoreOptions,
  ): Promise<void> {
    return writeFile(this.#context, key, bytes, options);
  }

  /** See {@linkcode Backend.remove}. Empty folders stay. */
  override remove(
    keys: readonly StoreKey[],
    options?: ChangeOptions,
  ): Promise<void> {
    return removeFiles(this.#contextOf(options), keys, options);
  }

  /** See {@linkcode Backend.update}. */
  override update(
    keys: readonly StoreKey[],
    change: (values: Snapshot) => Promise<Update>,
    options?: ValuesOptions,
  ): Promise<void> {
    return updateFiles(this.#context, keys, change, options);
  }

  /**
   * Gives a file another name beside its own, by a hard link: both are the same file,
   * and no byte is copied. Setting or deleting the value of one key leaves the file under
   * the other key as it is. Nothing happens if both keys have the same file already.
   *
   * @param key The file's path below the root.
   * @param other The other path below the root. Folders are created as needed.
   * @param options `signal` aborts the operation.
   * @throws {Deno.errors.NotFound} If there is no such file.
   * @throws {Deno.errors.AlreadyExists} If the other key has another file.
   */
  async link(
    key: StoreKey,
    other: StoreKey,
    options: StoreOptions = {},
  ): Promise<void> {
    for (const each of [key, other]) this.checkKey(each);
    options.signal?.throwIfAborted();
    const root = this.#root;
    const { system, isSynced } = this.#context;
    const file = root.find(key);
    if (file === undefined) {
      throw notFound(
        `Key ${JSON.stringify(key)} has no file: ${root.path}${key}`,
      );
    }
    const { dev, ino } = root.find(other)?.state ?? {};
    if (ino === file.state.ino && dev === file.state.dev && ino !== null) {
      return;
    }
    const { folder, name } = splitPath(other);
    const path = await root.ensureFolder(folder, other);
    const link = `${path}/${name}`;
    try {
      system.runtime.linkSync(file.path, link);
    } catch (error) {
      if (!hasCode(error, "EXDEV", "CrossesDevices")) throw error;
      throw new Error(
        `Cannot link ${file.path} to ${link}: they are on different file systems, and a hard link is on that of its file; choose a folder there, or copy the files`,
        { cause: error },
      );
    }
    if (isSynced) await system.syncFolder(path);
  }

  /**
   * Lists the files below the root, in no certain order. Only the deepest folder
   * that the prefix names is walked. Linked files are listed. Linked folders are
   * walked with `followLinks` or if the prefix names them, since links can form circles.
   *
   * @param prefix The start of the keys.
   * @param options `signal` aborts the walk.
   * @returns The keys of the files; none for a missing root.
   * @throws {RangeError} If no key can start with the prefix.
   */
  async *list(
    prefix: StoreKey = "/",
    options: StoreOptions = {},
  ): AsyncIterable<StoreKey> {
    assertStorePrefix(prefix);
    yield* this.#root.list(prefix, options.signal);
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
   */
  async recover(options: RecoverOptions = {}): Promise<Recovery> {
    return await recoverFolder(this.#context, options);
  }

  /**
   * Describes the store, for messages; `console.log` prints this too.
   *
   * @returns The class, and the path of the folder as it was given.
   */
  override toString(): string {
    return `FileSystemStore(${this.#root.path})`;
  }

  #contextOf(options: ChangeOptions = {}): FileContext {
    return options.exclusive ? this.#exclusive : this.#context;
  }
}
