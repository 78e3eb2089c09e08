import type { Store, StoreKey, StoreOptions } from "../../mod.ts";

/** One call of a store's method, as a test sees it. */
export interface Request {
  readonly method: keyof Store;
  readonly key: StoreKey;
  readonly options: StoreOptions | undefined;
}

/** The methods that a store has which can do everything. */
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

/** Those, and `writer`, which only some of them have. */
export const ALL_METHODS = [...STORE_METHODS, "writer"] as const;

/**
 * A store that passes everything on to another, tells `observe` of each request
 * first, and so can count, record, or fail by throwing.
 *
 * @param methods Which methods it has of those that `store` has; if not given, all
 * but `writer`.
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

/** An observed store, and the log of its requests as `"get /c/0"`. */
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
