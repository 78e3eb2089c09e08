import type {
  Backend,
  ByteRange,
  PendingValues,
  Snapshot,
  Store,
  StoreKey,
  StoreOptions,
} from "../../mod.ts";
import { backendOf, storeOf } from "../../src/stores/mod.ts";

/** The methods of a store that an observed store may have; `group`: reads and writes several values as one; `getRangeOf`: reads versions. */
export type Method = keyof Store | "writer" | "group" | "getRangeOf";

/** A call of a method of a store. */
export interface Request {
  readonly method: Method;
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
  "list",
] as const;

/** All methods of a store. */
export const ALL_METHODS = [...STORE_METHODS, "writer"] as const;

/**
 * Wraps a store and calls `observe` before each request, to count, record, or fail
 * it by throwing. Requests of a snapshot or a change are reported as those of its values.
 *
 * @param methods The methods of `store` that the wrapper has. With `group`, the wrapper is a
 * store of this package, and else a foreign one.
 */
export function observed(
  store: Store,
  observe: (request: Request) => void,
  methods: readonly Method[] = STORE_METHODS,
): Store {
  if (methods.includes("group")) {
    const backend = observedBackend(backendOf(store), observe, methods);
    return storeOf(backend, () => `observed(${store})`);
  }
  const result: Record<string, unknown> = {};
  for (const method of ALL_METHODS) {
    if (method === "list" || !methods.includes(method)) continue;
    const run = (store as unknown as Record<string, unknown>)[method] as
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
      return await run.apply(store, args);
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

function observedBackend(
  backend: Backend,
  observe: (request: Request) => void,
  methods: readonly Method[],
): Backend {
  const has = (method: Method) => methods.includes(method);
  const values = (
    below: Snapshot,
    options: StoreOptions | undefined,
  ): Snapshot => ({
    async size(key) {
      observe({ method: "size", key, options });
      return await below.size(key);
    },
    async read(key, range?: ByteRange, readOptions?) {
      observe({ method: range ? "getRange" : "get", key, options });
      return await below.read(key, range, readOptions);
    },
    async stream(key, range) {
      observe({ method: "stream", key, options });
      return await below.stream(key, range);
    },
    version: (key) => below.version(key),
  });
  return {
    read: (keys, task, options) =>
      backend.read(keys, (below) => task(values(below, options)), options),
    ...backend.readOf && has("getRangeOf") && {
      async readOf(version, key, range, options) {
        observe({ method: "getRangeOf", key, options });
        return await backend.readOf!(version, key, range, options);
      },
    },
    ...backend.prepare && has("set") && {
      async prepare(keys, options): Promise<PendingValues> {
        const pending = await backend.prepare!(keys, options);
        return {
          async set(key, bytes) {
            observe({ method: "set", key, options });
            await pending.set(key, bytes);
          },
          async writer(key) {
            observe({ method: "writer", key, options });
            return await pending.writer(key);
          },
          commit: (check) =>
            pending.commit(check && ((below) => check(values(below, options)))),
          abort: (reason) => pending.abort(reason),
        };
      },
      update: (keys, change, options) =>
        backend.update!(keys, async (below) => {
          const update = await change(values(below, options));
          if (update === "keep") return update;
          const method = update === "delete" ? update : "set";
          for (const key of keys) observe({ method, key, options });
          return update;
        }, options),
    },
    ...backend.remove && has("delete") && {
      async remove(keys, options) {
        for (const key of keys) observe({ method: "delete", key, options });
        await backend.remove!(keys, options);
      },
    },
    ...backend.list && has("list") && {
      list(prefix, options) {
        observe({ method: "list", key: prefix, options });
        return backend.list!(prefix, options);
      },
    },
  };
}

/** Wraps a store and logs its requests, such as `"get /c/0"`. */
export function logged(
  store: Store,
  methods?: readonly Method[],
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
