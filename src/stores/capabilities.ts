import { assertByteRange, resolveByteRange } from "./byte_range.ts";
import { padsRanges } from "./range_padding.ts";
import type {
  ByteRange,
  Store,
  StoreKey,
  StoreOptions,
  StoreSnapshot,
} from "./store.ts";
import { assertStoreKey } from "./store_key.ts";
import { abortable, discard, toBytes, toStream } from "./stream.ts";

// A method is looked for by its type: the `size` of a Map is a number. Its
// result is awaited even where a type says it is a promise: a Map's is none.

/**
 * A range of a value, by `getRange` or else by `get`. Of stores that are not
 * made for it, some answer an empty range with everything, and some pad a short
 * one with zeros: neither gets through.
 */
export async function readRange(
  store: Store,
  key: StoreKey,
  range: ByteRange,
  options: StoreOptions = {},
): Promise<Uint8Array | undefined> {
  assertByteRange(range);
  const length = "offset" in range ? range.length : range.suffixLength;
  if (length === 0) {
    const size = await readSize(store, key, options);
    return size === undefined ? undefined : new Uint8Array();
  }
  if (typeof store.getRange === "function") {
    const bytes = await store.getRange(key, range, options);
    if (bytes !== undefined && bytes.length > length) {
      throw new Error(
        `The store gave ${bytes.length} bytes of ${
          JSON.stringify(key)
        }, where at most ${length} were asked for`,
      );
    }
    // A store that can tell sizes is one of those made for it.
    const trusted = typeof store.size === "function" || bytes?.at(-1) !== 0;
    if (trusted || !await padsRanges(store, key)) return bytes;
  }
  const value = await store.get(key, options);
  if (value === undefined) return undefined;
  const { start, end } = resolveByteRange(range, value.length);
  return value.slice(start, end);
}

/** A value as a stream, by `stream` or else by `get`. */
export async function readStream(
  store: Store,
  key: StoreKey,
  options: StoreOptions = {},
): Promise<ReadableStream<Uint8Array> | undefined> {
  if (typeof store.stream === "function") {
    return await store.stream(key, options);
  }
  const value = await store.get(key, options);
  return value && abortable(toStream(value), options.signal);
}

/** A value's length in bytes, by `size` or else by `get`. */
export async function readSize(
  store: Store,
  key: StoreKey,
  options: StoreOptions = {},
): Promise<number | undefined> {
  if (typeof store.size === "function") return await store.size(key, options);
  return (await store.get(key, options))?.length;
}

/** Stores a value; as bytes where the store has no `stream` and so takes none. */
export async function write(
  store: Store,
  key: StoreKey,
  value: Uint8Array | ReadableStream<Uint8Array>,
  options: StoreOptions = {},
): Promise<void> {
  try {
    assertStoreKey(key);
    if (typeof store.set !== "function") {
      throw new TypeError(
        `Cannot write key ${
          JSON.stringify(key)
        }: the store is read-only, it has no "set" method`,
      );
    }
    const takesStreams = typeof store.stream === "function";
    await store.set(
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

/** Keeps the present value of a key, by `snapshot` or else in memory. */
export async function snapshot(
  store: Store,
  key: StoreKey,
  options: StoreOptions = {},
): Promise<StoreSnapshot> {
  if (typeof store.snapshot === "function") {
    return await store.snapshot(key, options);
  }
  const value = await store.get(key, options);
  return {
    restore: () =>
      value === undefined ? remove(store, key) : write(store, key, value),
    release: () => Promise.resolve(),
  };
}

async function remove(store: Store, key: StoreKey): Promise<void> {
  // Some stores refuse to delete what is absent, zarrita's for files is one.
  if (await readSize(store, key) === undefined) return;
  if (typeof store.delete !== "function") {
    throw new Error(
      `Cannot remove key ${
        JSON.stringify(key)
      } again: the store has no "delete" method`,
    );
  }
  await store.delete(key);
}
