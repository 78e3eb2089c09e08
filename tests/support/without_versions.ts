import type { Store } from "../../mod.ts";

/** A store without versions, groups and locks, over a store that may have them. */
export function withoutVersions(
  stored: Store,
): Store & Required<Pick<Store, "set" | "delete" | "list">> {
  return {
    get: (key, options) => stored.get(key, options),
    set: (key, value, options) => stored.set!(key, value, options),
    delete: (key, options) => stored.delete!(key, options),
    list: (prefix, options) => stored.list!(prefix, options),
  };
}
