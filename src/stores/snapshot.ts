import { isSameBytes } from "../runtime/mod.ts";
import { remove, write } from "./capabilities.ts";
import type { Store, StoreKey, StoreOptions } from "./store.ts";

/** The value that a key had, or its absence. */
export interface Snapshot {
  /** Stores the kept value again, or removes the value if there was none. */
  restore(): Promise<void>;
}

/** Keeps the present value of a key in memory, so that a failed write of several keys can be undone. */
export async function snapshot(
  store: Store,
  key: StoreKey,
  options: StoreOptions = {},
): Promise<Snapshot> {
  options.signal?.throwIfAborted();
  const kept = await store.get(key, options);
  return {
    async restore() {
      // An unchanged value need not be written, and the store may be unable to.
      // Some stores refuse to delete an absent value, such as zarrita's for files.
      const present = await store.get(key);
      if (kept === undefined && present !== undefined) await remove(store, key);
      if (kept !== undefined && !isSameBytes(kept, present)) {
        await write(store, key, kept);
      }
    },
  };
}
