import { describeStore } from "./describe_store.ts";
import type { Store, StoreKey } from "./store.ts";

/** Refuses a store that cannot write, before anything is requested from it. */
export function assertWritable(store: Store, key: StoreKey): void {
  if (typeof store.set === "function") return;
  throw new TypeError(
    `Cannot write key ${JSON.stringify(key)} to ${
      describeStore(store)
    }: the store is read-only, it has no "set" method; FileSystemStore and S3Store can write`,
  );
}
