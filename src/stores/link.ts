import { describeStore } from "./describe_store.ts";
import type { Store, StoreKey, StoreOptions } from "./store.ts";

/** A store that can give a value another key beside its own, without a copy, as hard links do. */
export interface LinkingStore extends Store {
  /**
   * Gives a value another key.
   *
   * @param key The key of the value.
   * @param other The other key, which must not have a value.
   */
  link(key: StoreKey, other: StoreKey, options?: StoreOptions): Promise<void>;
}

/** Whether a store can link values. */
export function canLink(store: Store): store is LinkingStore {
  return typeof (store as Partial<LinkingStore>).link === "function";
}

/** Refuses a store that cannot link values. */
export function assertLinks(store: Store): asserts store is LinkingStore {
  if (canLink(store)) return;
  throw new TypeError(
    `Cannot link files in ${
      describeStore(store)
    }, which has no "link" method: FileSystemStore can link files`,
  );
}
