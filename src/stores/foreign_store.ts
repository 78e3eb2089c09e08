import { assertSizeLimit } from "../errors/mod.ts";
import { copyBytes, isSameBytes, ownBytes } from "../runtime/mod.ts";
import type {
  Backend,
  ChangeOptions,
  Snapshot,
  Update,
  ValuesOptions,
} from "./backend.ts";
import { BaseStore, BaseWritableStore } from "./base_store.ts";
import { abortable, rangeStream, toStream } from "./byte_streams.ts";
import { KeyLocks } from "./locks.ts";
import { MemoryPendingValues } from "./memory_store.ts";
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

const adapters = /* @__PURE__ */ new WeakMap<Store, Backend>();

/**
 * The backend of any store: a store of this package is one; any other is adapted, also a
 * subclass with a `get`, `set` or the like of its own. A store object has one adapter.
 */
export function backendOf(store: Store): Backend {
  if (store instanceof BaseStore && hasDerivedMethods(store)) return store;
  let backend = adapters.get(store);
  if (backend === undefined) {
    backend = adapt(store);
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
 * Makes a backend of a store that knows no versions and writes one value at a time. Its
 * versions last until a value is changed through the same store object.
 * Writers of this process exclude each other; a failed write puts the earlier values
 * back. Values that writers of other processes store meanwhile can be mixed or lost.
 */
function adapt(store: Store): Backend {
  const locks = new KeyLocks();
  const source = new ForeignSource(store);
  const read: Backend["read"] = (keys, task, options = {}) => {
    const { signal, name = keys[0]! } = options;
    const run = () => task(source.snapshot(signal));
    if (!store.set) return run();
    return keys.length > 1
      ? locks.read(name, run)
      : source.readSingle(signal, task, () => locks.read(name, run));
  };
  const list: Pick<Backend, "list"> = typeof store.list === "function"
    ? { list: (prefix, options) => store.list!(prefix, options) }
    : {};
  const readOf: Backend["readOf"] = async (version, key, range, options) => {
    if (!source.versions.isPresent(version, key)) return undefined;
    const bytes = lengthOfByteRange(range) === 0
      ? new Uint8Array()
      : await source.snapshot(options?.signal).read(key, range);
    return source.versions.isPresent(version, key) ? bytes : undefined;
  };
  if (typeof store.set !== "function") return { read, readOf, ...list };
  const versions = source.versions;
  const change = (
    keys: readonly StoreKey[],
    options: ChangeOptions,
    task: () => Promise<Update>,
  ) => {
    const { name = keys[0]!, signal, exclusive } = options;
    const run = async () => {
      const update = await task();
      if (update === "keep") return;
      signal?.throwIfAborted();
      const values = update === "delete" ? undefined : update.map(ownBytes);
      await versions.change(
        keys,
        () => replace(store, keys, values, signal ? { signal } : {}),
      );
    };
    return exclusive ? run() : locks.write(name, run, signal && { signal });
  };
  return {
    read,
    readOf,
    ...list,
    prepare(keys, options = {}) {
      return Promise.resolve(
        new MemoryPendingValues(
          keys,
          options.signal,
          (values, check) =>
            change(keys, options, async () => {
              await check?.(source.snapshot(options.signal));
              return keys.map((key) => values.get(key)!);
            }),
        ),
      );
    },
    ...typeof store.delete === "function" && {
      remove: (keys: readonly StoreKey[], options: ChangeOptions = {}) =>
        change(keys, options, () => Promise.resolve("delete")),
    },
    update: (keys, task, options: ValuesOptions = {}) =>
      change(keys, options, () => task(source.snapshot(options.signal))),
  };
}

/**
 * The versions of the values of a foreign store, which last until the values are changed
 * through the same store object. They have neither tags nor sizes, since changes by others
 * are not noticed.
 */
class ForeignVersions {
  readonly #present = new Map<StoreKey, StoreVersion>();
  #changes = 0;
  #running = 0;

  /** Counts the changes that have begun; `undefined` during a change. */
  get state(): number | undefined {
    return this.#running > 0 ? undefined : this.#changes;
  }

  /** Returns the version of a value that was read since a state; `undefined` if there was a change. */
  since(state: number | undefined, key: StoreKey): StoreVersion | undefined {
    if (state === undefined || state !== this.state) return undefined;
    let version = this.#present.get(key);
    if (version === undefined) {
      const release = () => {
        if (this.isPresent(version!, key)) this.#present.delete(key);
      };
      version = { isLasting: true, ownChangesOnly: true, release };
      this.#present.set(key, version);
    }
    return version;
  }

  isPresent(version: StoreVersion, key: StoreKey): boolean {
    return this.#present.get(key) === version;
  }

  /** Runs a task that changes values. */
  async change(
    keys: readonly StoreKey[],
    task: () => Promise<void>,
  ): Promise<void> {
    this.#changes++;
    this.#running++;
    for (const key of keys) this.#present.delete(key);
    try {
      await task();
    } finally {
      this.#running--;
    }
  }
}

/** Reads the values of a store, whatever methods it has. */
class ForeignSource {
  readonly versions = new ForeignVersions();
  readonly #store: Store;
  /** Whether the store may add zeros to ranges: it has returned memory of Node. */
  #mayPad = false;

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Runs a task that reads one value. One read needs no lock. If there are several, and
   * there was a change meanwhile, `again` runs the task under the lock of the value.
   */
  async readSingle<T>(
    signal: AbortSignal | undefined,
    task: (values: Snapshot) => Promise<T>,
    again: () => Promise<T>,
  ): Promise<T> {
    const { state } = this.versions;
    const counts = { reads: 0 };
    const isMixed = () =>
      counts.reads > 1 &&
      (state === undefined || state !== this.versions.state);
    try {
      const result = await task(this.snapshot(signal, counts));
      if (!isMixed()) return result;
    } catch (error) {
      if (!isMixed()) throw error;
    }
    return await again();
  }

  /** @param counts Counts the reads of the snapshot. */
  snapshot(
    signal: AbortSignal | undefined,
    counts: { reads: number } = { reads: 0 },
  ): Snapshot {
    const absent = new Set<StoreKey>();
    const note = <T>(key: StoreKey, result: T) => {
      if (result === undefined) absent.add(key);
      return result;
    };
    const options = signal ? { signal } : {};
    const store = this.#store;
    const { versions } = this;
    const { state } = versions;
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
      version: (key) =>
        absent.has(key) ? undefined : versions.since(state, key),
    };
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
      const size = await this.snapshot(options.signal).size(key);
      return size === undefined ? undefined : new Uint8Array();
    }
    if (typeof store.getRange !== "function") {
      return cut(await store.get(key, options), range);
    }
    try {
      const bytes = this.#mayPad
        ? await this.#unpadded(key, range, options)
        : await this.#request(key, range, options);
      const isSuspect = bytes && !this.#mayPad &&
        typeof store.size !== "function" &&
        bytes.constructor !== Uint8Array && bytes.at(-1) === 0;
      if (!isSuspect) return bytes && copyBytes(bytes);
      this.#mayPad = true;
      return await this.#range(key, range, options);
    } catch (error) {
      const isRefused = error instanceof RangeError ||
        /\b416\b/.test(String(error));
      if (!isRefused || typeof store.size === "function") throw error;
      return cut(await store.get(key, options), range);
    }
  }

  /**
   * Reads a range with some bytes more. If it ends with zeros, and zeros follow, the store
   * may have added them: then the value ends with fewer zeros than the range.
   */
  async #unpadded(
    key: StoreKey,
    range: ByteRange,
    options: StoreOptions,
  ): Promise<Uint8Array | undefined> {
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
    if (zeros < length) {
      const suffix = { suffixLength: zeros };
      const end = await this.#request(key, suffix, options);
      if (end?.length === zeros && end.every(isZero)) return bytes;
    }
    return cut(await this.#store.get(key, options), range);
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

function cut(
  value: Uint8Array | undefined,
  range: ByteRange,
): Uint8Array | undefined {
  if (value === undefined) return undefined;
  const { start, end } = resolveByteRange(range, value.length);
  return copyBytes(value, start, end);
}

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
    if (bytes !== undefined) await store.set!(key, bytes, options);
    else if (typeof store.delete === "function") {
      try {
        await store.delete(key, options);
      } catch (error) {
        // zarrita's store of files refuses to delete what is absent.
        if (await store.get(key) !== undefined) throw error;
      }
    } else {
      throw new TypeError(
        `Cannot remove key ${
          JSON.stringify(key)
        }: the store has no "delete" method`,
      );
    }
  };
  if (keys.length === 1) return await put(keys[0]!, values?.[0], options);
  const earlier: (Uint8Array | undefined)[] = [];
  for (const key of keys) {
    const bytes = await store.get(key);
    earlier.push(bytes && copyBytes(bytes));
  }
  let changed = 0;
  try {
    for (const [i, key] of keys.entries()) {
      changed++;
      await put(key, values?.[i]);
    }
  } catch (error) {
    const failures: unknown[] = [];
    for (const [i, key] of keys.slice(0, changed).entries()) {
      try {
        if (!isSameBytes(await store.get(key), earlier[i])) {
          await put(key, earlier[i]);
        }
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
