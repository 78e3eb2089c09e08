import { hasGroups } from "./has_groups.ts";
import type { Store, StoreKey, StoreOptions } from "./store.ts";

/** A value of a store. */
interface Value {
  readonly store: Store;
  readonly key: StoreKey;
}

/**
 * Whether two values, maybe of different stores, are the same one. Where the stores tell
 * no versions, values with equal bytes count as the same.
 */
export async function isSameFile(
  one: Value,
  other: Value,
  options: StoreOptions,
): Promise<boolean> {
  const { getRangeOf } = other.store;
  if (hasGroups(one.store) && typeof getRangeOf === "function") {
    const version = await one.store.group(one.key, [one.key]).read(
      (values) => Promise.resolve(values.version(one.key)),
      options,
    );
    if (version !== undefined) {
      try {
        const range = { offset: 0, length: 0 };
        const same = await getRangeOf
          .call(other.store, version, other.key, range, options);
        return same !== undefined;
      } finally {
        version.release();
      }
    }
  }
  const [a, b] = await Promise.all(
    [one, other].map(({ store, key }) => store.get(key, options)),
  );
  return a !== undefined && b !== undefined && isSameBytes(a, b);
}

/** Whether two documents are equal. */
export function isSameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
