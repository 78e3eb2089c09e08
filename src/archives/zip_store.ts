import {
  BOOLEAN,
  checkOptions,
  describe,
  type OptionRules,
  TEXT,
} from "../errors/mod.ts";
import {
  abortable,
  assertByteRange,
  assertInGroup,
  assertStore,
  assertStoreKey,
  assertStorePrefix,
  type ByteRange,
  type GetOptions,
  type GroupValues,
  inspectAsString,
  keyProblem,
  resolveByteRange,
  type Store,
  type StoreGroup,
  type StoreKey,
  type StoreOptions,
  type StoreVersion,
} from "../stores/mod.ts";
import { describeArchive, type ZipDescription } from "./describe_archive.ts";
import { EntryBytes, isDeflated } from "./entry_bytes.ts";
import {
  type ArchiveState,
  OpenArchive,
  StateChangedError,
} from "./open_archive.ts";
import type { ListedEntry } from "./entry_table.ts";

/**
 * A read-only store of the entries of a zip archive, such as `x.zarr.zip` or the `.ozx` of
 * OME-Zarr. The archive is a value of another store: a file, an object of a bucket, or a
 * file on a web server.
 *
 * The directory at the end of the archive is read once, by one request or two. Ranges of
 * entries that are stored as they are, as Zarr programs store them, are then read by one
 * request each, so that inner chunks of a shard in an archive of any size can be read.
 * Deflated entries are read too, from their start on; those of up to 64 MiB are kept in
 * memory, as long as they are 64 MiB together.
 *
 * If the store of the archive distinguishes versions, all bytes are of the archive that was
 * opened. If another archive replaces it, reads throw an error or, with `follow: true`,
 * continue with the new archive.
 *
 * Whole values and streams are compared with the CRC-32 of their entry. Of entries with one
 * name, the last one is read. Entries whose names are no keys, such as folders, are not
 * shown.
 *
 * Every method throws a `RangeError` if there is no archive or the key is not `/` and names
 * joined by `/`, a `DamageError` if the archive is damaged, an `Error` for an entry that is
 * encrypted or compressed by another method than deflate, and the signal's reason once the
 * operation is aborted.
 *
 * Sources: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT,
 * https://ngff.openmicroscopy.org/rfc/9/
 *
 * @example
 * ```ts
 * import { HttpStore } from "@zarr-parts/zarr-parts";
 * import { ZipStore } from "@zarr-parts/zarr-parts/zip";
 * import { assertEquals } from "@std/assert";
 *
 * const archives = new HttpStore("https://example.org/archives");
 * const store = new ZipStore(archives, "/image.ozx");
 * assertEquals(String(store), 'ZipStore("/image.ozx" of HttpStore(https://example.org/archives))');
 * ```
 */
export class ZipStore implements Store {
  readonly #archive: OpenArchive;
  readonly #bytes = new WeakMap<ArchiveState, EntryBytes>();

  /**
   * Reads nothing yet.
   *
   * @param store The store that holds the archive.
   * @param key The key of the archive.
   * @param options Which folder of the archive is shown, and what to do if the archive
   * changes.
   * @throws {TypeError} If an option is unknown or of a wrong type.
   * @throws {RangeError} If the key is not `/` and names joined by `/`, or the path not
   * names joined by `/`.
   *
   * @example An array of an archive that zarr-python wrote
   * ```ts
   * import { FileSystemStore, openArrayChunks } from "@zarr-parts/zarr-parts";
   * import { ZipStore } from "@zarr-parts/zarr-parts/zip";
   * import { assertRejects } from "@std/assert";
   *
   * const store = new ZipStore(new FileSystemStore("/data"), "/rain.zarr.zip");
   * await assertRejects(() => openArrayChunks(store), RangeError, "There is no archive");
   * ```
   */
  constructor(store: Store, key: StoreKey, options: ZipStoreOptions = {}) {
    inspectAsString(this);
    assertStore(store);
    assertStoreKey(key);
    checkOptions(options, OPTIONS, "ZipStore");
    const { path = "", follow = false } = options;
    if (path !== "") assertStoreKey(`/${path}`);
    this.#archive = new OpenArchive(store, key, path, follow);
  }

  /**
   * Reads an entry.
   *
   * @param key The name of the entry in the folder that is shown, after `/`.
   * @param options `signal` aborts the operation; `limit` is the greatest length of
   * the value in bytes.
   * @returns The bytes, inflated; `undefined` if there is no such entry.
   * @throws {SizeLimitError} If the value is longer than `limit`.
   * @throws {DamageError} If the bytes do not have the length or the CRC-32 of the directory.
   *
   * @example
   * ```ts
   * import { MemoryStore } from "@zarr-parts/zarr-parts";
   * import { ZipStore } from "@zarr-parts/zarr-parts/zip";
   * import { assertRejects } from "@std/assert";
   *
   * const files = new MemoryStore([["/x.zip", new TextEncoder().encode("no zip")]]);
   * await assertRejects(() => new ZipStore(files, "/x.zip").get("/zarr.json"), Error, "it is not a zip");
   * ```
   */
  async get(
    key: StoreKey,
    options: GetOptions = {},
  ): Promise<Uint8Array | undefined> {
    assertStoreKey(key);
    return await this.#archive.use(options, async (state) => {
      const entry = state.find(key);
      return entry && await this.#of(state).get(key, entry, options);
    });
  }

  /**
   * Reads a range of an entry.
   *
   * @param key The name of the entry in the folder that is shown, after `/`.
   * @param range Which bytes: whole numbers from 0 to 2^53−1.
   * @param options `signal` aborts the operation.
   * @returns The bytes, fewer where the range goes past the end; `undefined` if there is no
   * such entry.
   *
   * @example
   * ```ts
   * import { MemoryStore } from "@zarr-parts/zarr-parts";
   * import { ZipStore } from "@zarr-parts/zarr-parts/zip";
   * import { assertRejects } from "@std/assert";
   *
   * const store = new ZipStore(new MemoryStore(), "/x.zip");
   * const range = { offset: 0, length: 4 };
   * await assertRejects(() => store.getRange("/c/0", range), RangeError, "There is no archive");
   * ```
   */
  async getRange(
    key: StoreKey,
    range: ByteRange,
    options: StoreOptions = {},
  ): Promise<Uint8Array | undefined> {
    assertByteRange(range);
    assertStoreKey(key);
    return await this.#archive.use(
      options,
      (state) => this.#readRange(state, key, range, options),
    );
  }

  /**
   * Reads an entry as a stream. A wrong CRC-32 is an error at its end.
   *
   * @param key The name of the entry in the folder that is shown, after `/`.
   * @param options `signal` aborts the operation, also while the stream is read.
   * @returns The stream; `undefined` if there is no such entry.
   *
   * @example
   * ```ts
   * import { MemoryStore } from "@zarr-parts/zarr-parts";
   * import { ZipStore } from "@zarr-parts/zarr-parts/zip";
   * import { assertRejects } from "@std/assert";
   *
   * const store = new ZipStore(new MemoryStore(), "/x.zip");
   * await assertRejects(() => store.stream("/c/0"), RangeError, "There is no archive");
   * ```
   */
  async stream(
    key: StoreKey,
    options: StoreOptions = {},
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    assertStoreKey(key);
    return await this.#archive.use(options, (state) => {
      const entry = state.find(key);
      if (entry === undefined) return undefined;
      const size = this.#of(state).size(entry);
      return this.#stream(state, entry, 0, size, options);
    });
  }

  /**
   * Returns the length of an entry, without a request once the archive is open.
   *
   * @param key The name of the entry in the folder that is shown, after `/`.
   * @param options `signal` aborts the operation.
   * @returns The length in bytes, inflated; `undefined` if there is no such entry.
   *
   * @example
   * ```ts
   * import { MemoryStore } from "@zarr-parts/zarr-parts";
   * import { ZipStore } from "@zarr-parts/zarr-parts/zip";
   * import { assertRejects } from "@std/assert";
   *
   * const store = new ZipStore(new MemoryStore(), "/x.zip");
   * await assertRejects(() => store.size("/c/0"), RangeError, "There is no archive");
   * ```
   */
  async size(
    key: StoreKey,
    options: StoreOptions = {},
  ): Promise<number | undefined> {
    assertStoreKey(key);
    return await this.#archive.use(options, (state) => {
      const entry = state.find(key);
      return entry && this.#of(state).size(entry);
    });
  }

  /**
   * Lists the entries in the order of the directory.
   *
   * @param prefix The start of the keys, which may end within a name.
   * @param options `signal` aborts the operation.
   * @returns The keys.
   *
   * @example
   * ```ts
   * import { MemoryStore } from "@zarr-parts/zarr-parts";
   * import { ZipStore } from "@zarr-parts/zarr-parts/zip";
   * import { assertRejects } from "@std/assert";
   *
   * const store = new ZipStore(new MemoryStore(), "/x.zip");
   * await assertRejects(() => Array.fromAsync(store.list()), RangeError, "There is no archive");
   * ```
   */
  async *list(
    prefix: StoreKey = "/",
    options: StoreOptions = {},
  ): AsyncIterable<StoreKey> {
    assertStorePrefix(prefix);
    const { entries, folder: { path } } = await this.#archive
      .use(options, (state) => state);
    for (const name of entries.names()) {
      const key: StoreKey = `/${name.slice(path.length)}`;
      if (!name.startsWith(path) || !key.startsWith(prefix)) continue;
      if (keyProblem(key.slice(1)) !== undefined) continue;
      options.signal?.throwIfAborted();
      yield key;
    }
  }

  /**
   * Returns entries that are read together, from one state of the archive.
   *
   * @param key The key of the chunk that the values are parts of.
   * @param keys The keys of the values.
   * @returns The group. Nothing is read yet.
   *
   * @example
   * ```ts
   * import { MemoryStore } from "@zarr-parts/zarr-parts";
   * import { ZipStore } from "@zarr-parts/zarr-parts/zip";
   * import { assertEquals } from "@std/assert";
   *
   * const group = new ZipStore(new MemoryStore(), "/x.zip").group("/c/0", ["/c/0"]);
   * assertEquals(group.write, undefined);
   * ```
   */
  group(key: StoreKey, keys: readonly StoreKey[]): StoreGroup {
    for (const each of [key, ...keys]) assertStoreKey(each);
    return {
      read: (task, options) =>
        this.#archive.use(
          options,
          (state) => task(this.#valuesOf(state, keys)),
        ),
    };
  }

  /**
   * Reads a range of an entry of one version of the archive.
   *
   * @param version The version, as a group told it.
   * @param key The key of the entry.
   * @param range Which bytes: whole numbers from 0 to 2^53−1.
   * @param options `signal` aborts the operation.
   * @returns The bytes, as `getRange` does; `undefined` if another archive is in its place.
   *
   * @example
   * ```ts
   * import { MemoryStore } from "@zarr-parts/zarr-parts";
   * import { ZipStore } from "@zarr-parts/zarr-parts/zip";
   * import { assertEquals } from "@std/assert";
   *
   * const other = { isLasting: true, release() {} }; // a version of another store
   * const store = new ZipStore(new MemoryStore(), "/x.zip");
   * assertEquals(await store.getRangeOf(other, "/c/0", { suffixLength: 1 }), undefined);
   * ```
   */
  async getRangeOf(
    version: StoreVersion,
    key: StoreKey,
    range: ByteRange,
    options: StoreOptions = {},
  ): Promise<Uint8Array | undefined> {
    assertByteRange(range);
    assertStoreKey(key);
    return await this.#ofVersion(version, key, async (state) => {
      const bytes = await this.#readRange(state, key, range, options);
      const isRead = bytes!.length > 0 || await state.isCurrent(options);
      return isRead ? bytes : undefined;
    });
  }

  /**
   * Reads a range of an entry of one version of the archive as a stream.
   *
   * @param version The version, as a group told it.
   * @param key The key of the entry.
   * @param range Which bytes: whole numbers from 0 to 2^53−1.
   * @param options `signal` aborts the operation, also while the stream is read.
   * @returns The stream; `undefined` if another archive is in its place.
   *
   * @example
   * ```ts
   * import { MemoryStore } from "@zarr-parts/zarr-parts";
   * import { ZipStore } from "@zarr-parts/zarr-parts/zip";
   * import { assertEquals } from "@std/assert";
   *
   * const other = { isLasting: true, release() {} }; // a version of another store
   * const store = new ZipStore(new MemoryStore(), "/x.zip");
   * assertEquals(await store.streamRangeOf(other, "/c/0", { suffixLength: 1 }), undefined);
   * ```
   */
  async streamRangeOf(
    version: StoreVersion,
    key: StoreKey,
    range: ByteRange,
    options: StoreOptions = {},
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    assertByteRange(range);
    assertStoreKey(key);
    return await this.#ofVersion(version, key, async (state) => {
      if (!await state.isCurrent(options)) return undefined;
      const entry = state.find(key)!;
      const size = this.#of(state).size(entry);
      const { start, end } = resolveByteRange(range, size);
      return this.#stream(state, entry, start, end, options);
    });
  }

  /**
   * Opens the archive if it is not open yet, and returns its properties.
   *
   * @param options `signal` aborts the operation.
   * @returns The properties that follow from the directory and the comment of the archive.
   *
   * @example
   * ```ts
   * import { MemoryStore } from "@zarr-parts/zarr-parts";
   * import { ZipStore } from "@zarr-parts/zarr-parts/zip";
   * import { assertRejects } from "@std/assert";
   *
   * const store = new ZipStore(new MemoryStore(), "/x.zip");
   * await assertRejects(() => store.describe(), RangeError, "There is no archive");
   * ```
   */
  async describe(options: StoreOptions = {}): Promise<ZipDescription> {
    return await this.#archive.use(options, (state) => describeArchive(state));
  }

  /**
   * Describes the store, for messages; `console.log` prints this too.
   *
   * @returns The class, the key of the archive and its store, and the path, if one was given.
   *
   * @example
   * ```ts
   * import { MemoryStore } from "@zarr-parts/zarr-parts";
   * import { ZipStore } from "@zarr-parts/zarr-parts/zip";
   * import { assertEquals } from "@std/assert";
   *
   * const store = new ZipStore(new MemoryStore(), "/x.zip");
   * assertEquals(String(store), 'ZipStore("/x.zip" of MemoryStore(0))');
   * ```
   */
  toString(): string {
    const { place, path } = this.#archive;
    return `ZipStore(${place}${path === "" ? "" : `, ${describe(path)}`})`;
  }

  #of(state: ArchiveState): EntryBytes {
    let bytes = this.#bytes.get(state);
    if (bytes === undefined) {
      this.#bytes.set(state, bytes = new EntryBytes(state));
    }
    return bytes;
  }

  async #readRange(
    state: ArchiveState,
    key: StoreKey,
    range: ByteRange,
    options: StoreOptions,
  ): Promise<Uint8Array | undefined> {
    const entry = state.find(key);
    if (entry === undefined) return undefined;
    const bytes = this.#of(state);
    const { start, end } = resolveByteRange(range, bytes.size(entry));
    return await bytes.getRange(entry, start, end, options);
  }

  /** Streams bytes of an entry. The state is kept until the end. */
  #stream(
    state: ArchiveState,
    entry: ListedEntry,
    start: number,
    end: number,
    options: StoreOptions,
  ): ReadableStream<Uint8Array> {
    const archive = this.#archive;
    const pieces = this.#of(state).pieces(entry, start, end, options);
    let isKept = true;
    const leave = () => {
      if (isKept) archive.leave(state);
      isKept = false;
    };
    archive.keep(state);
    const stream = new ReadableStream<Uint8Array>({
      async pull(controller) {
        try {
          const { done, value } = await pieces.next();
          if (!done) return controller.enqueue(value);
        } catch (error) {
          await pieces.return().catch(() => {});
          leave();
          throw error instanceof StateChangedError
            ? archive.changedError(error)
            : error;
        }
        leave();
        controller.close();
      },
      async cancel() {
        await pieces.return().catch(() => {});
        leave();
      },
    }, { highWaterMark: 0 });
    return abortable(stream, options.signal);
  }

  #valuesOf(state: ArchiveState, keys: readonly StoreKey[]): GroupValues {
    const versions = new Map<StoreKey, ZipVersion>();
    const find = (key: StoreKey) => {
      assertInGroup(keys, key);
      return state.find(key);
    };
    const bytes = this.#of(state);
    return {
      get: async (key, options = {}) => {
        const entry = find(key);
        return entry && await bytes.get(key, entry, options);
      },
      getRange: async (key, range, options = {}) => {
        assertByteRange(range);
        find(key);
        return await this.#readRange(state, key, range, options);
      },
      // deno-lint-ignore require-await -- so that a bad key is a rejection
      stream: async (key, options = {}) => {
        const entry = find(key);
        return entry &&
          this.#stream(state, entry, 0, bytes.size(entry), options);
      },
      // deno-lint-ignore require-await -- so that a bad key is a rejection
      size: async (key) => {
        const entry = find(key);
        return entry && bytes.size(entry);
      },
      version: (key) => {
        const entry = find(key);
        if (entry === undefined || state.version === undefined) {
          return undefined;
        }
        let version = versions.get(key);
        if (version === undefined) {
          const archive = this.#archive;
          version = new ZipVersion({ archive, state, key, entry, bytes });
          versions.set(key, version);
        }
        return version;
      },
    };
  }

  /** Reads bytes of a version of this store. */
  async #ofVersion<T>(
    version: StoreVersion,
    key: StoreKey,
    read: (state: ArchiveState) => Promise<T>,
  ): Promise<T | undefined> {
    const isOwn = version instanceof ZipVersion && version.key === key &&
      version.archive === this.#archive;
    if (!isOwn) return undefined;
    try {
      return await read(version.state);
    } catch (error) {
      if (error instanceof StateChangedError) return undefined;
      throw error;
    }
  }
}

/** The version of an entry: that of the archive. */
class ZipVersion implements StoreVersion {
  readonly archive: OpenArchive;
  readonly state: ArchiveState;
  readonly key: StoreKey;
  readonly #entry: ListedEntry;
  readonly #bytes: EntryBytes;
  readonly #below: StoreVersion;
  #isKept = true;

  constructor(
    { archive, state, key, entry, bytes }: {
      archive: OpenArchive;
      state: ArchiveState;
      key: StoreKey;
      entry: ListedEntry;
      bytes: EntryBytes;
    },
  ) {
    this.archive = archive;
    this.state = state;
    this.key = key;
    this.#entry = entry;
    this.#bytes = bytes;
    this.#below = state.version!;
    archive.keep(state);
  }

  get isLasting(): boolean {
    return this.#below.isLasting;
  }

  get size(): number {
    return this.#entry.size;
  }

  get tag(): string | undefined {
    const { tag } = this.#below;
    return tag && `${tag}-${this.#entry.offset}`;
  }

  get modified(): number | undefined {
    return this.#below.modified;
  }

  readNow(offset: number, memory: Uint8Array): boolean {
    const start = this.#bytes.knownOffset(this.#entry);
    const isInside = !isDeflated(this.#entry) &&
      offset + memory.length <= this.#entry.storedSize;
    if (start === undefined || !isInside) return false;
    return this.#below.readNow?.(start + offset, memory) ?? false;
  }

  release(): void {
    if (this.#isKept) this.archive.leave(this.state);
    this.#isKept = false;
  }
}

/**
 * The options of `ZipStore`.
 *
 * @example The array `0` of an image, in an archive that a server replaces
 * ```ts
 * import type { ZipStoreOptions } from "@zarr-parts/zarr-parts/zip";
 *
 * const options: ZipStoreOptions = { path: "0", follow: true };
 * ```
 */
export interface ZipStoreOptions {
  /**
   * The path of the folder that is shown. Defaults to the root of the archive. If no node is
   * at the root, and only one folder there holds one, as in archives of a packed folder,
   * the path starts from that folder.
   */
  path?: string | undefined;
  /**
   * Whether the directory is read again if the archive is replaced, so that later reads see
   * the new archive, which is noticed within a second. If not, they throw an error.
   * Defaults to `false`.
   */
  follow?: boolean | undefined;
}

const OPTIONS: OptionRules<ZipStoreOptions> = {
  path: TEXT,
  follow: BOOLEAN,
};
