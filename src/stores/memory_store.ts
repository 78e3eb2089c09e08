import { assertSizeLimit } from "../errors/mod.ts";
import { copyBytes, joinBytes } from "../runtime/mod.ts";
import { abortable, discard, toBytes, toStream } from "./byte_streams.ts";
import { assertAllGiven, assertInGroup } from "./capabilities.ts";
import { inspectAsString } from "./describe_store.ts";
import { KeyLocks } from "./locks.ts";
import type { Recovery } from "./recover.ts";
import {
  assertByteRange,
  type ByteRange,
  type ByteWriter,
  type GetOptions,
  type GroupValues,
  type GroupWriter,
  resolveByteRange,
  type Store,
  type StoreGroup,
  type StoreKey,
  type StoreOptions,
  type StoreVersion,
} from "./store.ts";
import { assertStoreKey, assertStorePrefix } from "./store_key.ts";

/**
 * A store in memory. It copies values when they are stored and when they are read,
 * so that changes of a caller's bytes never change the store.
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
  /** The arrays are never changed and never returned, only replaced. */
  readonly #values = new Map<StoreKey, Uint8Array>();
  /** Reads the present values. */
  readonly #present = new MemoryValues(this.#values, assertStoreKey);

  /**
   * Creates a store with copies of the given values.
   *
   * @param entries Keys and values. The last one of equal keys is stored.
   * @throws {RangeError} If a key is not `/` and names joined by `/`.
   *
   * @example
   * ```ts
   * import { MemoryStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals, assertThrows } from "@std/assert";
   *
   * assertEquals(await new MemoryStore().get("/c/0"), undefined);
   * assertThrows(() => new MemoryStore([["/c//0", new Uint8Array()]]), RangeError);
   * ```
   */
  constructor(entries: Iterable<readonly [StoreKey, Uint8Array]> = []) {
    inspectAsString(this);
    for (const [key, value] of entries) {
      assertStoreKey(key);
      this.#values.set(key, copyBytes(value));
    }
  }

  /**
   * Reads a value.
   *
   * @param key The value's key.
   * @param options `signal` aborts the operation; `limit` is the greatest length of
   * the value in bytes.
   * @returns A copy, or `undefined` if the key has no value.
   * @throws {RangeError} If the key is not `/` and names joined by `/`.
   * @throws {SizeLimitError} If the value is longer than `limit`.
   *
   * @example The caller may change the copy
   * ```ts
   * import { MemoryStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const store = new MemoryStore([["/c/0", new Uint8Array([1, 2])]]);
   * (await store.get("/c/0"))?.fill(9);
   * assertEquals(await store.get("/c/0"), new Uint8Array([1, 2]));
   * ```
   */
  get(key: StoreKey, options?: GetOptions): Promise<Uint8Array | undefined> {
    return this.#present.get(key, options);
  }

  /**
   * Reads a range of a value.
   *
   * @param key The value's key.
   * @param range Which bytes: whole numbers from 0 to 2^53−1.
   * @param options `signal` aborts the operation.
   * @returns A copy, shorter where the range goes past the end of the value, or
   * `undefined` if the key has no value.
   * @throws {RangeError} If the key is not `/` and names joined by `/`, or the range
   * not of such numbers.
   *
   * @example Ranges past the end
   * ```ts
   * import { MemoryStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const store = new MemoryStore([["/c/0", new Uint8Array([1, 2, 3])]]);
   * assertEquals(await store.getRange("/c/0", { offset: 2, length: 9 }), new Uint8Array([3]));
   * assertEquals(await store.getRange("/c/0", { offset: 9, length: 9 }), new Uint8Array());
   * assertEquals(await store.getRange("/c/1", { offset: 0, length: 9 }), undefined);
   * ```
   */
  getRange(
    key: StoreKey,
    range: ByteRange,
    options?: StoreOptions,
  ): Promise<Uint8Array | undefined> {
    return this.#present.getRange(key, range, options);
  }

  /**
   * Reads the present value as a stream.
   *
   * @param key The value's key.
   * @param options `signal` aborts the operation, also while the stream is read.
   * @returns The stream, or `undefined` if the key has no value.
   * @throws {RangeError} If the key is not `/` and names joined by `/`.
   *
   * @example A value that is replaced while it is read
   * ```ts
   * import { MemoryStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const store = new MemoryStore([["/c/0", new Uint8Array([1, 2])]]);
   * const stream = await store.stream("/c/0");
   * await store.set("/c/0", new Uint8Array([9]));
   * assertEquals(await Array.fromAsync(stream!), [new Uint8Array([1, 2])]);
   * ```
   */
  stream(
    key: StoreKey,
    options?: StoreOptions,
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    return this.#present.stream(key, options);
  }

  /**
   * Tells how long a value is.
   *
   * @param key The value's key.
   * @param options `signal` aborts the operation.
   * @returns The length in bytes, or `undefined` if the key has no value.
   * @throws {RangeError} If the key is not `/` and names joined by `/`.
   *
   * @example An empty value is not an absent one
   * ```ts
   * import { MemoryStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const store = new MemoryStore([["/c/0", new Uint8Array()]]);
   * assertEquals(await store.size("/c/0"), 0);
   * assertEquals(await store.size("/c/1"), undefined);
   * ```
   */
  size(key: StoreKey, options?: StoreOptions): Promise<number | undefined> {
    return this.#present.size(key, options);
  }

  /**
   * Stores a copy of the value. If a stream fails, the earlier value stays; if the
   * operation fails, the stream is cancelled.
   *
   * @param key The value's key.
   * @param value The bytes, or a stream of them.
   * @param options `signal` aborts the operation.
   * @throws {RangeError} If the key is not `/` and names joined by `/`.
   * @throws {TypeError} If the value is neither a `Uint8Array` nor a stream.
   *
   * @example A stream that fails
   * ```ts
   * import { MemoryStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals, assertRejects } from "@std/assert";
   *
   * const store = new MemoryStore([["/c/0", new Uint8Array([1])]]);
   * const broken = new ReadableStream<Uint8Array>({
   *   pull: (controller) => controller.error(new Error("Connection lost")),
   * });
   * await assertRejects(() => store.set("/c/0", broken), Error, "Connection lost");
   * assertEquals(await store.get("/c/0"), new Uint8Array([1]));
   * ```
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
          ? copyBytes(value)
          : await toBytes(value, options),
      );
    } catch (error) {
      await discard(value, error);
      throw error;
    }
  }

  /**
   * Removes the value. No error if the key has none.
   *
   * @param key The value's key.
   * @param options `signal` aborts the operation.
   * @throws {RangeError} If the key is not `/` and names joined by `/`.
   *
   * @example One key, and not those below it
   * ```ts
   * import { MemoryStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const store = new MemoryStore([["/c", new Uint8Array()], ["/c/0", new Uint8Array()]]);
   * await store.delete("/c");
   * await store.delete("/c");
   * assertEquals(await Array.fromAsync(store.list()), ["/c/0"]);
   * ```
   */
  // deno-lint-ignore require-await -- so that a bad key is a rejection
  async delete(key: StoreKey, options?: StoreOptions): Promise<void> {
    check(key, options);
    this.#values.delete(key);
  }

  /**
   * Lists the keys in the order in which they were first set.
   *
   * @param prefix The start of the keys.
   * @param options `signal` aborts the operation.
   * @returns The keys.
   * @throws {RangeError} If no key can start with the prefix.
   *
   * @example A prefix that ends in the middle of a name
   * ```ts
   * import { MemoryStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const nothing = new Uint8Array();
   * const store = new MemoryStore([["/c/1", nothing], ["/c/2", nothing], ["/c/10", nothing]]);
   * assertEquals(await Array.fromAsync(store.list("/c/1")), ["/c/1", "/c/10"]);
   * assertEquals(await Array.fromAsync(store.list("/c/1/")), []);
   * ```
   */
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

  /**
   * Returns values that are replaced together, at one moment.
   *
   * @param key The key of the chunk that the values are parts of.
   * @param keys The keys of the values.
   * @returns The group. Nothing is read yet.
   * @throws {RangeError} If a key is not `/` and names joined by `/`.
   *
   * @example
   * ```ts
   * import { MemoryStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const store = new MemoryStore([["/c/0", new Uint8Array([1])]]);
   * const group = store.group("/c/0", ["/c/0", "/c/0.index"]);
   * assertEquals(await group.read((values) => values.size("/c/0")), 1);
   * await group.delete!();
   * assertEquals(await store.get("/c/0"), undefined);
   * ```
   */
  group(key: StoreKey, keys: readonly StoreKey[]): StoreGroup {
    for (const each of [key, ...keys]) assertStoreKey(each);
    // A class that overrides this method may not pass on the options that tell of a lock.
    const isOwn = this.group === MemoryStore.prototype.group;
    const locks = KeyLocks.of(isOwn ? this : this.#values);
    return new MemoryGroup(this.#values, locks, key, keys);
  }

  /**
   * Reads a range of one version of a value.
   *
   * @param version The version, as a group told it.
   * @param key The key that it is stored under.
   * @param range Which bytes: whole numbers from 0 to 2^53−1.
   * @param options `signal` aborts the operation.
   * @returns A copy of the bytes; `undefined` if the key has another value by now.
   * @throws {RangeError} If the range or the key is not valid.
   *
   * @example
   * ```ts
   * import { MemoryStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const store = new MemoryStore([["/c/0", new Uint8Array([1, 2])]]);
   * const version = await store.group("/c/0", ["/c/0"])
   *   .read((values) => Promise.resolve(values.version("/c/0")!));
   * assertEquals(
   *   await store.getRangeOf(version, "/c/0", { suffixLength: 1 }),
   *   new Uint8Array([2]),
   * );
   * ```
   */
  // deno-lint-ignore require-await -- so that a bad key is a rejection
  async getRangeOf(
    version: StoreVersion,
    key: StoreKey,
    range: ByteRange,
    options?: StoreOptions,
  ): Promise<Uint8Array | undefined> {
    assertByteRange(range);
    const value = this.#present.find(key, options);
    return version instanceof MemoryVersion && value === version.bytes
      ? sliceOf(version.bytes, range)
      : undefined;
  }

  /**
   * Does nothing: memory does not outlive a writer.
   *
   * @returns That nothing was done.
   *
   * @example
   * ```ts
   * import { MemoryStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * assertEquals((await new MemoryStore().recover()).written, []);
   * ```
   */
  recover(): Promise<Recovery> {
    const temporary = { files: 0, bytes: 0 };
    return Promise.resolve({ written: [], deleted: [], temporary });
  }

  /**
   * Describes the store, for messages; `console.log` prints this too.
   *
   * @returns The class, and the number of its keys.
   *
   * @example
   * ```ts
   * import { MemoryStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const store = new MemoryStore([["/c/0", new Uint8Array(4)]]);
   * assertEquals(String(store), "MemoryStore(1)");
   * ```
   */
  toString(): string {
    return `MemoryStore(${this.#values.size})`;
  }
}

function check(key: StoreKey, options: StoreOptions | undefined): void {
  assertStoreKey(key);
  options?.signal?.throwIfAborted();
}

/** Reads values in memory: those of a store, or those of a group at one moment. */
class MemoryValues implements GroupValues {
  readonly #values: ReadonlyMap<StoreKey, Uint8Array | undefined>;
  readonly #assertKey: (key: StoreKey) => void;

  /** @param assertKey Refuses keys. Called only for keys without a value, since stored keys are valid. */
  constructor(
    values: ReadonlyMap<StoreKey, Uint8Array | undefined>,
    assertKey: (key: StoreKey) => void,
  ) {
    this.#values = values;
    this.#assertKey = assertKey;
  }

  // deno-lint-ignore require-await -- so that a bad key is a rejection
  async get(
    key: StoreKey,
    options?: GetOptions,
  ): Promise<Uint8Array | undefined> {
    const value = this.find(key, options);
    if (value) assertSizeLimit(key, options?.limit, value.length);
    return value?.slice();
  }

  // deno-lint-ignore require-await -- so that a bad key is a rejection
  async getRange(
    key: StoreKey,
    range: ByteRange,
    options?: StoreOptions,
  ): Promise<Uint8Array | undefined> {
    assertByteRange(range);
    const value = this.find(key, options);
    return value && sliceOf(value, range);
  }

  // deno-lint-ignore require-await -- so that a bad key is a rejection
  async stream(
    key: StoreKey,
    options?: StoreOptions,
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    const value = this.find(key, options);
    return value && abortable(toStream(value), options?.signal);
  }

  // deno-lint-ignore require-await -- so that a bad key is a rejection
  async size(
    key: StoreKey,
    options?: StoreOptions,
  ): Promise<number | undefined> {
    return this.find(key, options)?.length;
  }

  version(key: StoreKey): StoreVersion | undefined {
    const value = this.find(key);
    return value && new MemoryVersion(value);
  }

  /** Returns the array of a value, which must not be changed. */
  find(key: StoreKey, options?: StoreOptions): Uint8Array | undefined {
    options?.signal?.throwIfAborted();
    const value = this.#values.get(key);
    if (value === undefined) this.#assertKey(key);
    return value;
  }
}

/** The tags of values in memory, by the arrays of their bytes. */
const tags = /* @__PURE__ */ new WeakMap<Uint8Array, string>();
/** The start of all tags, which no other process has. */
let tagPrefix: string | undefined;
let lastTag = 0;

/** The version of a value in memory: the array of its bytes, which is never changed. */
class MemoryVersion implements StoreVersion {
  readonly isLasting = true;
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  get size(): number {
    return this.bytes.length;
  }

  get tag(): string {
    let tag = tags.get(this.bytes);
    if (tag === undefined) {
      tagPrefix ??= crypto.randomUUID().slice(0, 13);
      tags.set(this.bytes, tag = `${tagPrefix}-${++lastTag}`);
    }
    return tag;
  }

  release(): void {}
}

/** Values in memory that are replaced together. */
class MemoryGroup implements StoreGroup {
  readonly #values: Map<StoreKey, Uint8Array>;
  readonly #locks: KeyLocks;
  readonly #key: StoreKey;
  readonly #keys: readonly StoreKey[];
  readonly #isLocked: boolean;

  /** @param isLocked Whether the lock of the group is held. */
  constructor(
    values: Map<StoreKey, Uint8Array>,
    locks: KeyLocks,
    key: StoreKey,
    keys: readonly StoreKey[],
    isLocked = false,
  ) {
    this.#values = values;
    this.#locks = locks;
    this.#key = key;
    this.#keys = keys;
    this.#isLocked = isLocked;
  }

  async read<T>(
    task: (values: GroupValues) => Promise<T>,
    { signal }: StoreOptions = {},
  ): Promise<T> {
    signal?.throwIfAborted();
    const keys = this.#keys;
    const values = new Map(keys.map((key) => [key, this.#values.get(key)]));
    return await task(
      new MemoryValues(values, (key) => assertInGroup(keys, key)),
    );
  }

  // deno-lint-ignore require-await -- so that an aborted signal is a rejection
  async write(options: StoreOptions = {}): Promise<GroupWriter> {
    options.signal?.throwIfAborted();
    return new MemoryGroupWriter(
      this.#keys,
      options.signal,
      (given) =>
        this.#change(options, () => {
          for (const [key, bytes] of given) this.#values.set(key, bytes);
        }),
    );
  }

  async delete(options: StoreOptions = {}): Promise<void> {
    await this.#change(options, () => {
      options.signal?.throwIfAborted();
      for (const key of this.#keys) this.#values.delete(key);
    });
  }

  async lock<T>(
    task: (group: StoreGroup) => Promise<T>,
    options: StoreOptions = {},
  ): Promise<T> {
    const [locks, key] = [this.#locks, this.#key];
    const locked = new MemoryGroup(this.#values, locks, key, this.#keys, true);
    return await locks.write(key, () => task(locked), options);
  }

  async #change(options: StoreOptions, change: () => void): Promise<void> {
    if (this.#isLocked) return change();
    const task = () => Promise.resolve(change());
    await this.#locks.write(this.#key, task, options);
  }
}

/** Collects the values of a group. */
class MemoryGroupWriter implements GroupWriter {
  readonly #keys: readonly StoreKey[];
  readonly #signal: AbortSignal | undefined;
  readonly #store: (given: Map<StoreKey, Uint8Array>) => Promise<void>;
  readonly #given = new Map<StoreKey, Uint8Array>();

  constructor(
    keys: readonly StoreKey[],
    signal: AbortSignal | undefined,
    store: (given: Map<StoreKey, Uint8Array>) => Promise<void>,
  ) {
    this.#keys = keys;
    this.#signal = signal;
    this.#store = store;
  }

  // deno-lint-ignore require-await -- so that a bad key is a rejection
  async set(key: StoreKey, bytes: Uint8Array): Promise<void> {
    this.#signal?.throwIfAborted();
    assertInGroup(this.#keys, key);
    this.#given.set(key, copyBytes(bytes));
  }

  // deno-lint-ignore require-await -- so that a bad key is a rejection
  async writer(key: StoreKey): Promise<ByteWriter> {
    this.#signal?.throwIfAborted();
    assertInGroup(this.#keys, key);
    const pieces: Uint8Array[] = [];
    return {
      // deno-lint-ignore require-await -- so that an aborted signal is a rejection
      write: async (bytes) => {
        this.#signal?.throwIfAborted();
        pieces.push(copyBytes(bytes));
        return bytes.length;
      },
      close: () => {
        this.#given.set(key, joinBytes(pieces));
      },
      abort: () => {},
    };
  }

  async close(): Promise<void> {
    assertAllGiven(this.#keys, this.#given);
    await this.#store(this.#given);
  }

  abort(): Promise<void> {
    this.#given.clear();
    return Promise.resolve();
  }
}

/** Copies a range of bytes. */
function sliceOf(bytes: Uint8Array, range: ByteRange): Uint8Array {
  const { start, end } = resolveByteRange(range, bytes.length);
  return bytes.slice(start, end);
}
