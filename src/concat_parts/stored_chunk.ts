import {
  assertPartSize,
  MissingPartError,
  SizeLimitError,
} from "../errors/mod.ts";
import { chunkSizes, type Part } from "../splitter/mod.ts";
import {
  type ByteRange,
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
 * A part of up to this size is read whole, even if only a range of it is needed:
 * its length is then checked without a second request. A request takes about as
 * long as reading this number of bytes.
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

  /** Returns the same chunk in other values, such as those of a group. */
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

  /** Refuses to store a chunk whose parts have no sizes that fit. */
  assertStorable(): void {
    chunkSizes(this.parts);
    this.assertSums(this.parts.map(({ size }) => size ?? 0));
  }

  /** Checks the sizes that parts have together. */
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

/** The bytes of one part that lie in a requested range. */
export interface Piece {
  readonly part: Part;
  readonly range: ByteRange;
}

/** A piece that may be all of a requested range. */
interface OnlyPiece extends Piece {
  /** The piece is all of the range if the part returns at least so many bytes. */
  readonly least: number;
}

/** The end of a range; no chunk is longer than 2^53−1 bytes. */
export function endOf(
  { offset, length }: { offset: number; length: number },
): number {
  return offset + Math.min(length, Number.MAX_SAFE_INTEGER - offset);
}

/** Returns the piece of the only part that a range needs, if there may be such a part. */
export function onlyPiece(
  parts: readonly Part[],
  range: ByteRange,
): OnlyPiece | undefined {
  return "suffixLength" in range
    ? lastPiece(parts, range.suffixLength)
    : pieceFrom(parts, range.offset, endOf(range));
}

function pieceFrom(
  parts: readonly Part[],
  start: number,
  end: number,
): OnlyPiece | undefined {
  if (start >= end) return undefined;
  const last = parts.length - 1;
  for (let i = 0, offset = 0; i <= last; offset += parts[i++]!.size!) {
    const part = parts[i]!;
    const { size = Infinity } = part;
    if (start >= offset + size) continue;
    if (end > offset + size && i < last) return undefined;
    const length = Math.min(end, offset + size) - start;
    const range = { offset: start - offset, length };
    // The last part may end within the range, which then ends with it.
    const least = part.size === undefined && i === last ? 0 : length;
    return { part, range, least };
  }
}

function lastPiece(
  parts: readonly Part[],
  suffixLength: number,
): OnlyPiece | undefined {
  if (suffixLength === 0) return undefined;
  const last = parts.findLastIndex(({ size }) => size !== 0);
  if (last < 0) return undefined;
  const part = parts[last]!;
  if (part.size === undefined) {
    const least = last === 0 ? 0 : suffixLength;
    return { part, range: { suffixLength }, least };
  }
  if (suffixLength > part.size && last > 0) return undefined;
  const length = Math.min(suffixLength, part.size);
  return { part, range: { offset: part.size - length, length }, least: length };
}
