import type { ByteWriter } from "./byte_io.ts";
import type {
  ByteRange,
  GetOptions,
  StoreKey,
  StoreOptions,
} from "./store_options.ts";

/**
 * The version of a stored value, as `Store.group` tells it: an opaque object for
 * `Store.getRangeOf`.
 *
 * @example Reading on only if the value is the same
 * ```ts
 * import { MemoryStore, type StoreVersion } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const store = new MemoryStore([["/c/0", new Uint8Array([1, 2, 3])]]);
 * const version: StoreVersion = await store.group("/c/0", ["/c/0"])
 *   .read((values) => Promise.resolve(values.version("/c/0")!));
 * const range = { offset: 1, length: 2 };
 * assertEquals(await store.getRangeOf(version, "/c/0", range), new Uint8Array([2, 3]));
 * await store.set("/c/0", new Uint8Array([4, 5, 6]));
 * assertEquals(await store.getRangeOf(version, "/c/0", range), undefined);
 * ```
 */
export interface StoreVersion {
  /**
   * Whether the version may be kept for long. If not, the store holds the value open
   * until `release` is called, as it does for files that were written a moment ago.
   */
  readonly isLasting: boolean;
  /** The length of the value in bytes, as far as the store knows it without a request. */
  readonly size?: number | undefined;
  /**
   * A text that no other version of the value has, as entity tags need it. `undefined` if
   * the store cannot promise that, as for files that were written a moment ago.
   */
  readonly tag?: string | undefined;
  /** When the value was stored, in milliseconds since 1970, if the store knows it. */
  readonly modified?: number | undefined;
  /**
   * Reads bytes of the value at once, if that takes less time than another turn of the
   * event loop, as it does for files in memory.
   *
   * @param offset The first byte.
   * @param memory The memory to fill.
   * @returns Whether the memory is filled. If not, call `Store.getRangeOf`: the reading
   * may take time, or the value has changed.
   */
  readNow?(offset: number, memory: Uint8Array): boolean;
  /** Ends the use of the version. Must be called once it is not needed any more. */
  release(): void;
}

/**
 * The values of a group, which all belong to the same write. Keys outside of the group
 * are refused.
 *
 * @example
 * ```ts
 * import { type GroupValues, MemoryStore } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const lengths = (values: GroupValues) =>
 *   Promise.all([values.size("/c/0"), values.size("/c/0.index")]);
 * const group = new MemoryStore().group("/c/0", ["/c/0", "/c/0.index"]);
 * assertEquals(await group.read(lengths), [undefined, undefined]);
 * ```
 */
export interface GroupValues {
  /** Reads a whole value, as `Store.get` does. */
  get(key: StoreKey, options?: GetOptions): Promise<Uint8Array | undefined>;
  /** Reads a range of a value, as `Store.getRange` does. */
  getRange(
    key: StoreKey,
    range: ByteRange,
    options?: StoreOptions,
  ): Promise<Uint8Array | undefined>;
  /** Reads a whole value as a stream, as `Store.stream` does. */
  stream(
    key: StoreKey,
    options?: StoreOptions,
  ): Promise<ReadableStream<Uint8Array> | undefined>;
  /** Tells how long a value is, as `Store.size` does. */
  size(key: StoreKey, options?: StoreOptions): Promise<number | undefined>;
  /**
   * Tells the version of a value, to be kept with what was read from the group.
   *
   * @param key The key of the value.
   * @returns The version, or `undefined` if the key has no value, or if the store
   * cannot tell a later value from this one.
   */
  version(key: StoreKey): StoreVersion | undefined;
}

/**
 * Writes the values of a group. Nothing is stored before `close`.
 *
 * @example
 * ```ts
 * import { type GroupWriter, MemoryStore } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const store = new MemoryStore();
 * const group = store.group("/c/0", ["/c/0", "/c/0.index"]);
 * const writer: GroupWriter = await group.write!();
 * await writer.set("/c/0", new Uint8Array([1, 2, 3]));
 * await writer.set("/c/0.index", new Uint8Array([4]));
 * assertEquals(await store.get("/c/0"), undefined);
 * await writer.close();
 * assertEquals(await store.get("/c/0"), new Uint8Array([1, 2, 3]));
 * ```
 */
export interface GroupWriter {
  /**
   * Gives a value of the group, which `close` stores.
   *
   * @param key Its key.
   * @param bytes The bytes, which must not change before the promise has settled.
   */
  set(key: StoreKey, bytes: Uint8Array): Promise<void>;
  /**
   * Opens a value of the group for writing piece by piece, as `Store.writer` does.
   * Closing it completes the value, which the group's `close` stores.
   *
   * @param key Its key.
   * @returns The writer of the value.
   */
  writer(key: StoreKey): Promise<ByteWriter>;
  /**
   * Stores all values in place of the earlier ones. All keys of the group must have
   * been given a value. A signal has no effect once the first value is being replaced.
   */
  close(): Promise<void>;
  /**
   * Gives up the values, and keeps the earlier ones. No error if the writer is closed.
   *
   * @param reason Why.
   */
  abort(reason: unknown): Promise<void>;
}

/**
 * Values that are read, replaced and deleted together: the parts of a chunk. Readers
 * get the values of one write or an error, also beside writers in other processes.
 *
 * @example
 * ```ts
 * import { MemoryStore, type StoreGroup } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const store = new MemoryStore();
 * const group: StoreGroup = store.group("/c/0", ["/c/0", "/c/0.index"]);
 * assertEquals(await group.read((values) => values.size("/c/0")), undefined);
 * ```
 */
export interface StoreGroup {
  /**
   * Reads values of one write.
   *
   * @param task Reads the values. It may be called several times, and with values of
   * which some are absent. Streams that it returns may be read later.
   * @param options `signal` aborts the reading.
   * @returns The result of the last call.
   * @throws {UnfinishedWriteError} If the values are being changed, or their writer
   * was killed.
   */
  read<T>(
    task: (values: GroupValues) => Promise<T>,
    options?: StoreOptions,
  ): Promise<T>;
  /**
   * Starts to replace the values. Missing in a store that is read-only.
   *
   * @param options `signal` aborts the writing.
   * @returns The writer, to be ended by `close` or `abort`.
   */
  write?(options?: StoreOptions): Promise<GroupWriter>;
  /**
   * Deletes the values. No error if there are none.
   *
   * @param options `signal` aborts the operation.
   */
  delete?(options?: StoreOptions): Promise<void>;
  /**
   * Runs a task while no other writer changes the values, in any process.
   *
   * @param task Reads and changes the values by the group that it is given. It must
   * not use any other group of the same values.
   * @param options `signal` aborts the waiting.
   * @returns The result of the task.
   */
  lock?<T>(
    task: (group: StoreGroup) => Promise<T>,
    options?: StoreOptions,
  ): Promise<T>;
}
