import type { Store } from "./store.ts";

/** The methods that `group` and `getRangeOf` do without. */
const METHODS = [
  "get",
  "getRange",
  "stream",
  "size",
  "set",
  "writer",
  "delete",
] as const;

/**
 * Whether a store has groups and versions. A class that inherits them and has a `get` or
 * another method of its own, for example one that counts or caches, must be called by
 * that method: it has groups only if it overrides `group`, too.
 */
export function hasGroups(
  store: Store,
): store is Store & Required<Pick<Store, "group">> {
  if (typeof store.group !== "function") return false;
  let object: object | null = store;
  while (object !== null && !Object.hasOwn(object, "group")) {
    for (const method of METHODS) {
      if (Object.hasOwn(object, method)) return false;
    }
    object = Object.getPrototypeOf(object);
  }
  return true;
}
