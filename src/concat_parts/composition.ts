import { KeyLocks } from "../stores/key_locks.ts";
import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";
import { assertStoreKey } from "../stores/store_key.ts";
import { type FlatParts, flattenParts, ONE_OBJECT } from "./flat_parts.ts";
import { StoredChunk } from "./stored_chunk.ts";

/** Tells in which objects a composed store keeps its values. */
export class Composition {
  /** The store of the objects, which is no composed store. */
  readonly store: Store;
  /** The locks of chunks, the same for all stores that are composed of one store. */
  readonly locks: KeyLocks;
  readonly #parts: FlatParts;
  readonly #isChunkKey: (key: StoreKey) => boolean;
  /** The composition of the store below, if that is a composed store. */
  readonly #inner: Composition | undefined;
  /** The latest flattened parts, and the inner parts that these consist of. */
  #latest: { inner: readonly FlatParts[]; flat: FlatParts } | undefined;
  static readonly #ofStores = new WeakMap<Store, Composition>();

  /**
   * @param parts The parts of a chunk as values of the store below.
   * @param isChunkKey Returns whether a key is a chunk key.
   */
  constructor(
    parts: FlatParts,
    below: Store,
    isChunkKey: (key: StoreKey) => boolean,
  ) {
    this.#parts = parts;
    this.#isChunkKey = isChunkKey;
    this.#inner = Composition.#ofStores.get(below);
    this.store = this.#inner?.store ?? below;
    this.locks = KeyLocks.of(this.store);
  }

  /** Remembers that a store has this composition, for stores that are composed of it. */
  belongsTo(composed: Store): void {
    Composition.#ofStores.set(composed, this);
    this.locks.passOnTo(composed);
  }

  /** Returns the chunk of a key, or `undefined` if the key is not a chunk key. */
  chunkAt(key: StoreKey, options?: StoreOptions): StoredChunk | undefined {
    assertStoreKey(key);
    return this.#isChunkKey(key) ? this.valueAt(key, options) : undefined;
  }

  /** Returns the value of any key as a chunk. */
  valueAt(key: StoreKey, options?: StoreOptions): StoredChunk {
    return new StoredChunk(this.#partsAt(key), this.store, key, options);
  }

  #partsAt(key: StoreKey): FlatParts {
    const inner = this.#inner;
    if (inner === undefined) {
      return this.#isChunkKey(key) ? this.#parts : ONE_OBJECT;
    }
    return this.#isChunkKey(key)
      ? this.#flattened(inner, key)
      : inner.#partsAt(key);
  }

  #flattened(composition: Composition, key: StoreKey): FlatParts {
    const { parts } = this.#parts;
    const inner = parts.map(({ keySuffix }) =>
      composition.#partsAt(`${key}${keySuffix}`)
    );
    const isLatest = this.#latest?.inner.every((each, i) => each === inner[i]);
    if (!isLatest) {
      const flat = flattenParts(
        this.#parts,
        (part) => inner[parts.indexOf(part)]!,
      );
      this.#latest = { inner, flat };
    }
    return this.#latest!.flat;
  }
}
