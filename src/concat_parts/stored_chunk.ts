import {
  assertPartSize,
  MissingPartError,
  SizeLimitError,
} from "../errors/mod.ts";
import { chunkSizes, type Part } from "../splitter/mod.ts";
import {
  hasGroups,
  readSize,
  readValue,
  type Store,
  type StoreGroup,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";
import {
  type AppliedParts,
  appliedParts,
  baseOf,
  type FlatParts,
  flattenLayers,
  flattenParts,
  ONE_OBJECT,
} from "./flat_parts.ts";

/**
 * The greatest size of a part that is read whole even if only a range of it is needed, so
 * that its length is checked without a second request. A request takes about as long as
 * reading this number of bytes.
 */
export const READ_WHOLE = 256 * 1024;

/** The parts of one chunk in a store, or in a group of values of a store. */
export class StoredChunk {
  readonly flat: FlatParts;
  readonly parts: readonly Part[];
  readonly store: Store;
  readonly key: StoreKey;
  readonly options: StoreOptions;

  constructor(
    flat: FlatParts,
    store: Store,
    key: StoreKey,
    options: StoreOptions = {},
  ) {
    this.flat = flat;
    this.parts = flat.parts;
    this.store = store;
    this.key = key;
    this.options = options;
  }

  /** Returns the same chunk over another store, or over the values of a group. */
  over(store: Store, options = this.options): StoredChunk {
    return new StoredChunk(this.flat, store, this.key, options);
  }

  keyOf(part: Part): StoreKey {
    return `${this.key}${part.keySuffix}`;
  }

  /** Returns the keys of all parts, in the order in which they are stored. */
  keys(): StoreKey[] {
    return this.flat.storingOrder.map((part) => this.keyOf(part));
  }

  /** Returns the group of all parts, or `undefined` if the store has no groups. */
  group(): StoreGroup | undefined {
    const { store, key } = this;
    return hasGroups(store) ? store.group(key, this.keys()) : undefined;
  }

  /** Whether parts that are read one by one may belong to different writes. */
  get needsGroup(): boolean {
    return this.parts.length > 1 && hasGroups(this.store);
  }

  /** Reads parts that belong to the same write, if the store has groups. */
  read<T>(task: (chunk: StoredChunk) => Promise<T>): Promise<T> {
    return this.needsGroup
      ? this.group()!.read((values) => task(this.over(values)), this.options)
      : task(this);
  }

  /** Reads a whole part, and checks its length. No more bytes are read than the part may have. */
  async get(part: Part): Promise<Uint8Array | undefined> {
    const key = this.keyOf(part);
    const { size } = part;
    if (size === undefined) {
      return await readValue(this.store, key, this.options);
    }
    try {
      const options = { ...this.options, limit: size };
      const bytes = await readValue(this.store, key, options);
      if (bytes !== undefined) assertPartSize(key, size, bytes.length);
      return bytes;
    } catch (error) {
      if (!(error instanceof SizeLimitError)) throw error;
      assertPartSize(
        key,
        size,
        error.size ?? size + 1,
        error.size === undefined,
      );
      throw error;
    }
  }

  /** Reads the length of a part, and checks it. */
  async size(part: Part): Promise<number | undefined> {
    const key = this.keyOf(part);
    const size = await readSize(this.store, key, this.options);
    if (size !== undefined) assertPartSize(key, part.size, size);
    return size;
  }

  /** Throws if the sizes of the parts contradict each other, so that no chunk can be stored. */
  assertStorable(): void {
    chunkSizes(this.parts);
    this.assertSums(this.parts.map(({ size }) => size ?? 0));
  }

  /** Checks the lengths of parts that must add up to a size. */
  assertSums(lengths: readonly number[]): void {
    for (const { keySuffix, size, parts } of this.flat.sums) {
      const sum = parts.reduce(
        (sum, part) => sum + lengths[this.parts.indexOf(part)]!,
        0,
      );
      assertPartSize(`${this.key}${keySuffix}`, size, sum);
    }
  }

  /**
   * Returns the results of reading parts, or `undefined` if no part of the chunk is
   * stored.
   *
   * @throws {MissingPartError} If some parts are stored and others are not.
   */
  async allOrAbsent<T>(
    read: readonly Part[],
    results: readonly (T | undefined)[],
  ): Promise<T[] | undefined> {
    if (results.every((result) => result !== undefined)) return results as T[];
    const stored = new Map(
      read.map((part, i) => [part, results[i] !== undefined]),
    );
    await Promise.all(this.parts.map(async (part) => {
      if (stored.has(part)) return;
      const size = await readSize(this.store, this.keyOf(part), this.options);
      stored.set(part, size !== undefined);
    }));
    const present = this.parts.filter((part) => stored.get(part));
    if (present.length === 0) return undefined;
    const missing = this.parts.filter((part) => !stored.get(part));
    throw new MissingPartError(
      this.key,
      missing.map((part) => this.keyOf(part)),
      present.map((part) => this.keyOf(part)),
    );
  }
}

/** Finds the values of the store below in which a composed store keeps a chunk. */
export class Composition {
  /** The store that holds all values. It is not a composed store. */
  readonly store: Store;
  /** The parts of a chunk as values of the store below. */
  readonly parts: FlatParts;
  readonly #applied: AppliedParts;
  /** The composition of the store below, if it is a composed store. */
  readonly #inner: Composition | undefined;
  /** The latest flattened parts, and the inner parts of which they consist. */
  #latest: { inner: readonly FlatParts[]; flat: FlatParts } | undefined;

  constructor(applied: AppliedParts) {
    const inner = appliedParts(applied.below);
    this.#applied = applied;
    this.parts = flattenLayers(applied.layers);
    this.#inner = inner && new Composition(inner);
    this.store = baseOf(applied.below);
  }

  /** Returns the parts of any key's value; a value that is not a chunk is its only part. */
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
