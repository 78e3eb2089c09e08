import type {
  ByteRange,
  ByteWriter,
  StoreKey,
  StoreOptions,
  StoreVersion,
} from "./store.ts";

/** Options of {@linkcode Snapshot.read}. */
export interface ReadOptions {
  /**
   * The greatest length of the value in bytes. A longer value is a `SizeLimitError`,
   * and is not read further. No limit by default.
   */
  limit?: number | undefined;
  /** Returns memory to read into, which may be longer than its view. Stores may ignore it. */
  allocate?: ((length: number) => Uint8Array) | undefined;
}

/**
 * Values that all belong to the same write. Each method takes one of the keys that the
 * snapshot was asked for. The signal of the operation aborts every read.
 *
 * @example The lengths of the parts of a chunk
 * ```ts
 * import { MemoryStore, type Snapshot } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const lengths = (values: Snapshot) =>
 *   Promise.all([values.size("/c/0"), values.size("/c/0.index")]);
 * const store = new MemoryStore();
 * assertEquals(await store.read(["/c/0", "/c/0.index"], lengths), [undefined, undefined]);
 * ```
 */
export interface Snapshot {
  /** Tells how long a value is in bytes; `undefined` if the key has no value. */
  size(key: StoreKey): Promise<number | undefined>;
  /**
   * Reads a value, or a range of it, into memory that belongs to the caller.
   *
   * @param key The key of the value.
   * @param range Which of its bytes. All by default.
   * @param options `limit` and `allocate`.
   * @returns The bytes, or `undefined` if the key has no value. Fewer bytes where the
   * range goes past the end of the value; none where it starts there.
   */
  read(
    key: StoreKey,
    range?: ByteRange,
    options?: ReadOptions,
  ): Promise<Uint8Array | undefined>;
  /**
   * Reads a value, or a range of it, as a stream, which may be read after the task has
   * ended. The stream then ends with an error if the value is no longer this one.
   */
  stream(
    key: StoreKey,
    range?: ByteRange,
  ): Promise<ReadableStream<Uint8Array> | undefined>;
  /**
   * Tells the version of a value, to be kept with what was read.
   *
   * @returns The version; `undefined` if the key has no value, or if the store cannot
   * tell a later value from this one.
   */
  version(key: StoreKey): StoreVersion | undefined;
}

/**
 * Values that are being written, where no reader sees them. {@linkcode commit} puts all
 * of them in place as one; {@linkcode abort} gives them up.
 *
 * @example
 * ```ts
 * import { MemoryStore, type PendingValues } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const store = new MemoryStore();
 * const pending: PendingValues = await store.prepare(["/c/0", "/c/0.index"]);
 * await pending.set("/c/0", new Uint8Array([1, 2, 3]));
 * await pending.set("/c/0.index", new Uint8Array([4]));
 * assertEquals(await store.get("/c/0"), undefined);
 * await pending.commit();
 * assertEquals(await store.get("/c/0"), new Uint8Array([1, 2, 3]));
 * ```
 */
export interface PendingValues {
  /** Takes the bytes of a value, which must not change before the promise has settled. */
  set(key: StoreKey, bytes: Uint8Array): Promise<void>;
  /** Opens a value for writing piece by piece. Closing the writer completes the value. */
  writer(key: StoreKey): Promise<ByteWriter>;
  /**
   * Puts the values in place, under the lock of their keys. Every key must have a value.
   * A signal has no effect once the first value is being replaced.
   *
   * @param check Looks at the present values under the lock, and throws to keep them. It
   * may be called several times, in stores that have conditions in place of locks.
   */
  commit(check?: (values: Snapshot) => Promise<void>): Promise<void>;
  /** Gives up the values. No error if they are in place or given up. */
  abort(reason: unknown): Promise<void>;
}

/** Options of operations on several values. */
export interface ValuesOptions extends StoreOptions {
  /**
   * The key that the values have in common, such as that of the chunk whose parts they
   * are: the lock and errors are named by it. The first key by default.
   */
  name?: StoreKey | undefined;
}

/** Options of changes. */
export interface ChangeOptions extends ValuesOptions {
  /** Whether nobody else can change the values, so that no lock is taken. */
  exclusive?: boolean | undefined;
}

/**
 * What {@linkcode Backend.update} does with the values: a value for each of its keys, in
 * their order, or nothing, or deleting all of them.
 */
export type Update = readonly Uint8Array[] | "keep" | "delete";

/**
 * The methods that a store of this package implements; `BaseStore` makes those of `Store`
 * of them. Several values that are written together, such as the parts of a chunk, are
 * read, replaced and deleted as one: nobody gets values of two writes without an error,
 * also beside writers in other processes. Keys are valid and given in storing order: the
 * last one is in place only if all are.
 *
 * A store without `prepare`, `remove` and `update` is read-only.
 */
export interface Backend {
  /**
   * Runs a task on a snapshot of values. The task runs again if the snapshot turns out to
   * be none, so it must have no effects of its own.
   *
   * @throws {UnfinishedWriteError} If the values are being changed, or their writer was
   * killed.
   */
  read<T>(
    keys: readonly StoreKey[],
    task: (values: Snapshot) => Promise<T>,
    options?: ValuesOptions,
  ): Promise<T>;
  /**
   * Reads a range of the very value that a version belongs to. An empty range asks only
   * whether the version is the present one.
   *
   * @returns The bytes, in memory of the caller; `undefined` if the key has another value
   * by now, or none. Missing in stores that tell no versions.
   */
  readOf?(
    version: StoreVersion,
    key: StoreKey,
    range: ByteRange,
    options?: StoreOptions & ReadOptions,
  ): Promise<Uint8Array | undefined>;
  /** Begins to write values. A slow source keeps nobody out before `commit`. */
  prepare?(
    keys: readonly StoreKey[],
    options?: ChangeOptions,
  ): Promise<PendingValues>;
  /** Deletes values as one. No error if there are none. */
  remove?(keys: readonly StoreKey[], options?: ChangeOptions): Promise<void>;
  /**
   * Reads, changes and replaces values while no other writer changes them, in any process.
   *
   * @param change Computes the new values from the present ones. It may be called several
   * times, in stores that have conditions in place of locks.
   */
  update?(
    keys: readonly StoreKey[],
    change: (values: Snapshot) => Promise<Update>,
    options?: ValuesOptions,
  ): Promise<void>;
  /** Lists the keys that have a value and start with a prefix, in no certain order. */
  list?(prefix: StoreKey, options?: StoreOptions): AsyncIterable<StoreKey>;
}
