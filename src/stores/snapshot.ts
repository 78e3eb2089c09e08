import { remove, write } from "./capabilities.ts";
import type { Store, StoreKey, StoreOptions, StoreSnapshot } from "./store.ts";

/** Keeps the present value of a key, by `snapshot` or else in memory. */
export async function snapshot(
  store: Store,
  key: StoreKey,
  options: StoreOptions = {},
): Promise<StoreSnapshot> {
  options.signal?.throwIfAborted();
  if (typeof store.snapshot === "function") {
    return await store.snapshot(key, options);
  }
  const kept = await store.get(key, options);
  return {
    async restore() {
      // An unchanged value need not be written, and the store may be unable to.
      // Some stores refuse to delete an absent value, such as zarrita's for files.
      const present = await store.get(key);
      if (kept === undefined && present !== undefined) await remove(store, key);
      if (kept !== undefined && !isSame(kept, present)) {
        await write(store, key, kept);
      }
    },
    release: () => Promise.resolve(),
  };
}

function isSame(a: Uint8Array, b: Uint8Array | undefined): boolean {
  return a.length === b?.length && a.every((byte, i) => byte === b[i]);
}
