/**
 * Operations on one value of any store that its backend does not offer as they are: they
 * refuse stores that lack a method, or compare values.
 */
import { isSameBytes } from "../runtime/mod.ts";
import type { BaseWritableStore } from "./base_store.ts";
import { discard } from "./byte_streams.ts";
import { describeStore } from "./describe_store.ts";
import { assertDeletes, backendOf } from "./foreign_store.ts";
import type { Store, StoreKey, StoreOptions } from "./store.ts";

/** Stores a value. A stream is cancelled on failure. */
export async function write(
  store: Store,
  key: StoreKey,
  value: Uint8Array | ReadableStream<Uint8Array>,
  options?: StoreOptions,
): Promise<void> {
  try {
    assertWritable(store, key);
  } catch (error) {
    await discard(value, error);
    throw error;
  }
  await (backendOf(store) as BaseWritableStore).set(key, value, options);
}

/** Stores a value under a key that has none. Returns whether the key had none. */
export async function writeNew(
  store: Store,
  key: StoreKey,
  bytes: Uint8Array,
  options?: StoreOptions,
): Promise<boolean> {
  assertWritable(store, key);
  let isNew = false;
  await backendOf(store).update!([key], async (values) => {
    isNew = await values.size(key) === undefined;
    return isNew ? [bytes] : "keep";
  }, options);
  return isNew;
}

/** Removes a value. No error if the key has none. */
export async function remove(
  store: Store,
  key: StoreKey,
  options: StoreOptions = {},
): Promise<void> {
  options.signal?.throwIfAborted();
  assertDeletes(store, key);
  await backendOf(store).remove!([key], options);
}

/** Refuses a store that is read-only. */
export function assertWritable(store: Store, key: StoreKey): void {
  if (typeof store.set === "function") return;
  throw new TypeError(
    `Cannot write key ${JSON.stringify(key)} to ${
      describeStore(store)
    }: the store is read-only, it has no "set" method; FileSystemStore and S3Store can write`,
  );
}

/** A store of files, which may have several names. */
interface LinkingStore extends Store {
  /** Gives the file of a key a second name: that of another key. */
  link(key: StoreKey, other: StoreKey, options?: StoreOptions): Promise<void>;
}

/** Refuses a store whose values are no files that could have several names. */
export function assertLinks(store: Store): asserts store is LinkingStore {
  if (typeof (store as Partial<LinkingStore>).link === "function") return;
  throw new TypeError(
    `Cannot link files in ${
      describeStore(store)
    }, which has no "link" method: FileSystemStore can link files`,
  );
}

/** A value of a store. */
interface Value {
  readonly store: Store;
  readonly key: StoreKey;
}

/** Whether two values are one: by the versions of their stores, or else by their bytes. */
export async function isSameValue(
  one: Value,
  other: Value,
  options: StoreOptions,
): Promise<boolean> {
  const version = await backendOf(one.store).read(
    [one.key],
    (values) => Promise.resolve(values.version(one.key)),
    options,
  );
  const below = backendOf(other.store);
  if (version !== undefined && below.readOf) {
    try {
      const nothing = { offset: 0, length: 0 };
      const same = await below.readOf(version, other.key, nothing, options);
      return same !== undefined;
    } finally {
      version.release();
    }
  }
  version?.release();
  const [a, b] = await Promise.all(
    [one, other].map(({ store, key }) => backendOf(store).get(key, options)),
  );
  return a !== undefined && isSameBytes(a, b);
}
