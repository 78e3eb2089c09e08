import { assertWritable } from "./assert_writable.ts";
import { discard } from "./given_value.ts";
import type { Store, StoreKey, StoreOptions } from "./store.ts";
import { assertStoreKey } from "./store_key.ts";
import { toBytes } from "./stream.ts";

/** Stores a value, as `write` in `capabilities.ts` does. */
export async function writeValue(
  store: Store,
  key: StoreKey,
  value: Uint8Array | ReadableStream<Uint8Array>,
  options: StoreOptions,
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

/** Removes a value, as `remove` in `capabilities.ts` does. */
export async function removeValue(
  store: Store,
  key: StoreKey,
  options: StoreOptions,
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
