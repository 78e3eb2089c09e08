import { write } from "./capabilities.ts";
import { exclusively } from "./exclusive.ts";
import type { Store, StoreKey, StoreOptions } from "./store.ts";

/**
 * Stores a value unless the key has one already. Of several calls at once, one
 * stores its value: in any process if the store has locks, else in this process.
 *
 * @returns Whether the value was stored.
 */
export function writeNew(
  store: Store,
  key: StoreKey,
  bytes: Uint8Array,
  options?: StoreOptions,
): Promise<boolean> {
  return exclusively(store, key, async (store) => {
    if (await store.get(key, options) !== undefined) return false;
    await write(store, key, bytes, options);
    return true;
  }, options);
}
