import { assertByteRange, lengthOfByteRange } from "./byte_range.ts";
import { assertSizeLimit } from "./size_limit_error.ts";
import type {
  ByteRange,
  GetOptions,
  Store,
  StoreKey,
  StoreOptions,
} from "./store.ts";
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
  const { streamWhole } = await loadUnsized();
  return await streamWhole(store, key, options);
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

// Programs that only read do without this module.
const loadWriting = /* @__PURE__ */ loadOnce(() => import("./write_value.ts"));

/** Stores a value. A store without `stream` takes no streams, and is given bytes. */
export async function write(
  store: Store,
  key: StoreKey,
  value: Uint8Array | ReadableStream<Uint8Array>,
  options: StoreOptions = {},
): Promise<void> {
  const { writeValue } = await loadWriting();
  await writeValue(store, key, value, options);
}

/** Removes a value. */
export async function remove(
  store: Store,
  key: StoreKey,
  options: StoreOptions = {},
): Promise<void> {
  const { removeValue } = await loadWriting();
  await removeValue(store, key, options);
}
