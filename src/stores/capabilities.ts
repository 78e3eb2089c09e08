import { assertSizeLimit } from "../errors/mod.ts";
import { isSameBytes } from "../runtime/mod.ts";
import { abortable, discard, toBytes, toStream } from "./byte_streams.ts";
import { describeStore } from "./describe_store.ts";
import {
  assertByteRange,
  type ByteRange,
  type GetOptions,
  lengthOfByteRange,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "./store.ts";
import { assertStoreKey } from "./store_key.ts";
import { cutRange, readUnsizedRange } from "./unsized_store.ts";

// The following functions accept any store, also a `Map`: they detect methods by their
// type, since the `size` of a `Map` is a number, and await results, since the methods of a
// `Map` return no promises. They also check signals, which some stores ignore.

const ownedMemory = new WeakSet<object>();

/** Notes that a store keeps no memory of values: the bytes that it returns, and those that it has stored, belong to the caller, who may transfer their memory. */
export function noteOwnedMemory(store: Store): void {
  ownedMemory.add(store);
}

/**
 * Whether the bytes that a store returns, and those that it has stored, belong to the caller.
 * Not so in a store such as a `Map`, which keeps and returns the same memory. A wrapper of
 * such a store is another store.
 */
export function givesOwnedMemory(store: Store): boolean {
  return ownedMemory.has(store) &&
    !["get", "getRange", "getRangeOf", "set", "group"].some((name) =>
      Object.hasOwn(store, name)
    );
}

/** Reads a whole value, and refuses one that is longer than `limit`. */
export async function readValue(
  store: Store,
  key: StoreKey,
  options: GetOptions = {},
): Promise<Uint8Array | undefined> {
  options.signal?.throwIfAborted();
  const bytes = await store.get(key, options);
  if (bytes !== undefined) assertSizeLimit(key, options.limit, bytes.length);
  return bytes;
}

/** Reads a range of a value, by `getRange` or else by `get`, and refuses more bytes than were asked for. */
export async function readRange(
  store: Store,
  key: StoreKey,
  range: ByteRange,
  options: StoreOptions = {},
): Promise<Uint8Array | undefined> {
  const bytes = await requestRange(store, key, range, options);
  const length = lengthOfByteRange(range);
  if (bytes === undefined || bytes.length <= length) return bytes;
  throw new Error(
    `Expected at most ${length} bytes of ${
      JSON.stringify(key)
    } from the store, found ${bytes.length}`,
  );
}

/** Reads a range as {@linkcode readRange} does, without a check of the number of bytes. Throws at once for an invalid range. */
export function requestRange(
  store: Store,
  key: StoreKey,
  range: ByteRange,
  options: StoreOptions = {},
): Promise<Uint8Array | undefined> {
  assertByteRange(range);
  options.signal?.throwIfAborted();
  if (lengthOfByteRange(range) === 0) return readNothing(store, key, options);
  return typeof store.getRange === "function" &&
      typeof store.size === "function"
    ? store.getRange(key, range, options)
    : readUnsized(store, key, range, options);
}

/** Reads a range in a store that lacks `getRange` or `size`. */
async function readUnsized(
  store: Store,
  key: StoreKey,
  range: ByteRange,
  options: StoreOptions,
): Promise<Uint8Array | undefined> {
  return await (typeof store.getRange === "function"
    ? readUnsizedRange(store, key, range, options)
    : cutRange(store, key, range, options));
}

/** Reads an empty range, for which some stores would return the whole value. */
async function readNothing(
  store: Store,
  key: StoreKey,
  options: StoreOptions,
): Promise<Uint8Array | undefined> {
  const size = await readSize(store, key, options);
  return size === undefined ? undefined : new Uint8Array();
}

/** Reads a value as a stream, by `stream` or else by `get`. */
export async function readStream(
  store: Store,
  key: StoreKey,
  options: StoreOptions = {},
): Promise<ReadableStream<Uint8Array> | undefined> {
  options.signal?.throwIfAborted();
  if (typeof store.stream === "function") {
    return await store.stream(key, options);
  }
  const value = await store.get(key, options);
  return value && abortable(toStream(value), options.signal);
}

/** Reads the length of a value in bytes, by `size` or else by `get`. */
export async function readSize(
  store: Store,
  key: StoreKey,
  options: StoreOptions = {},
): Promise<number | undefined> {
  options.signal?.throwIfAborted();
  if (typeof store.size === "function") return await store.size(key, options);
  return (await store.get(key, options))?.length;
}

/** Stores a value. A store without `stream` takes no streams, and is given bytes. */
export async function write(
  store: Store,
  key: StoreKey,
  value: Uint8Array | ReadableStream<Uint8Array>,
  options: StoreOptions = {},
): Promise<void> {
  try {
    assertStoreKey(key);
    options.signal?.throwIfAborted();
    assertWritable(store, key);
    const takesStreams = typeof store.stream === "function";
    await store.set!(
      key,
      value instanceof Uint8Array || takesStreams
        ? value
        : await toBytes(value, options),
      options,
    );
  } catch (error) {
    await discard(value, error);
    throw error;
  }
}

/** Removes a value. */
export async function remove(
  store: Store,
  key: StoreKey,
  options: StoreOptions = {},
): Promise<void> {
  options.signal?.throwIfAborted();
  if (typeof store.delete !== "function") {
    throw new TypeError(
      `Cannot remove key ${
        JSON.stringify(key)
      }: the store has no "delete" method`,
    );
  }
  await store.delete(key, options);
}

/** The methods that a class may override alone: groups and versions do not call them. */
const METHODS = [
  "get",
  "getRange",
  "stream",
  "size",
  "set",
  "writer",
  "delete",
] as const;

/**
 * Whether a store has groups and versions. A class that inherits them and has a `get` or
 * another method of its own, for example one that counts or caches, has groups only if it
 * overrides `group`, too: the inherited groups would not call the other method.
 */
export function hasGroups(
  store: Store,
): store is Store & Required<Pick<Store, "group">> {
  if (typeof store.group !== "function") return false;
  let object: object | null = store;
  while (object !== null && !Object.hasOwn(object, "group")) {
    for (const method of METHODS) {
      if (Object.hasOwn(object, method)) return false;
    }
    object = Object.getPrototypeOf(object);
  }
  return true;
}

/** Refuses a store that cannot write, before anything is requested from it. */
export function assertWritable(store: Store, key: StoreKey): void {
  if (typeof store.set === "function") return;
  throw new TypeError(
    `Cannot write key ${JSON.stringify(key)} to ${
      describeStore(store)
    }: the store is read-only, it has no "set" method; FileSystemStore and S3Store can write`,
  );
}

/** A store that can give a value another key beside its own, without a copy, as hard links do. */
interface LinkingStore extends Store {
  /**
   * Gives a value another key.
   *
   * @param key The key of the value.
   * @param other The other key, which must not have a value.
   */
  link(key: StoreKey, other: StoreKey, options?: StoreOptions): Promise<void>;
}

/** Refuses a store that cannot link values. */
export function assertLinks(store: Store): asserts store is LinkingStore {
  if (typeof (store as Partial<LinkingStore>).link === "function") return;
  throw new TypeError(
    `Cannot link files in ${
      describeStore(store)
    }, which has no "link" method: FileSystemStore can link files`,
  );
}

/** A value of a store. */
interface Value {
  readonly store: Store;
  readonly key: StoreKey;
}

/**
 * Whether two values, maybe of different stores, are the same file. Where the stores tell
 * no versions, values with equal bytes count as the same file.
 */
export async function isSameFile(
  one: Value,
  other: Value,
  options: StoreOptions,
): Promise<boolean> {
  const { getRangeOf } = other.store;
  if (hasGroups(one.store) && typeof getRangeOf === "function") {
    const version = await one.store.group(one.key, [one.key]).read(
      (values) => Promise.resolve(values.version(one.key)),
      options,
    );
    if (version !== undefined) {
      try {
        const range = { offset: 0, length: 0 };
        const same = await getRangeOf
          .call(other.store, version, other.key, range, options);
        return same !== undefined;
      } finally {
        version.release();
      }
    }
  }
  const [a, b] = await Promise.all(
    [one, other].map(({ store, key }) => store.get(key, options)),
  );
  return a !== undefined && isSameBytes(a, b);
}

/** Refuses a key that does not belong to a group. */
export function assertInGroup(
  keys: readonly StoreKey[],
  key: StoreKey,
): void {
  if (keys.includes(key)) return;
  throw new RangeError(
    `Expected one of the keys of the group, ${JSON.stringify(keys)}, found ${
      JSON.stringify(key)
    }`,
  );
}

/** Refuses to store a group if one of its values was not given. */
export function assertAllGiven(
  keys: readonly StoreKey[],
  given: { has(key: StoreKey): boolean },
): void {
  const missing = keys.filter((key) => !given.has(key));
  if (missing.length === 0) return;
  throw new TypeError(
    `Expected a value for each key of the group, found none for ${
      JSON.stringify(missing)
    }`,
  );
}
