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

/** What every operation of a {@linkcode Store} accepts. */
export interface StoreOptions {
  /** Aborts the operation; it then rejects with the signal's reason. */
  signal?: AbortSignal;
}

/** What {@linkcode Store.snapshot} keeps: the value a key had, or that it had none. */
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
  /** The whole value, or `undefined` if the key has none. */
  get(key: StoreKey, options?: StoreOptions): Promise<Uint8Array | undefined>;
  /**
   * A range of the value, or `undefined` if the key has none. As short as the
   * value is where the range goes past its end; empty where it starts there.
   */
  getRange?(
    key: StoreKey,
    range: ByteRange,
    options?: StoreOptions,
  ): Promise<Uint8Array | undefined>;
  /** The value as a stream, or `undefined` if the key has none. */
  stream?(
    key: StoreKey,
    options?: StoreOptions,
  ): Promise<ReadableStream<Uint8Array> | undefined>;
  /** The value's length in bytes, or `undefined` if the key has none. */
  size?(key: StoreKey, options?: StoreOptions): Promise<number | undefined>;
  /**
   * Stores a value, all of it or nothing: if that fails, the earlier value
   * stays. A store that has `stream` takes a stream here too, and cancels it if
   * it cannot store it.
   */
  set?(
    key: StoreKey,
    value: Uint8Array | ReadableStream<Uint8Array>,
    options?: StoreOptions,
  ): Promise<void>;
  /** Removes a value. No error if the key has none. */
  delete?(key: StoreKey, options?: StoreOptions): Promise<unknown>;
  /** All keys that start with `prefix` (`/` if not given), in no certain order. */
  list?(prefix?: StoreKey, options?: StoreOptions): AsyncIterable<StoreKey>;
  /**
   * Keeps the present value of a key, so that a failed write of several keys
   * can be undone. Where it is missing, the value is read
   * with `get` and kept in memory.
   */
  snapshot?(key: StoreKey, options?: StoreOptions): Promise<StoreSnapshot>;
}
