import type { Store, StoreKey } from "./store.ts";

/** What is known of stores that were asked. */
const known = new WeakMap<Store, Promise<boolean>>();

/**
 * Whether a store fills ranges that go past the end of a value with zeros, as
 * zarrita's store of files does, instead of giving fewer bytes. It is asked
 * once, for a byte that no value has.
 *
 * @param key The key of a value that the store has.
 */
export function padsRanges(store: Store, key: StoreKey): Promise<boolean> {
  const answer = known.get(store) ?? askForNothing(store, key);
  known.set(store, answer);
  return answer;
}

async function askForNothing(store: Store, key: StoreKey): Promise<boolean> {
  const nowhere = { offset: Number.MAX_SAFE_INTEGER - 1, length: 1 };
  try {
    return (await store.getRange!(key, nowhere))?.length === 1;
  } catch {
    return false; // Zarrita's store over HTTP refuses such a range.
  }
}
