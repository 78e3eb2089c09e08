import { assertSizeLimit, describe } from "../errors/mod.ts";
import {
  type Backend,
  type PendingValues,
  resolveByteRange,
  type Snapshot,
  type Store,
  type StoreKey,
  type StoreOptions,
  toStream,
  type ValuesOptions,
} from "../stores/mod.ts";

/** Where a value is: a backend, and the key of the value in it. */
export interface Place {
  readonly backend: Backend;
  readonly key: StoreKey;
}

/** A place with the store of the backend, until all users of views use backends. */
export interface StorePlace extends Place {
  readonly store?: Store;
}

/** The place of a value to read; `undefined` for a key that has no value in the view. */
export type FoundPlace = Place | undefined | Promise<Place | undefined>;

/** Where a view finds its values. */
export interface ViewPlaces {
  /** Finds the place to read a value from. */
  placeToRead(key: StoreKey, options: StoreOptions | undefined): FoundPlace;
  /** Finds the place to change a value at. Throws for a key that cannot be changed. */
  placeToChange(
    key: StoreKey,
    options: StoreOptions | undefined,
  ): Place | Promise<Place>;
  list(
    prefix: StoreKey,
    options: StoreOptions | undefined,
  ): AsyncIterable<StoreKey>;
}

/**
 * Returns a backend whose values are at places in other backends. It can write and list if
 * the one below can. Values that are read or changed together must be in one backend.
 */
export function viewBackend(below: Backend, places: ViewPlaces): Backend {
  const toRead = (keys: readonly StoreKey[], options?: ValuesOptions) =>
    findPlaces(keys, (key) => places.placeToRead(key, options), options);
  const toChange = (keys: readonly StoreKey[], options?: ValuesOptions) =>
    findPlaces(keys, (key) => places.placeToChange(key, options), options);
  return {
    async read(keys, task, options) {
      const found = await toRead(keys, options);
      if (found === undefined) return await task(NOTHING);
      const { backend, keys: keysBelow, named } = found;
      return await backend.read(
        [...keysBelow.values()],
        (values) => task(new ShownSnapshot(values, keysBelow)),
        named,
      );
    },
    ...below.readOf && {
      async readOf(version, key, range, options) {
        const place = await places.placeToRead(key, options);
        return await place?.backend.readOf?.(
          version,
          place.key,
          range,
          options,
        );
      },
    },
    ...below.prepare && {
      async prepare(keys, options) {
        const { backend, keys: keysBelow, named } =
          (await toChange(keys, options))!;
        const pending = await backend.prepare!([...keysBelow.values()], {
          ...options,
          ...named,
        });
        return new ShownPendingValues(pending, keysBelow);
      },
      async remove(keys, options) {
        const { backend, keys: keysBelow, named } =
          (await toChange(keys, options))!;
        await backend.remove!([...keysBelow.values()], {
          ...options,
          ...named,
        });
      },
      async update(keys, change, options) {
        const { backend, keys: keysBelow, named } =
          (await toChange(keys, options))!;
        await backend.update!(
          [...keysBelow.values()],
          (values) => change(new ShownSnapshot(values, keysBelow)),
          named,
        );
      },
    },
    ...below.list && {
      list: (prefix, options) => places.list(prefix, options),
    },
  };
}

/** The keys of values in one backend, by the keys that a view shows. */
interface FoundPlaces {
  readonly backend: Backend;
  readonly keys: ReadonlyMap<StoreKey, StoreKey>;
  /** The options of the operation in that backend. */
  readonly named: ValuesOptions | undefined;
}

/** Finds the places of values that are read or changed together; `undefined` if none of them is shown. */
async function findPlaces(
  shown: readonly StoreKey[],
  find: (key: StoreKey) => FoundPlace,
  options: ValuesOptions | undefined,
): Promise<FoundPlaces | undefined> {
  const keys = new Map<StoreKey, StoreKey>();
  let backend: Backend | undefined;
  for (const key of shown) {
    const found = find(key);
    const place = found instanceof Promise ? await found : found;
    if (place === undefined) continue;
    if (backend !== undefined && backend !== place.backend) {
      throw new RangeError(
        `Expected keys of one array or of none, to read or change their values together, found ${
          describe(shown)
        }`,
      );
    }
    backend = place.backend;
    keys.set(key, place.key);
  }
  if (backend === undefined) return undefined;
  const { name } = options ?? {};
  if (name === undefined) return { backend, keys, named: options };
  // Whoever shows the values under other keys has the same lock, by the name below.
  const place = await find(name);
  const named = { ...options, name: place?.key ?? name };
  return { backend, keys, named };
}

/** The values of another snapshot under the keys that a view shows. */
class ShownSnapshot implements Snapshot {
  readonly #values: Snapshot;
  readonly #keys: ReadonlyMap<StoreKey, StoreKey>;

  constructor(values: Snapshot, keys: ReadonlyMap<StoreKey, StoreKey>) {
    this.#values = values;
    this.#keys = keys;
  }

  async size(shown: StoreKey): Promise<number | undefined> {
    const key = this.#keys.get(shown);
    return key && await this.#values.size(key);
  }

  async read(
    shown: StoreKey,
    ...rest: [
      Parameters<Snapshot["read"]>[1]?,
      Parameters<Snapshot["read"]>[2]?,
    ]
  ): Promise<Uint8Array | undefined> {
    const key = this.#keys.get(shown);
    return key && await this.#values.read(key, ...rest);
  }

  async stream(
    shown: StoreKey,
    range?: Parameters<Snapshot["stream"]>[1],
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    const key = this.#keys.get(shown);
    return key && await this.#values.stream(key, range);
  }

  version(shown: StoreKey): ReturnType<Snapshot["version"]> {
    const key = this.#keys.get(shown);
    return key && this.#values.version(key);
  }
}

/** Values that are written under the keys that a view shows. */
class ShownPendingValues implements PendingValues {
  readonly #pending: PendingValues;
  readonly #keys: ReadonlyMap<StoreKey, StoreKey>;

  constructor(
    pending: PendingValues,
    keys: ReadonlyMap<StoreKey, StoreKey>,
  ) {
    this.#pending = pending;
    this.#keys = keys;
  }

  set(shown: StoreKey, bytes: Uint8Array): Promise<void> {
    return this.#pending.set(this.#keys.get(shown)!, bytes);
  }

  writer(shown: StoreKey): ReturnType<PendingValues["writer"]> {
    return this.#pending.writer(this.#keys.get(shown)!);
  }

  commit(check?: (values: Snapshot) => Promise<void>): Promise<void> {
    return this.#pending.commit(
      check && ((values) => check(new ShownSnapshot(values, this.#keys))),
    );
  }

  abort(reason: unknown): Promise<void> {
    return this.#pending.abort(reason);
  }
}

/** Values that a view computes, such as documents. */
export class ComputedSnapshot implements Snapshot {
  readonly #compute: (key: StoreKey) => Promise<Uint8Array | undefined>;
  readonly #values = new Map<StoreKey, Promise<Uint8Array | undefined>>();

  constructor(compute: (key: StoreKey) => Promise<Uint8Array | undefined>) {
    this.#compute = compute;
  }

  async size(key: StoreKey): Promise<number | undefined> {
    return (await this.#valueOf(key))?.length;
  }

  async read(
    key: StoreKey,
    range?: Parameters<Snapshot["read"]>[1],
    { limit }: { limit?: number | undefined } = {},
  ): Promise<Uint8Array | undefined> {
    const bytes = await this.#valueOf(key);
    if (bytes === undefined) return undefined;
    if (range === undefined) {
      assertSizeLimit(key, limit, bytes.length);
      return bytes.slice();
    }
    const { start, end } = resolveByteRange(range, bytes.length);
    return bytes.slice(start, end);
  }

  async stream(
    key: StoreKey,
    range?: Parameters<Snapshot["stream"]>[1],
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    const bytes = await this.read(key, range);
    return bytes && toStream(bytes);
  }

  version(): undefined {
    return undefined;
  }

  #valueOf(key: StoreKey): Promise<Uint8Array | undefined> {
    let value = this.#values.get(key);
    if (value === undefined) this.#values.set(key, value = this.#compute(key));
    return value;
  }
}

/** The values of keys of which none is shown. */
const NOTHING: Snapshot = /* @__PURE__ */ new ComputedSnapshot(() =>
  Promise.resolve(undefined)
);
