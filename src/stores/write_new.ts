import { write } from "./capabilities.ts";
import { KeyLocks } from "./key_locks.ts";
import type { Store, StoreKey, StoreOptions } from "./store.ts";
import type { StoreGroup } from "./store_group.ts";

/**
 * Stores a value unless the key has one already. Of several calls at once, one
 * stores its value: in all processes if the groups of the store have locks, otherwise
 * in this process.
 *
 * @returns Whether the value was stored.
 */
export async function writeNew(
  store: Store,
  key: StoreKey,
  bytes: Uint8Array,
  options?: StoreOptions,
): Promise<boolean> {
  options?.signal?.throwIfAborted();
  const group = typeof store.group === "function"
    ? store.group(key, [key])
    : undefined;
  if (group?.lock !== undefined) {
    return await group.lock(
      (group) => writeNewInGroup(group, key, bytes, options),
      options,
    );
  }
  return await KeyLocks.of(store).write(key, async () => {
    if (await store.get(key, options) !== undefined) return false;
    await write(store, key, bytes, options);
    return true;
  });
}

async function writeNewInGroup(
  group: StoreGroup,
  key: StoreKey,
  bytes: Uint8Array,
  options: StoreOptions | undefined,
): Promise<boolean> {
  const size = await group.read((values) => values.size(key, options), options);
  if (size !== undefined) return false;
  const writer = await group.write!(options);
  try {
    await writer.set(key, bytes);
    await writer.close();
  } catch (error) {
    await writer.abort(error);
    throw error;
  }
  return true;
}
