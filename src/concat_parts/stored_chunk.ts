import { readSize, readValue } from "../stores/capabilities.ts";
import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";
import { MissingPartError } from "./missing_part_error.ts";
import type { Part } from "../splitter/part.ts";
import { assertPartSize } from "../splitter/part_size_error.ts";

/**
 * A part of up to this size is read whole, even if only a range of it is needed:
 * its length is then checked without a second request. A request takes about as
 * long as reading this number of bytes.
 */
export const READ_WHOLE = 256 * 1024;

/** The parts of one chunk in a store. */
export class StoredChunk {
  readonly parts: readonly Part[];
  readonly store: Store;
  readonly key: StoreKey;
  readonly options: StoreOptions;

  constructor(
    parts: readonly Part[],
    store: Store,
    key: StoreKey,
    options: StoreOptions = {},
  ) {
    this.parts = parts;
    this.store = store;
    this.key = key;
    this.options = options;
  }

  keyOf(part: Part): StoreKey {
    return `${this.key}${part.keySuffix}`;
  }

  /** Reads a whole part, and checks its length. */
  async get(part: Part): Promise<Uint8Array | undefined> {
    const key = this.keyOf(part);
    const bytes = await readValue(this.store, key, this.options);
    if (bytes !== undefined) assertPartSize(key, part.size, bytes.length);
    return bytes;
  }

  /** Reads the length of a part, and checks it. */
  async size(part: Part): Promise<number | undefined> {
    const key = this.keyOf(part);
    const size = await readSize(this.store, key, this.options);
    if (size !== undefined) assertPartSize(key, part.size, size);
    return size;
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
