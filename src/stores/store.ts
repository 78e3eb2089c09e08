import type { ByteWriter } from "./byte_io.ts";
import type { StoreGroup, StoreVersion } from "./store_group.ts";
import type {
  ByteRange,
  GetOptions,
  StoreKey,
  StoreOptions,
} from "./store_options.ts";

export type {
  ByteRange,
  GetOptions,
  StoreKey,
  StoreOptions,
} from "./store_options.ts";

/**
 * A key-value store of bytes. Only `get` is required, so that zarrita's stores are
 * stores here, too. A store without `set` is read-only, and one without `list`
 * cannot be listed. Where `getRange`, `stream` or `size` is missing, this package
 * uses `get` instead.
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
   * @param options `signal` aborts the operation; `limit` is the greatest length of
   * the value in bytes.
   * @returns Its bytes, or `undefined` if the key has no value.
   * @throws {SizeLimitError} If the value is longer than `limit`. A store may ignore
   * the option: this package then refuses the value that was read.
   */
  get(key: StoreKey, options?: GetOptions): Promise<Uint8Array | undefined>;
  /**
   * Reads a range of a value.
   *
   * @param key The key that it is stored under.
   * @param range Which of its bytes.
   * @param options `signal` aborts the operation.
   * @returns The bytes, or `undefined` if the key has no value. Fewer bytes where
   * the range goes past the end of the value; none where it starts there.
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
   * Stores a value atomically: a failure keeps the earlier value. A store with
   * `stream` also accepts a stream here, and cancels it on failure.
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
   * Opens a value for writing piece by piece, from memory that the caller reuses.
   * The value is stored by `close`; `abort` keeps the earlier one. Where the method
   * is missing, `set` is called with a stream.
   *
   * @param key The key to store it under.
   * @param options `signal` aborts the writing, also that of the writer.
   * @returns The writer.
   */
  writer?(key: StoreKey, options?: StoreOptions): Promise<ByteWriter>;
  /**
   * Removes a value. No error if the key has none.
   *
   * @param key The key that it is stored under.
   * @param options `signal` aborts the operation.
   * @returns A promise for the end of the operation. Its value has no meaning.
   */
  delete?(key: StoreKey, options?: StoreOptions): Promise<unknown>;
  /**
   * Lists the keys that have a value, in no certain order.
   *
   * @param prefix The start of the keys, which may end within a name. Defaults to
   * `/`.
   * @param options `signal` aborts the operation.
   * @returns The keys, each once.
   */
  list?(prefix?: StoreKey, options?: StoreOptions): AsyncIterable<StoreKey>;
  /**
   * Returns values that are read, replaced and deleted together. Where the method is
   * missing, a reader beside a writer may read the values of two writes, and so may
   * everybody after a writer was killed.
   *
   * A class that inherits this method and has a `get`, `set` or the like of its own must
   * override this method as well; otherwise it counts as missing.
   *
   * @param key The key of the chunk that the values are parts of.
   * @param keys The keys of the values, in the order in which they are to be stored.
   * @returns The group. Nothing is read yet.
   */
  group?(key: StoreKey, keys: readonly StoreKey[]): StoreGroup;
  /**
   * Reads a range of one version of a value.
   *
   * @param version The version, as a group told it.
   * @param key The key of the value.
   * @param range Which of its bytes. An empty range asks only whether the version is
   * the present one.
   * @param options `signal` aborts the operation.
   * @returns The bytes, as `getRange` does; `undefined` if the key has another value by
   * now, or none.
   */
  getRangeOf?(
    version: StoreVersion,
    key: StoreKey,
    range: ByteRange,
    options?: StoreOptions,
  ): Promise<Uint8Array | undefined>;
  /**
   * Reads a range of one version of a value as a stream. Where the method is missing, a
   * long range is read in several ones by `getRangeOf`.
   *
   * @param version The version, as a group told it.
   * @param key The key of the value.
   * @param range Which of its bytes.
   * @param options `signal` aborts the operation, also while the stream is read.
   * @returns A stream of the bytes, all of this version; `undefined` if the key has
   * another value by now, or none.
   */
  streamRangeOf?(
    version: StoreVersion,
    key: StoreKey,
    range: ByteRange,
    options?: StoreOptions,
  ): Promise<ReadableStream<Uint8Array> | undefined>;
}
