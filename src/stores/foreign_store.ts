import { assertSizeLimit } from "../errors/mod.ts";
import { copyBytes, isSameBytes, ownBytes } from "../runtime/mod.ts";
import type { Backend, Snapshot, ValuesOptions } from "./backend.ts";
import { BaseStore, BaseWritableStore } from "./base_store.ts";
import { abortable, rangeStream, toStream } from "./byte_streams.ts";
import { LockedStore } from "./locked_store.ts";
import {
  type ByteRange,
  lengthOfByteRange,
  resolveByteRange,
  type Store,
  type StoreKey,
  type StoreOptions,
  type StoreVersion,
} from "./store.ts";

/** The methods of `Store` that the base classes make of those of a backend. */
const DERIVED = [
  "get",
  "getRange",
  "stream",
  "size",
  "set",
  "writer",
  "delete",
] as const;

const adapters = /* @__PURE__ */ new WeakMap<Store, BaseStore & Backend>();

/**
 * The backend of any store: a store of this package is one; any other is adapted, also a
 * subclass with a `get`, `set` or the like of its own. A store object has one adapter.
 */
export function backendOf(store: Store): BaseStore & Backend {
  if (store instanceof BaseStore && hasDerivedMethods(store)) return store;
  let backend = adapters.get(store);
  if (backend === undefined) {
    backend = new ForeignStore(store);
    adapters.set(store, backend);
  }
  return backend;
}

function hasDerivedMethods(store: Store): boolean {
  const { prototype } = BaseWritableStore;
  return DERIVED.every((name) =>
    store[name] === undefined || store[name] === prototype[name]
  );
}

/**
 * A store that knows no versions and writes one value at a time, whatever methods it has.
 * Writers of this process exclude each other and readers; a failed write puts the earlier
 * values back. Values that writers of other processes store meanwhile can be mixed or lost.
 */
class ForeignStore extends LockedStore {
  readonly #store: Store;
  /**
   * The versions of values, which last until the values are changed through the same store
   * object. They have neither tags nor sizes, since changes by others are not noticed.
   */
  readonly #versions = new Map<StoreKey, StoreVersion>();
  /** How many changes have begun, and how many of them have ended. */
  #begun = 0;
  #ended = 0;
  /** Whether the store may add zeros to ranges: it has returned memory of Node. */
  #mayPad = false;

  constructor(store: Store) {
    super();
    this.#store = store;
    const isReadOnly = typeof store.set !== "function";
    const missing = [
      ...isReadOnly ? ["prepare", "update", "set", "writer"] : [],
      ...isReadOnly || !store.delete ? ["remove", "delete"] : [],
      ...store.list ? [] : ["list"],
    ];
    for (const name of missing) {
      Object.defineProperty(this, name, { value: undefined });
    }
  }

  /**
   * Reads one value without a lock, and again under the lock if that took several requests
   * and there was a change meanwhile.
   */
  override async read<T>(
    keys: readonly StoreKey[],
    task: (values: Snapshot) => Promise<T>,
    { signal, name = keys[0]! }: ValuesOptions = {},
  ): Promise<T> {
    const run = () => task(this.snapshot(keys, signal));
    if (!this.#store.set) return await run();
    if (keys.length > 1) return await this.locks.read(name, run);
    const counts = { reads: 0 };
    const ended = this.#ended;
    const isMixed = () => counts.reads > 1 && this.#begun !== ended;
    try {
      const result = await task(this.snapshot(keys, signal, counts));
      if (!isMixed()) return result;
    } catch (error) {
      if (!isMixed()) throw error;
    }
    return await this.locks.read(name, run);
  }

  async readOf(
    version: StoreVersion,
    key: StoreKey,
    range: ByteRange,
    options?: StoreOptions,
  ): Promise<Uint8Array | undefined> {
    const isPresent = () => this.#versions.get(key) === version;
    if (!isPresent()) return undefined;
    const bytes = lengthOfByteRange(range) === 0
      ? new Uint8Array()
      : await this.snapshot([key], options?.signal).read(key, range);
    return isPresent() ? bytes : undefined;
  }

  list(prefix: StoreKey, options?: StoreOptions): AsyncIterable<StoreKey> {
    return this.#store.list!(prefix, options);
  }

  protected override snapshot(
    _: readonly StoreKey[],
    signal: AbortSignal | undefined,
    counts = { reads: 0 },
  ): Snapshot {
    const absent = new Set<StoreKey>();
    const note = <T>(key: StoreKey, result: T) => {
      if (result === undefined) absent.add(key);
      return result;
    };
    const options = signal ? { signal } : {};
    const store = this.#store;
    const ended = this.#ended;
    return {
      async size(key) {
        signal?.throwIfAborted();
        counts.reads++;
        return note(
          key,
          typeof store.size === "function"
            ? await store.size(key, options)
            : (await store.get(key, options))?.length,
        );
      },
      read: async (key, range, { limit } = {}) => {
        signal?.throwIfAborted();
        counts.reads++;
        if (range !== undefined) {
          return note(key, await this.#range(key, range, options));
        }
        const bytes = await store.get(
          key,
          limit === undefined ? options : { ...options, limit },
        );
        if (bytes) assertSizeLimit(key, limit, bytes.length);
        return note(key, bytes && copyBytes(bytes)); // The store may keep its memory.
      },
      async stream(key, range) {
        signal?.throwIfAborted();
        if (typeof store.stream !== "function") {
          const bytes = await this.read(key, range);
          return bytes && abortable(toStream(bytes), signal);
        }
        const stream = await store.stream(key, options);
        return range && stream
          ? stream.pipeThrough(rangeStream(range))
          : stream;
      },
      version: (key) => {
        // A value that was read before or during a change may be an earlier one.
        if (absent.has(key) || this.#begun !== ended) return undefined;
        return this.#versionOf(key);
      },
    };
  }

  #versionOf(key: StoreKey): StoreVersion {
    let version = this.#versions.get(key);
    if (version === undefined) {
      const release = () => {
        if (this.#versions.get(key) === version) this.#versions.delete(key);
      };
      version = { isLasting: true, ownChangesOnly: true, release };
      this.#versions.set(key, version);
    }
    return version;
  }

  protected override async replace(
    keys: readonly StoreKey[],
    values: readonly Uint8Array[] | undefined,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    this.#begun++;
    for (const key of keys) this.#versions.delete(key);
    try {
      await replace(
        this.#store,
        keys,
        values?.map(ownBytes),
        signal ? { signal } : {},
      );
    } finally {
      this.#ended++;
    }
  }

  /**
   * Reads a range. zarrita's store of files pads ranges past the end of a value with
   * zeros, and its store of URLs refuses a range that starts there: such a range is cut
   * out of the whole value. A store with `size` is trusted to cut ranges itself.
   */
  async #range(
    key: StoreKey,
    range: ByteRange,
    options: StoreOptions,
  ): Promise<Uint8Array | undefined> {
    const store = this.#store;
    if (lengthOfByteRange(range) === 0) {
      const size = await this.snapshot([key], options.signal).size(key);
      return size === undefined ? undefined : new Uint8Array();
    }
    const isTrusted = typeof store.size === "function";
    if (typeof store.getRange === "function") {
      try {
        if (!this.#mayPad) {
          const bytes = await this.#request(key, range, options);
          this.#mayPad = !isTrusted && bytes?.at(-1) === 0 &&
            bytes.constructor !== Uint8Array;
          if (!this.#mayPad) return bytes && copyBytes(bytes);
        }
        const bytes = await this.#unpadded(key, range, options);
        if (bytes !== "unknown") return bytes;
      } catch (error) {
        const isRefused = error instanceof RangeError ||
          /\b416\b/.test(String(error));
        if (!isRefused || isTrusted) throw error;
      }
    }
    const value = await store.get(key, options);
    if (value === undefined) return undefined;
    const { start, end } = resolveByteRange(range, value.length);
    return copyBytes(value, start, end);
  }

  /**
   * Reads a range with some bytes more. If it ends with zeros, and zeros follow, the store
   * may have added them, unless the value ends with as many zeros as the range.
   */
  async #unpadded(
    key: StoreKey,
    range: ByteRange,
    options: StoreOptions,
  ): Promise<Uint8Array | "unknown" | undefined> {
    const length = lengthOfByteRange(range);
    const more = "offset" in range
      ? { offset: range.offset, length: length + MORE }
      : range;
    const read = await this.#request(key, more, options);
    if (read === undefined) return undefined;
    const bytes = copyBytes(read, 0, length);
    const isZero = (byte: number) => byte === 0;
    const isFollowed = !read.subarray(length - 1).every(isZero);
    if (isFollowed || read.length < lengthOfByteRange(more)) return bytes;
    const zeros = length - 1 - bytes.findLastIndex((byte) => byte !== 0);
    if (zeros === length) return "unknown";
    const end = await this.#request(key, { suffixLength: zeros }, options);
    return end?.length === zeros && end.every(isZero) ? bytes : "unknown";
  }

  async #request(
    key: StoreKey,
    range: ByteRange,
    options: StoreOptions,
  ): Promise<Uint8Array | undefined> {
    const bytes = await this.#store.getRange!(key, range, options);
    const length = lengthOfByteRange(range);
    if (bytes === undefined || bytes.length <= length) return bytes;
    throw new Error(
      `Expected at most ${length} bytes of ${
        JSON.stringify(key)
      } from the store, found ${bytes.length}`,
    );
  }
}

/** How many bytes after a range are read from a store that may add zeros to ranges. */
const MORE = 64;

/** Stores or deletes values one after the other. A failure puts the earlier values back. */
async function replace(
  store: Store,
  keys: readonly StoreKey[],
  values: readonly Uint8Array[] | undefined,
  options: StoreOptions,
): Promise<void> {
  const put = async (
    key: StoreKey,
    bytes: Uint8Array | undefined,
    options?: StoreOptions,
  ) => {
    if (bytes !== undefined) return await store.set!(key, bytes, options);
    assertDeletes(store, key);
    try {
      await store.delete!(key, options);
    } catch (error) {
      // zarrita's store of files refuses to delete what is absent.
      if (await store.get(key) !== undefined) throw error;
    }
  };
  if (keys.length === 1) return await put(keys[0]!, values?.[0], options);
  const earlier: (Uint8Array | undefined)[] = [];
  for (const key of keys) {
    const bytes = await store.get(key);
    earlier.push(bytes && copyBytes(bytes));
  }
  const changed: StoreKey[] = [];
  try {
    for (const [i, key] of keys.entries()) {
      changed.push(key);
      await put(key, values?.[i]);
    }
  } catch (error) {
    const failures: unknown[] = [];
    for (const [i, key] of changed.entries()) {
      try {
        if (isSameBytes(await store.get(key), earlier[i])) continue;
        await put(key, earlier[i]);
      } catch (failure) {
        failures.push(failure);
      }
    }
    if (failures.length === 0) throw error;
    throw new AggregateError(
      [error, ...failures],
      `The values ${
        JSON.stringify(keys)
      } could not be changed, and could not be restored either: they may belong to different writes`,
    );
  }
}

/** Refuses a store that cannot delete. */
export function assertDeletes(store: Store, key: StoreKey): void {
  if (typeof store.delete === "function") return;
  throw new TypeError(
    `Cannot remove key ${
      JSON.stringify(key)
    }: the store has no "delete" method`,
  );
}
