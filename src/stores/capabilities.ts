import { assertByteRange, lengthOfByteRange } from "./byte_range.ts";
import { describeStore } from "./describe_store.ts";
import { assertSizeLimit } from "./size_limit_error.ts";
import type {
  ByteRange,
  GetOptions,
  Store,
  StoreKey,
  StoreOptions,
} from "./store.ts";
import { assertStoreKey } from "./store_key.ts";
import { abortable, discard, toBytes, toStream } from "./stream.ts";
import { loadOnce } from "./load_once.ts";

// Methods are detected by their type, since the `size` of a Map is a number. Their
// results are awaited, since the methods of a Map return no promises. Signals are
// checked here, too, for stores that ignore them.

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

// The stores of this package do without this module.
const loadUnsized = /* @__PURE__ */ loadOnce(() =>
  import("./unsized_store.ts")
);

/** Reads a range in a store that lacks `getRange` or `size`. */
async function readUnsized(
  store: Store,
  key: StoreKey,
  range: ByteRange,
  options: StoreOptions,
): Promise<Uint8Array | undefined> {
  const { cutRange, readUnsizedRange } = await loadUnsized();
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

/** Refuses a store that cannot write, before anything is requested from it. */
export function assertWritable(store: Store, key: StoreKey): void {
  if (typeof store.set === "function") return;
  throw new TypeError(
    `Cannot write key ${JSON.stringify(key)} to ${
      describeStore(store)
    }: the store is read-only, it has no "set" method; FileSystemStore and MemoryStore can write`,
  );
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
