import type { Store, StoreKey, StoreOptions } from "../../mod.ts";

/** A call of a method of a store. */
export interface Request {
  readonly method: keyof Store;
  readonly key: StoreKey;
  readonly options: StoreOptions | undefined;
}

/** All methods of a store except for `writer`. */
export const STORE_METHODS = [
  "get",
  "getRange",
  "stream",
  "size",
  "set",
  "delete",
  "snapshot",
  "list",
] as const;

/** All methods of a store. */
export const ALL_METHODS = [...STORE_METHODS, "writer"] as const;

/**
 * Wraps a store and calls `observe` before each request, to count, record, or fail
 * it by throwing.
 *
 * @param methods The methods of `store` that the wrapper has; by default all
 * except for `writer`.
 */
export function observed(
  store: Store,
  observe: (request: Request) => void,
  methods: readonly (keyof Store)[] = STORE_METHODS,
): Store {
  const result: Record<string, unknown> = {};
  for (const method of ALL_METHODS) {
    if (method === "list") continue;
    const target = store[method] as
      | ((...args: unknown[]) => Promise<unknown>)
      | undefined;
    if (target === undefined || !methods.includes(method)) continue;
    const optionsAt = method === "getRange" || method === "set" ? 2 : 1;
    result[method] = async (...args: unknown[]) => {
      observe({
        method,
        key: args[0] as StoreKey,
        options: args[optionsAt] as StoreOptions | undefined,
      });
      return await target.apply(store, args);
    };
  }
  if (store.list && methods.includes("list")) {
    result.list = (prefix?: StoreKey, options?: StoreOptions) => {
      observe({ method: "list", key: prefix ?? "/", options });
      return store.list!(prefix, options);
    };
  }
  return result as unknown as Store;
}

/** Wraps a store and logs its requests, such as `"get /c/0"`. */
export function logged(
  store: Store,
  methods?: readonly (keyof Store)[],
): { store: Store; log: string[] } {
  const log: string[] = [];
  return {
    log,
    store: observed(
      store,
      ({ method, key }) => log.push(`${method} ${key}`),
      methods,
    ),
  };
}
