import type {
  Backend,
  ChangeOptions,
  PendingValues,
  Snapshot,
  Update,
  ValuesOptions,
} from "./backend.ts";
import {
  abortable,
  assertPiece,
  assertValue,
  discard,
  takeShortcut,
} from "./byte_streams.ts";
import { inspectAsString } from "./describe_store.ts";
import {
  assertByteRange,
  type ByteRange,
  type ByteWriter,
  type GetOptions,
  type Store,
  type StoreKey,
  type StoreOptions,
  writeAll,
} from "./store.ts";
import { assertStoreKey, assertStorePrefix } from "./store_key.ts";

/**
 * The base class of the stores of this package: makes the methods of {@linkcode Store}
 * that read of {@linkcode Backend.read}. It checks keys and ranges, so that backends need
 * not.
 *
 * @example A store of squares
 * ```ts
 * import { BaseStore, type Snapshot, type StoreKey } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * class Squares extends BaseStore {
 *   override read<T>(_: readonly StoreKey[], task: (values: Snapshot) => Promise<T>) {
 *     const square = (key: StoreKey) => new Uint8Array([Number(key.slice(1)) ** 2]);
 *     return task({
 *       size: () => Promise.resolve(1),
 *       read: (key) => Promise.resolve(square(key)),
 *       stream: (key) => Promise.resolve(new Blob([square(key)]).stream()),
 *       version: () => undefined,
 *     });
 *   }
 * }
 * assertEquals(await new Squares().get("/7"), new Uint8Array([49]));
 * ```
 */
export abstract class BaseStore implements Store, Backend {
  /** See {@linkcode Backend.read}. */
  abstract read<T>(
    keys: readonly StoreKey[],
    task: (values: Snapshot) => Promise<T>,
    options?: ValuesOptions,
  ): Promise<T>;

  /**
   * Refuses a key that is not valid in this store.
   *
   * @param key The key.
   */
  protected checkKey(key: StoreKey): void {
    assertStoreKey(key);
  }

  /**
   * Reads a whole value.
   *
   * @param key The key that it is stored under.
   * @param options `signal` aborts the operation; `limit` is the greatest length of the
   * value in bytes.
   * @returns Its bytes, or `undefined` if the key has no value.
   * @throws {SizeLimitError} If the value is longer than `limit`.
   */
  async get(
    key: StoreKey,
    options?: GetOptions,
  ): Promise<Uint8Array | undefined> {
    this.checkKey(key);
    options?.signal?.throwIfAborted();
    return await this.read(
      [key],
      (values) => values.read(key, undefined, options),
      options,
    );
  }

  /**
   * Reads a range of a value.
   *
   * @param key The key that it is stored under.
   * @param range Which of its bytes.
   * @param options `signal` aborts the operation.
   * @returns The bytes, or `undefined` if the key has no value. Fewer bytes where the
   * range goes past the end of the value; none where it starts there.
   */
  async getRange(
    key: StoreKey,
    range: ByteRange,
    options?: StoreOptions,
  ): Promise<Uint8Array | undefined> {
    this.checkKey(key);
    assertByteRange(range);
    options?.signal?.throwIfAborted();
    return await this.read([key], (values) => values.read(key, range), options);
  }

  /**
   * Reads a whole value as a stream.
   *
   * @param key The key that it is stored under.
   * @param options `signal` aborts the operation, also while the stream is read.
   * @returns A stream of its bytes, or `undefined` if the key has no value.
   */
  async stream(
    key: StoreKey,
    options?: StoreOptions,
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    this.checkKey(key);
    options?.signal?.throwIfAborted();
    const stream = await this.read(
      [key],
      (values) => values.stream(key),
      options,
    );
    return stream && abortable(stream, options?.signal);
  }

  /**
   * Tells how long a value is.
   *
   * @param key The key that it is stored under.
   * @param options `signal` aborts the operation.
   * @returns Its length in bytes, or `undefined` if the key has no value.
   */
  async size(
    key: StoreKey,
    options?: StoreOptions,
  ): Promise<number | undefined> {
    this.checkKey(key);
    options?.signal?.throwIfAborted();
    return await this.sizeOf(key, options);
  }

  /** Tells the length of the value of a valid key, for stores that have a shorter way than a snapshot. */
  protected sizeOf(
    key: StoreKey,
    options?: StoreOptions,
  ): Promise<number | undefined> {
    return this.read([key], (values) => values.size(key), options);
  }
}

/**
 * The base class of the stores of this package that can write: makes the methods of
 * {@linkcode Store} that change values of {@linkcode Backend.prepare} and
 * {@linkcode Backend.remove}.
 *
 * @example
 * ```ts
 * import { BaseWritableStore, MemoryStore } from "@zarr-parts/zarr-parts";
 * import { assert } from "@std/assert";
 *
 * assert(new MemoryStore() instanceof BaseWritableStore);
 * ```
 */
export abstract class BaseWritableStore extends BaseStore {
  /** See {@linkcode Backend.prepare}. */
  abstract prepare(
    keys: readonly StoreKey[],
    options?: ChangeOptions,
  ): Promise<PendingValues>;

  /** See {@linkcode Backend.remove}. */
  abstract remove(
    keys: readonly StoreKey[],
    options?: ChangeOptions,
  ): Promise<void>;

  /** See {@linkcode Backend.update}. */
  abstract update(
    keys: readonly StoreKey[],
    change: (values: Snapshot) => Promise<Update>,
    options?: ValuesOptions,
  ): Promise<void>;

  /**
   * Stores a value atomically: a failure keeps the earlier value.
   *
   * @param key The key to store it under.
   * @param value Its bytes, or a stream of them, which is cancelled on failure.
   * @param options `signal` aborts the operation.
   */
  async set(
    key: StoreKey,
    value: Uint8Array | ReadableStream<Uint8Array>,
    options?: StoreOptions,
  ): Promise<void> {
    try {
      this.checkKey(key);
      assertValue(value);
      options?.signal?.throwIfAborted();
      await (value instanceof Uint8Array
        ? this.setBytes(key, value, options)
        : this.setStream(key, value, options));
    } catch (error) {
      await discard(value, error);
      throw error;
    }
  }

  /** Stores bytes under a valid key, for stores that have a shorter way than pending values. */
  protected setBytes(
    key: StoreKey,
    bytes: Uint8Array,
    options?: StoreOptions,
  ): Promise<void> {
    return setValue(this, key, bytes, options);
  }

  /** Stores a stream under a valid key, for stores that have a shorter way than pending values. */
  protected setStream(
    key: StoreKey,
    stream: ReadableStream<Uint8Array>,
    options?: StoreOptions,
  ): Promise<void> {
    return setValue(this, key, stream, options);
  }

  /**
   * Opens a value for writing piece by piece, from memory that the caller reuses. The
   * value is stored by `close`; `abort` keeps the earlier one.
   *
   * @param key The key to store it under.
   * @param options `signal` aborts the writing, also that of the writer.
   * @returns The writer.
   */
  async writer(key: StoreKey, options?: StoreOptions): Promise<ByteWriter> {
    this.checkKey(key);
    options?.signal?.throwIfAborted();
    const pending = await this.prepare([key], options);
    const writer = await pending.writer(key);
    let isAborted = false;
    return {
      write: (bytes) => writer.write(bytes),
      async close() {
        if (isAborted) throw new TypeError("Cannot close an aborted writer");
        try {
          await writer.close();
          await pending.commit();
        } catch (error) {
          await pending.abort(error);
          throw error;
        }
      },
      async abort(reason) {
        isAborted = true;
        await pending.abort(reason);
      },
    };
  }

  /**
   * Removes a value. No error if the key has none.
   *
   * @param key The key that it is stored under.
   * @param options `signal` aborts the operation.
   */
  async delete(key: StoreKey, options?: StoreOptions): Promise<void> {
    this.checkKey(key);
    options?.signal?.throwIfAborted();
    await this.remove([key], options);
  }
}

/**
 * Returns a store of the values of a backend. It can write and delete if the backend can
 * write, and list if that can list.
 *
 * @param toString Describes the store, for messages.
 */
export function storeOf(
  backend: Backend,
  toString: () => string,
): Store & Backend {
  const { prototype } = backend.prepare ? BaseWritableStore : BaseStore;
  const store = Object.create(prototype);
  for (const name of ["read", "readOf", "prepare", "remove", "update"]) {
    const method = backend[name as keyof Backend];
    if (method) store[name] = method.bind(backend);
  }
  if (backend.prepare && !backend.remove) store.delete = undefined;
  if (backend.list) {
    store.list = async function* (
      prefix: StoreKey = "/",
      options?: StoreOptions,
    ) {
      assertStorePrefix(prefix);
      options?.signal?.throwIfAborted();
      yield* backend.list!(prefix, options);
    };
  }
  store.toString = toString;
  inspectAsString(store);
  return store;
}

/** Stores one value from bytes or a stream in a backend that can write. */
export async function setValue(
  backend: Pick<Backend, "prepare">,
  key: StoreKey,
  value: Uint8Array | ReadableStream<Uint8Array>,
  options?: ChangeOptions,
  check?: (values: Snapshot) => Promise<void>,
): Promise<void> {
  const pending = await backend.prepare!([key], options);
  try {
    if (value instanceof Uint8Array) await pending.set(key, value);
    else {
      const writer = await pending.writer(key);
      await pipeInto(value, writer, options);
      await writer.close();
    }
    options?.signal?.throwIfAborted();
    await pending.commit(check);
  } catch (error) {
    await pending.abort(error);
    throw error;
  }
}

/** Writes the bytes of a stream, which is cancelled if writing fails. */
async function pipeInto(
  stream: ReadableStream<Uint8Array>,
  writer: ByteWriter,
  { signal }: StoreOptions = {},
): Promise<void> {
  const drain = takeShortcut(stream, "drain");
  if (drain !== undefined) {
    const { write } = writer;
    return await drain(
      { write: write.bind(writer), close() {} },
      signal && { signal },
    );
  }
  // A stream that is piped into another one costs several times as much for a small value.
  const reader = stream.getReader();
  const cancel = () => void reader.cancel(signal!.reason).catch(() => {});
  signal?.addEventListener("abort", cancel);
  try {
    while (true) {
      signal?.throwIfAborted();
      const { done, value } = await reader.read();
      signal?.throwIfAborted();
      if (done) return;
      assertPiece(value);
      await writeAll(writer, value);
    }
  } catch (error) {
    await reader.cancel(error).catch(() => {});
    throw error;
  } finally {
    signal?.removeEventListener("abort", cancel);
    reader.releaseLock();
  }
}
