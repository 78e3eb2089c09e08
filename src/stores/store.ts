import type { ByteWriter } from "./byte_io.ts";

/**
 * The key of a stored value: segments after a leading `/`, as zarrita writes them.
 *
 * @example
 * ```ts
 * import type { StoreKey } from "@zarr-parts/zarr-parts";
 *
 * const key: StoreKey = "/temperature/c/0/1";
 * ```
 */
export type StoreKey = `/${string}`;

/**
 * A range of bytes of a stored value: from `offset`, at most `length` bytes, or
 * the last `suffixLength` bytes. All are whole numbers from 0 to 2^53−1.
 *
 * @example
 * ```ts
 * import type { ByteRange } from "@zarr-parts/zarr-parts";
 *
 * const header: ByteRange = { offset: 0, length: 64 };
 * const index: ByteRange = { suffixLength: 1604 };
 * ```
 */
export type ByteRange =
  | { readonly offset: number; readonly length: number }
  | { readonly suffixLength: number };

/**
 * What every operation of a {@linkcode Store} accepts.
 *
 * @example
 * ```ts
 * import { MemoryStore, type StoreOptions } from "@zarr-parts/zarr-parts";
 * import { assertRejects } from "@std/assert";
 *
 * const controller = new AbortController();
 * const options: StoreOptions = { signal: controller.signal };
 * controller.abort(new Error("No longer in view"));
 * await assertRejects(() => new MemoryStore().get("/c/0", options), Error, "No longer in view");
 * ```
 */
export interface StoreOptions {
  /** Aborts the operation; it then rejects with the signal's reason. */
  signal?: AbortSignal;
}

/**
 * What {@linkcode Store.snapshot} keeps: the value a key had, or that it had none.
 *
 * @example A key that had no value
 * ```ts
 * import { MemoryStore, type StoreSnapshot } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const store = new MemoryStore();
 * const snapshot: StoreSnapshot = await store.snapshot("/c/0");
 * await store.set("/c/0", new Uint8Array([1]));
 * await snapshot.restore();
 * await snapshot.release();
 * assertEquals(await store.get("/c/0"), undefined);
 * ```
 */
export interface StoreSnapshot {
  /** Gives the key back the value it had, or removes it if it had none. */
  restore(): Promise<void>;
  /** Lets the kept value go. To be called at last, also after `restore`. */
  release(): Promise<void>;
}

/**
 * Where bytes live. Only `get` is required, so that zarrita's own stores are
 * stores here too; a method that is missing is a capability the store lacks:
 * without `set` it is read-only, without `list` it cannot be listed. Where
 * `getRange`, `stream` or `size` is missing, this package uses `get` instead.
 *
 * @example The smallest store
 * ```ts
 * import { openArrayChunks, type Store } from "@zarr-parts/zarr-parts";
 * import { assertRejects } from "@std/assert";
 *
 * const empty: Store = { get: () => Promise.resolve(undefined) };
 * await assertRejects(() => openArrayChunks(empty), Error, "No Zarr node");
 * ```
 */
export interface Store {
  /**
   * Reads a whole value.
   *
   * @param key The key that it is stored under.
   * @param options `signal` aborts the operation.
   * @returns Its bytes, or `undefined` if the key has no value.
   */
  get(key: StoreKey, options?: StoreOptions): Promise<Uint8Array | undefined>;
  /**
   * Reads a range of a value.
   *
   * @param key The key that it is stored under.
   * @param range Which of its bytes.
   * @param options `signal` aborts the operation.
   * @returns The bytes, or `undefined` if the key has no value. As short as the
   * value is where the range goes past its end; empty where it starts there.
   */
  getRange?(
    key: StoreKey,
    range: ByteRange,
    options?: StoreOptions,
  ): Promise<Uint8Array | undefined>;
  /**
   * Reads a whole value as a stream.
   *
   * @param key The key that it is stored under.
   * @param options `signal` aborts the operation, also while the stream is read.
   * @returns A stream of its bytes, or `undefined` if the key has no value.
   */
  stream?(
    key: StoreKey,
    options?: StoreOptions,
  ): Promise<ReadableStream<Uint8Array> | undefined>;
  /**
   * Tells how long a value is.
   *
   * @param key The key that it is stored under.
   * @param options `signal` aborts the operation.
   * @returns Its length in bytes, or `undefined` if the key has no value.
   */
  size?(key: StoreKey, options?: StoreOptions): Promise<number | undefined>;
  /**
   * Stores a value, all of it or nothing: if that fails, the earlier value
   * stays. A store that has `stream` takes a stream here too, and cancels it if
   * it cannot store it.
   *
   * @param key The key to store it under.
   * @param value Its bytes, or a stream of them.
   * @param options `signal` aborts the operation.
   */
  set?(
    key: StoreKey,
    value: Uint8Array | ReadableStream<Uint8Array>,
    options?: StoreOptions,
  ): Promise<void>;
  /**
   * Opens a value for writing, so that bytes can go into it from memory that is
   * used again. Only `close` stores it: until then, and for ever after `abort`, the
   * earlier value stays. Where it is missing, `set` is called with a stream.
   *
   * @param key The key to store it under.
   * @param options `signal` aborts the writing, also that of the writer.
   * @returns What takes the bytes.
   */
  writer?(key: StoreKey, options?: StoreOptions): Promise<ByteWriter>;
  /**
   * Removes a value. No error if the key has none.
   *
   * @param key The key that it is stored under.
   * @param options `signal` aborts the operation.
   * @returns A promise for the end of the operation; what it holds has no meaning.
   */
  delete?(key: StoreKey, options?: StoreOptions): Promise<unknown>;
  /**
   * Lists the keys that have a value, in no certain order.
   *
   * @param prefix What the keys start with, which need not end where a name does;
   * `/` if not given.
   * @param options `signal` aborts the operation.
   * @returns The keys, each once.
   */
  list?(prefix?: StoreKey, options?: StoreOptions): AsyncIterable<StoreKey>;
  /**
   * Keeps the present value of a key, so that a failed write of several keys
   * can be undone. Where it is missing, the value is read
   * with `get` and kept in memory.
   *
   * @param key The key whose value is kept. It need not have one.
   * @param options `signal` aborts the keeping, but not the restoring.
   * @returns What puts the value back, to be released when it is not needed any
   * more.
   */
  snapshot?(key: StoreKey, options?: StoreOptions): Promise<StoreSnapshot>;
}
