/**
 * Bridges between {@linkcode Backend} and the former groups of stores, which are removed
 * once all code uses backends.
 */
import { joinBytes } from "../runtime/mod.ts";
import type { Backend, PendingValues, Snapshot, Update } from "./backend.ts";
import { rangeStream } from "./byte_streams.ts";
import type {
  ByteWriter,
  GroupValues,
  GroupWriter,
  Store,
  StoreGroup,
  StoreKey,
  StoreOptions,
} from "./store.ts";

/** A group of a store that has the methods of a backend. */
export function legacyGroup(
  backend: Backend,
  name: StoreKey,
  keys: readonly StoreKey[],
): StoreGroup {
  return {
    read: (task, options) =>
      backend.read(keys, (values) => task(groupValues(keys, values)), {
        ...options,
        name,
      }),
    ...backend.prepare && {
      async write(options?: StoreOptions) {
        const pending = await backend.prepare!(keys, { ...options, name });
        return {
          set: (key, bytes) => pending.set(key, bytes),
          writer: (key) => pending.writer(key),
          close: () => pending.commit(),
          abort: (reason) => pending.abort(reason),
        };
      },
    },
    ...backend.remove && {
      delete: (options?: StoreOptions) =>
        backend.remove!(keys, { ...options, name }),
    },
    ...backend.update && {
      async lock<T>(
        task: (group: StoreGroup) => Promise<T>,
        options?: StoreOptions,
      ): Promise<T> {
        let result!: T;
        await backend.update!(keys, async (values) => {
          let update: Update = "keep";
          result = await task({
            read: (task) => task(groupValues(keys, values)),
            write: () =>
              Promise.resolve(collector(keys, (all) => update = all)),
            delete: () => {
              update = "delete";
              return Promise.resolve();
            },
          });
          return update;
        }, { ...options, name });
        return result;
      },
    },
  };
}

/** The values of a snapshot in the former interface. */
export function groupValues(
  keys: readonly StoreKey[],
  values: Snapshot,
): GroupValues {
  const check = (key: StoreKey) => {
    if (!keys.includes(key)) {
      throw new RangeError(
        `Expected one of the keys of the group, ${
          JSON.stringify(keys)
        }, found ${JSON.stringify(key)}`,
      );
    }
    return key;
  };
  return {
    get: async (key, options) =>
      await values.read(check(key), undefined, options),
    getRange: async (key, range) => await values.read(check(key), range),
    stream: async (key) => await values.stream(check(key)),
    size: async (key) => await values.size(check(key)),
    version: (key) => values.version(check(key)),
  };
}

function collector(
  keys: readonly StoreKey[],
  store: (values: Uint8Array[]) => void,
): GroupWriter {
  const given = new Map<StoreKey, Uint8Array>();
  return {
    set(key, bytes) {
      given.set(key, bytes);
      return Promise.resolve();
    },
    writer(key) {
      const pieces: Uint8Array[] = [];
      return Promise.resolve({
        write(bytes) {
          pieces.push(bytes.slice());
          return Promise.resolve(bytes.length);
        },
        close() {
          given.set(key, joinBytes(pieces));
        },
      });
    },
    close() {
      store(keys.map((key) => given.get(key)!));
      return Promise.resolve();
    },
    abort: () => Promise.resolve(),
  };
}

/** The backend of a store that still has groups. */
export function backendOfGroups(
  store: Store & Required<Pick<Store, "group">>,
): Backend {
  const groupOf = (keys: readonly StoreKey[], name = keys[0]!) =>
    store.group(name, keys);
  const probe = store.group("/x", ["/x"]);
  return {
    read: (keys, task, options) =>
      groupOf(keys, options?.name).read(
        (values) => task(snapshotOf(values, options)),
        options,
      ),
    ...store.getRangeOf && {
      readOf: (version, key, range, options) =>
        store.getRangeOf!(version, key, range, options),
    },
    ...probe.write && {
      async prepare(keys, options) {
        if (options?.exclusive && keys.length === 1 && store.writer) {
          return withoutLock(store, keys[0]!, options);
        }
        const group = groupOf(keys, options?.name);
        const writer = await group.write!(options);
        return {
          set: (key, bytes) => writer.set(key, bytes),
          writer: (key) => writer.writer(key),
          async commit(check) {
            if (check) {
              await group.read((values) => check(snapshotOf(values, options)));
            }
            await writer.close();
          },
          abort: (reason) => writer.abort(reason),
        } satisfies PendingValues;
      },
    },
    ...probe.delete && {
      remove: (keys, options) => groupOf(keys, options?.name).delete!(options),
    },
    ...probe.lock && {
      update: (keys, change, options) =>
        groupOf(keys, options?.name).lock!(async (group) => {
          const update = await group.read((values) =>
            change(snapshotOf(values, options))
          );
          if (update === "keep") return;
          if (update === "delete") return await group.delete!(options);
          const writer = await group.write!(options);
          try {
            for (const [i, key] of keys.entries()) {
              await writer.set(key, update[i]!);
            }
            await writer.close();
          } catch (error) {
            await writer.abort(error);
            throw error;
          }
        }, options),
    },
    ...store.list && {
      list: (prefix, options) => store.list!(prefix, options),
    },
  };
}

/** One value that is stored without a lock. */
function withoutLock(
  store: Store,
  key: StoreKey,
  options: StoreOptions,
): PendingValues {
  let bytes: Uint8Array | undefined;
  let writer: ByteWriter | undefined;
  return {
    set(_, value) {
      bytes = value;
      return Promise.resolve();
    },
    async writer() {
      const opened = writer = await store.writer!(key, options);
      return { write: (piece) => opened.write(piece), close() {} };
    },
    async commit() {
      if (bytes) await store.set!(key, bytes, options);
      else await writer!.close();
    },
    abort: async (reason) => await writer?.abort?.(reason),
  };
}

function snapshotOf(
  values: GroupValues,
  { signal }: StoreOptions = {},
): Snapshot {
  const options = signal ? { signal } : {};
  return {
    size: (key) => values.size(key, options),
    read: (key, range, { limit, allocate } = {}) =>
      range === undefined
        ? values.get(key, {
          ...options,
          ...limit !== undefined && { limit },
          ...allocate && { allocate },
        })
        : values.getRange(key, range, options),
    async stream(key, range) {
      const stream = await values.stream(key, options);
      return range && stream ? stream.pipeThrough(rangeStream(range)) : stream;
    },
    version: (key) => values.version(key),
  };
}
