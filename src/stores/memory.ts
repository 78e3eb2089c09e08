import { assertByteRange, resolveByteRange } from "./byte_range.ts";
import type {
  ByteRange,
  Store,
  StoreKey,
  StoreOptions,
  StoreSnapshot,
} from "./store.ts";
import { assertStoreKey } from "./store_key.ts";
import { assertStorePrefix } from "./store_prefix.ts";
import { abortable, discard, toBytes, toStream } from "./stream.ts";

/**
 * A store in memory. It keeps copies and gives copies: bytes that a caller
 * changes before or after never change the store.
 *
 * Every method throws a `RangeError` for a key that is not `/` and names joined
 * by `/`, and the signal's reason once the operation is aborted.
 *
 * @example
 * ```ts
 * import { MemoryStore } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const store = new MemoryStore([["/c/0", new Uint8Array([1, 2, 3])]]);
 * await store.set("/c/1", new Uint8Array([4]));
 *
 * assertEquals(await store.getRange("/c/0", { suffixLength: 2 }), new Uint8Array([2, 3]));
 * assertEquals(await store.get("/c/2"), undefined);
 * assertEquals(await Array.fromAsync(store.list()), ["/c/0", "/c/1"]);
 * ```
 */
export class MemoryStore implements Store {
  /** The arrays in it are never changed, only replaced, and never given away. */
  readonly #values = new Map<StoreKey, Uint8Array>();

  /**
   * Starts with copies of the given values.
   *
   * @param entries Keys and values to start with; of equal keys the last counts.
   * @throws {RangeError} If a key is not `/` and names joined by `/`.
   *
   * @example
   * ```ts
   * import { MemoryStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * assertEquals(await new MemoryStore().get("/c/0"), undefined);
   * ```
   */
  constructor(entries: Iterable<readonly [StoreKey, Uint8Array]> = []) {
    for (const [key, value] of entries) {
      assertStoreKey(key);
      this.#values.set(key, copy(value));
    }
  }

  /** A copy of the value, or `undefined` if the key has none. */
  async get(
    key: StoreKey,
    options?: StoreOptions,
  ): Promise<Uint8Array | undefined> {
    return (await this.#find(key, options))?.slice();
  }

  /** A copy of a range of the value, or `undefined` if the key has none. */
  async getRange(
    key: StoreKey,
    range: ByteRange,
    options?: StoreOptions,
  ): Promise<Uint8Array | undefined> {
    assertByteRange(range);
    const value = await this.#find(key, options);
    if (value === undefined) return undefined;
    const { start, end } = resolveByteRange(range, value.length);
    return value.slice(start, end);
  }

  /** The present value as a stream, or `undefined` if the key has none. */
  async stream(
    key: StoreKey,
    options?: StoreOptions,
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    const value = await this.#find(key, options);
    return value && abortable(toStream(value), options?.signal);
  }

  /** The value's length in bytes, or `undefined` if the key has none. */
  async size(
    key: StoreKey,
    options?: StoreOptions,
  ): Promise<number | undefined> {
    return (await this.#find(key, options))?.length;
  }

  /**
   * Stores a copy of the value, once all of it is there. If a stream fails, the
   * earlier value stays; if the operation does, the stream is cancelled.
   */
  async set(
    key: StoreKey,
    value: Uint8Array | ReadableStream<Uint8Array>,
    options?: StoreOptions,
  ): Promise<void> {
    try {
      check(key, options);
      this.#values.set(
        key,
        value instanceof Uint8Array
          ? copy(value)
          : await toBytes(value, options),
      );
    } catch (error) {
      await discard(value, error);
      throw error;
    }
  }

  /** Removes the value. No error if the key has none. */
  // deno-lint-ignore require-await -- so that a bad key is a rejection
  async delete(key: StoreKey, options?: StoreOptions): Promise<void> {
    check(key, options);
    this.#values.delete(key);
  }

  /** All keys that start with `prefix`, in the order they were first set. */
  async *list(
    prefix: StoreKey = "/",
    options?: StoreOptions,
  ): AsyncIterable<StoreKey> {
    assertStorePrefix(prefix);
    options?.signal?.throwIfAborted();
    for (const key of this.#values.keys()) {
      if (!key.startsWith(prefix)) continue;
      yield key;
      options?.signal?.throwIfAborted();
    }
  }

  /** Keeps the present value of a key, without a copy, until it is restored. */
  async snapshot(
    key: StoreKey,
    options?: StoreOptions,
  ): Promise<StoreSnapshot> {
    const value = await this.#find(key, options);
    return {
      restore: () => {
        if (value === undefined) this.#values.delete(key);
        else this.#values.set(key, value);
        return Promise.resolve();
      },
      release: () => Promise.resolve(),
    };
  }

  // deno-lint-ignore require-await -- so that a bad key is a rejection
  async #find(
    key: StoreKey,
    options: StoreOptions | undefined,
  ): Promise<Uint8Array | undefined> {
    check(key, options);
    return this.#values.get(key);
  }
}

function check(key: StoreKey, options: StoreOptions | undefined): void {
  assertStoreKey(key);
  options?.signal?.throwIfAborted();
}

/** Not `slice`, which on a `Buffer` of Node is a view of the same memory. */
function copy(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}
