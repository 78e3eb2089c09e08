import { write } from "./capabilities.ts";
import { hasGroups } from "./has_groups.ts";
import { KeyLocks } from "./key_locks.ts";
import type { ByteRange, Store, StoreKey, StoreOptions } from "./store.ts";
import type { StoreGroup } from "./store_group.ts";

/**
 * Runs a task that reads and changes one value, after all earlier tasks of the same
 * value. Nobody else changes the value meanwhile: in any process if the store has
 * locks, else in this process.
 *
 * @param task Reads and changes the value through the store that it is given, as
 * bytes.
 */
export async function exclusively<T>(
  store: Store,
  key: StoreKey,
  task: (store: Store) => Promise<T>,
  options?: StoreOptions,
): Promise<T> {
  const group = hasGroups(store) ? store.group(key, [key]) : undefined;
  if (group?.lock !== undefined) {
    return await group.lock((locked) => task(new GroupStore(locked)), options);
  }
  return await KeyLocks.of(store).write(key, () => {
    options?.signal?.throwIfAborted();
    return task(store);
  });
}

/** Replaces a value, after all earlier tasks of {@linkcode exclusively} with the same value. */
export async function replaceValue(
  store: Store,
  key: StoreKey,
  bytes: Uint8Array,
  options?: StoreOptions,
): Promise<void> {
  const group = hasGroups(store) ? store.group(key, [key]) : undefined;
  if (group?.write !== undefined) {
    return await new GroupStore(group).set(key, bytes, options);
  }
  await KeyLocks.of(store).write(key, () => write(store, key, bytes, options));
}

/** A group of values as a store. It stores bytes, and no streams. */
export class GroupStore implements Store {
  readonly #group: StoreGroup;

  constructor(group: StoreGroup) {
    this.#group = group;
  }

  get(key: StoreKey, options?: StoreOptions): Promise<Uint8Array | undefined> {
    return this.#group.read((values) => values.get(key, options), options);
  }

  getRange(
    key: StoreKey,
    range: ByteRange,
    options?: StoreOptions,
  ): Promise<Uint8Array | undefined> {
    return this.#group.read(
      (values) => values.getRange(key, range, options),
      options,
    );
  }

  size(key: StoreKey, options?: StoreOptions): Promise<number | undefined> {
    return this.#group.read((values) => values.size(key, options), options);
  }

  /** Replaces the values of a group of one value. */
  async set(
    key: StoreKey,
    bytes: Uint8Array,
    options?: StoreOptions,
  ): Promise<void> {
    const writer = await this.#group.write!(options);
    try {
      await writer.set(key, bytes);
      await writer.close();
    } catch (error) {
      await writer.abort(error);
      throw error;
    }
  }

  /** Deletes all values of the group. */
  async delete(_key: StoreKey, options?: StoreOptions): Promise<void> {
    await this.#group.delete!(options);
  }
}
