import type {
  GroupValues,
  Store,
  StoreGroup,
  StoreKey,
  StoreOptions,
} from "../../mod.ts";

/** A call of a method of a store. */
export interface Request {
  readonly method: keyof Store;
  readonly key: StoreKey;
  readonly options: StoreOptions | undefined;
}

/** All methods of a store except for `writer`, `group` and `getRangeOf`. */
export const STORE_METHODS = [
  "get",
  "getRange",
  "stream",
  "size",
  "set",
  "delete",
  "list",
] as const;

/** All methods of a store except for `group` and `getRangeOf`. */
export const ALL_METHODS = [...STORE_METHODS, "writer"] as const;

/**
 * Wraps a store and calls `observe` before each request, to count, record, or fail
 * it by throwing. Requests of a group are reported as those of its values.
 *
 * @param methods The methods of `store` that the wrapper has; by default all
 * except for `writer`, `group` and `getRangeOf`.
 */
export function observed(
  store: Store,
  observe: (request: Request) => void,
  methods: readonly (keyof Store)[] = STORE_METHODS,
): Store {
  const result: Record<string, unknown> = observedKeys(store, observe, methods);
  if (store.list && methods.includes("list")) {
    result.list = (prefix?: StoreKey, options?: StoreOptions) => {
      observe({ method: "list", key: prefix ?? "/", options });
      return store.list!(prefix, options);
    };
  }
  if (store.group && methods.includes("group")) {
    result.group = (key: StoreKey, keys: readonly StoreKey[]) =>
      observedGroup(store.group!(key, keys), keys, observe);
  }
  if (store.getRangeOf && methods.includes("getRangeOf")) {
    const { getRangeOf } = store;
    result.getRangeOf = (...args: Parameters<typeof getRangeOf>) => {
      observe({ method: "getRangeOf", key: args[1], options: args[3] });
      return getRangeOf.apply(store, args);
    };
  }
  return result as unknown as Store;
}

/** The methods of a store, or of the values of a group, whose first argument is a key. */
function observedKeys(
  target: object,
  observe: (request: Request) => void,
  methods: readonly (keyof Store)[],
): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const method of ALL_METHODS) {
    if (method === "list" || !methods.includes(method)) continue;
    const run = (target as Record<string, unknown>)[method] as
      | ((...args: unknown[]) => Promise<unknown>)
      | undefined;
    if (run === undefined) continue;
    const optionsAt = method === "getRange" || method === "set" ? 2 : 1;
    result[method] = async (...args: unknown[]) => {
      observe({
        method,
        key: args[0] as StoreKey,
        options: args[optionsAt] as StoreOptions | undefined,
      });
      return await run.apply(target, args);
    };
  }
  return result;
}

function observedGroup(
  group: StoreGroup,
  keys: readonly StoreKey[],
  observe: (request: Request) => void,
): StoreGroup {
  const { write, delete: remove, lock } = group;
  return {
    read: (task, options) =>
      group.read((values) =>
        task(
          {
            ...observedKeys(values, observe, ALL_METHODS),
            version: (key) => values.version(key),
          } as GroupValues,
        ), options),
    ...write && {
      async write(options) {
        const writer = await write.call(group, options);
        return {
          async set(key, bytes) {
            observe({ method: "set", key, options });
            await writer.set(key, bytes);
          },
          async writer(key) {
            observe({ method: "writer", key, options });
            return await writer.writer(key);
          },
          close: () => writer.close(),
          abort: (reason) => writer.abort(reason),
        };
      },
    },
    ...remove && {
      async delete(options) {
        for (const key of keys) observe({ method: "delete", key, options });
        await remove.call(group, options);
      },
    },
    ...lock && {
      lock: (task, options) =>
        lock.call(
          group,
          (locked) => task(observedGroup(locked, keys, observe)),
          options,
        ) as never,
    },
  };
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
