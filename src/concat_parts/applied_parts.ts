import type { Part } from "../splitter/part.ts";
import { KeyLocks } from "../stores/key_locks.ts";
import type { Store, StoreKey } from "../stores/store.ts";

/** The store below a composed store, and the parts of its chunks. */
export interface AppliedParts {
  /**
   * The parts of a chunk, those of each part, and so on; the last ones are values of the
   * store below.
   */
  readonly layers: readonly (readonly Part[])[];
  readonly below: Store;
  /** Returns whether a key is a chunk key. */
  readonly isChunkKey: (key: StoreKey) => boolean;
}

const ofStores = new WeakMap<Store, AppliedParts>();

/** Returns what a store is composed of, or `undefined` if it is no composed store. */
export function appliedParts(store: Store): AppliedParts | undefined {
  return ofStores.get(store);
}

/** Remembers what a store is composed of. Returns the locks of its chunks, the same for all stores that are composed of one store. */
export function composeOf(composed: Store, applied: AppliedParts): KeyLocks {
  ofStores.set(composed, applied);
  const locks = KeyLocks.of(baseOf(applied.below));
  locks.passOnTo(composed);
  return locks;
}

/** Returns the store of the objects that a store is composed of. */
export function baseOf(store: Store): Store {
  const applied = ofStores.get(store);
  return applied === undefined ? store : baseOf(applied.below);
}
