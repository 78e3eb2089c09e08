import { assertValue, discard } from "./byte_streams.ts";
import {
  hasGroups,
  readRange,
  readSize,
  readStream,
  readValue,
  remove,
  write,
} from "./capabilities.ts";
import { describeStore, inspectAsString } from "./describe_store.ts";
import type { KeyLocks } from "./locks.ts";
import type {
  GroupValues,
  GroupWriter,
  Store,
  StoreGroup,
  StoreKey,
  StoreOptions,
} from "./store.ts";

/** The place of a stored value. */
export interface Place {
  readonly store: Store;
  readonly key: StoreKey;
}

/** The place of a value to read; `undefined` for a key without a value. */
export type FoundPlace = Place | undefined | Promise<Place | undefined>;

/**
 * How a forwarding store finds its values. Functions that return no promise are called
 * at once, so that operations begin in the order of their calls.
 */
export interface Forwarding {
  /** Finds the place to read a value from. */
  placeToRead(key: StoreKey, options: StoreOptions | undefined): FoundPlace;
  /** Finds the place to write a value to, or to delete it from. Not called for a store that cannot write. */
  placeToChange(
    key: StoreKey,
    options: StoreOptions | undefined,
  ): Place | Promise<Place>;
  /** Lists the keys. The forwarding store has no `list` without this function, or if the store below has none. */
  list?(
    prefix: StoreKey,
    options: StoreOptions | undefined,
  ): AsyncIterable<StoreKey>;
  /** Returns a group. The forwarding store has no `group` without this function, or if the store below has none. */
  group?(key: StoreKey, keys: readonly StoreKey[]): StoreGroup;
  /** Reads a whole value at its place. Defaults to `readValue`. */
  read?(
    place: Place,
    options: StoreOptions | undefined,
  ): Promise<Uint8Array | undefined>;
  /** Stores the value of a key at its place. Defaults to `write`. */
  write?(
    key: StoreKey,
    place: Place,
    value: Uint8Array | ReadableStream<Uint8Array>,
    options: StoreOptions | undefined,
  ): Promise<void>;
  /** Deletes the value of a key at its place. Defaults to `remove`. */
  delete?(
    key: StoreKey,
    place: Place,
    options: StoreOptions | undefined,
  ): Promise<void>;
  /** The name of the function that makes the forwarding store, for messages. */
  readonly name?: string | undefined;
}

/** The methods that every forwarding store has, whatever the store below has. */
type ReadingStore = Required<
  Pick<Store, "get" | "getRange" | "stream" | "size">
>;

/**
 * Returns a store whose values are those of other stores: the base of all stores that
 * wrap a store. It can always read, and it has `set`, `delete`, `list` and `group` if the
 * store below has them.
 */
export function forwardingStore(
  below: Store,
  forwarding: Forwarding,
): Store & ReadingStore {
  const {
    read = ({ store, key }, options) => readValue(store, key, options),
    write: writeTo = (_, { store, key }, value, options) =>
      write(store, key, value, options),
    delete: deleteAt = (_, { store, key }, options) =>
      remove(store, key, options),
    name,
  } = forwarding;

  /** Reads from the place of a key. Not an async function, since each further promise slows down reading small values. */
  function readAt<T>(
    key: StoreKey,
    options: StoreOptions | undefined,
    operation: (place: Place) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    try {
      const place = forwarding.placeToRead(key, options);
      return place instanceof Promise
        ? place.then((place) => place && operation(place))
        : place
        ? operation(place)
        : Promise.resolve(undefined);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  const forwarded: Store & ReadingStore = {
    get: (key, options) =>
      readAt(key, options, (place) => read(place, options)),
    getRange: (key, range, options) =>
      readAt(
        key,
        options,
        (place) => readRange(place.store, place.key, range, options),
      ),
    stream: (key, options) =>
      readAt(
        key,
        options,
        (place) => readStream(place.store, place.key, options),
      ),
    size: (key, options) =>
      readAt(
        key,
        options,
        (place) => readSize(place.store, place.key, options),
      ),
  };
  if (below.set) {
    forwarded.set = async (key, value, options) => {
      try {
        assertValue(value);
        const found = forwarding.placeToChange(key, options);
        const place = found instanceof Promise ? await found : found;
        await writeTo(key, place, value, options);
      } catch (error) {
        await discard(value, error);
        throw error;
      }
    };
  }
  if (below.delete) {
    forwarded.delete = async (key, options) => {
      const found = forwarding.placeToChange(key, options);
      const place = found instanceof Promise ? await found : found;
      await deleteAt(key, place, options);
    };
  }
  if (below.list && forwarding.list) {
    forwarded.list = (prefix = "/", options) =>
      forwarding.list!(prefix, options);
  }
  if (hasGroups(below) && forwarding.group) {
    forwarded.group = (key, keys) => forwarding.group!(key, keys);
  }
  if (name !== undefined) {
    Object.defineProperty(forwarded, "toString", {
      value: () => `${name}(${describeStore(below)})`,
    });
    inspectAsString(forwarded);
  }
  return forwarded;
}

/** How a forwarding group finds its values. */
interface GroupForwarding {
  /** Returns the values of the group over those of the group below. */
  values(below: GroupValues): GroupValues;
  /** Returns a writer of the group over one of the group below. */
  writer(below: GroupWriter, options: StoreOptions | undefined): GroupWriter;
  /** The lock that operations take before that of the group below. */
  readonly lock?: { readonly locks: KeyLocks; readonly key: StoreKey };
  /** Refuses to change the group. */
  assertChangeable?(): void;
}

/** Returns a group whose values are those of another group. It can write, delete and lock if that group can. */
export function forwardingGroup(
  below: StoreGroup,
  forwarding: GroupForwarding,
): StoreGroup {
  const { lock, assertChangeable } = forwarding;
  const change = <T>(
    operation: (options: StoreOptions | undefined) => Promise<T>,
    options: StoreOptions | undefined,
  ) =>
    lock ? lock.locks.write(lock.key, operation, options) : operation(options);
  return {
    read(task, options) {
      const read = () =>
        below.read((values) => task(forwarding.values(values)), options);
      return lock ? lock.locks.read(lock.key, read) : read();
    },
    ...below.write && {
      async write(given) {
        assertChangeable?.();
        // The lock is taken when the writer is closed.
        const options = lock ? lock.locks.prepare(lock.key, given) : given;
        const writer = await below.write!(options);
        return forwarding.writer({
          set: (key, bytes) => writer.set(key, bytes),
          writer: (key) => writer.writer(key),
          close: () => change(() => writer.close(), options),
          abort: (reason) => writer.abort(reason),
        }, options);
      },
    },
    ...below.delete && {
      async delete(options) {
        assertChangeable?.();
        await change((options) => below.delete!(options), options);
      },
    },
    ...below.lock && {
      async lock(task, options) {
        assertChangeable?.();
        const { lock: _, ...unlocked } = forwarding;
        return await change((options) =>
          below.lock!(
            (locked) => task(forwardingGroup(locked, unlocked)),
            options,
          ), options);
      },
    },
  };
}
