import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";
import { type AppliedParts, appliedParts, baseOf } from "./applied_parts.ts";
import {
  type FlatParts,
  flattenLayers,
  flattenParts,
  ONE_OBJECT,
} from "./flat_parts.ts";
import { StoredChunk } from "./stored_chunk.ts";

/** Tells in which objects a composed store keeps its values. */
export class Composition {
  /** The store of the objects, which is no composed store. */
  readonly store: Store;
  /** The parts of a chunk as values of the store below. */
  readonly parts: FlatParts;
  readonly #applied: AppliedParts;
  /** The composition of the store below, if that is a composed store. */
  readonly #inner: Composition | undefined;
  /** The latest flattened parts, and the inner parts that these consist of. */
  #latest: { inner: readonly FlatParts[]; flat: FlatParts } | undefined;

  constructor(applied: AppliedParts) {
    const inner = appliedParts(applied.below);
    this.#applied = applied;
    this.parts = flattenLayers(applied.layers);
    this.#inner = inner && new Composition(inner);
    this.store = baseOf(applied.below);
  }

  /** Returns the value of any key as a chunk. */
  valueAt(key: StoreKey, options?: StoreOptions): StoredChunk {
    return new StoredChunk(
      this.#partsAt(key),
      this.store,
      key,
      options,
    );
  }

  #partsAt(key: StoreKey): FlatParts {
    const inner = this.#inner;
    if (inner === undefined) {
      return this.#applied.isChunkKey(key) ? this.parts : ONE_OBJECT;
    }
    return this.#applied.isChunkKey(key)
      ? this.#flattened(inner, key)
      : inner.#partsAt(key);
  }

  #flattened(composition: Composition, key: StoreKey): FlatParts {
    const { parts } = this.parts;
    const inner = parts.map(({ keySuffix }) =>
      composition.#partsAt(`${key}${keySuffix}`)
    );
    const isLatest = this.#latest?.inner.every((each, i) => each === inner[i]);
    if (!isLatest) {
      const flat = flattenParts(
        this.parts,
        (part) => inner[parts.indexOf(part)]!,
      );
      this.#latest = { inner, flat };
    }
    return this.#latest!.flat;
  }
}
