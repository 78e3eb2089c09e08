import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";
import { assertStorePrefix } from "../stores/store_prefix.ts";
import type { KeyMapping } from "./key_mapping.ts";

/**
 * Lists the keys of a store of mapped keys.
 *
 * @param showTargets Whether values are also listed by the keys that they are stored under.
 */
export async function* listMapped(
  store: Store,
  mapping: KeyMapping,
  showTargets: boolean,
  prefix: StoreKey,
  options: StoreOptions | undefined,
): AsyncGenerator<StoreKey> {
  assertStorePrefix(prefix);
  if (!mapping.hasSources) {
    throw new TypeError(
      'Cannot list keys that a function maps: expected its inverse, the option "inverse" of mapKeys',
    );
  }
  const { entries } = mapping;
  // The sources of a function are unknown, so that any key may be a target.
  const listed = entries === undefined ? "/" : prefix;
  for await (const key of store.list!(listed, options)) {
    const source = mapping.sourceOf(key);
    if (source?.startsWith(prefix)) yield source;
    const isShown = mapping.targetOf(key) === undefined &&
      (source === undefined || showTargets);
    if (isShown && key.startsWith(prefix)) yield key;
  }
  const outside = new Set<StoreKey>();
  for (const [source, target] of entries ?? []) {
    if (source.startsWith(prefix) && !target.startsWith(prefix)) {
      outside.add(target);
    }
  }
  if (outside.size === 0) return;
  for await (const key of store.list!(sharedPrefix(outside), options)) {
    if (outside.has(key)) yield mapping.sourceOf(key)!;
  }
}

/** Returns the longest prefix that keys share. */
function sharedPrefix(keys: Iterable<StoreKey>): StoreKey {
  let shared: string | undefined;
  for (const key of keys) {
    shared ??= key;
    while (!key.startsWith(shared)) shared = shared.slice(0, -1);
  }
  return shared as StoreKey;
}
