import { documentIn } from "../arrays/mod.ts";
import { assertSizeLimit, MetadataError, sentence } from "../errors/mod.ts";
import {
  type Backend,
  type ChangeOptions,
  MemoryPendingValues,
  resolveByteRange,
  type Snapshot,
  type Store,
  type StoreKey,
  type StoreOptions,
  toStream,
} from "../stores/mod.ts";

/** Where a value is: a backend, and the key of the value in it. */
export interface Place {
  readonly backend: Backend;
  readonly key: StoreKey;
}

/** Where a view finds its values. */
interface ViewPlaces {
  /**
   * Returns the place of a value; `undefined` for a key that has no value in the view.
   *
   * @param isChange Whether the value is to be changed. Throws then for a key that cannot be
   * changed.
   */
  placeOf(
    key: StoreKey,
    options: StoreOptions | undefined,
    isChange: boolean,
  ): Place | undefined | Promise<Place | undefined>;
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
  return {
    async read(keys, task, options) {
      const found = await findPlaces(places, keys, options, false);
      if (found === undefined) return await task(NOTHING);
      return await found.backend.read(
        found.keys,
        (values) => task(found.show(values)),
        found.options,
      );
    },
    ...below.readOf && {
      async readOf(version, key, range, options) {
        const place = await places.placeOf(key, options, false);
        const { backend, key: keyBelow } = place ?? {};
        return await backend?.readOf?.(version, keyBelow!, range, options);
      },
    },
    ...below.prepare && {
      async prepare(keys, options) {
        const found = (await findPlaces(places, keys, options, true))!;
        const pending = await found.backend.prepare!(found.keys, found.options);
        return {
          set: (key, bytes) => pending.set(found.keyOf(key)!, bytes),
          writer: (key) => pending.writer(found.keyOf(key)!),
          commit: (check) =>
            pending.commit(check && ((values) => check(found.show(values)))),
          abort: (reason) => pending.abort(reason),
        };
      },
      async update(keys, change, options) {
        const found = (await findPlaces(places, keys, options, true))!;
        await found.backend.update!(
          found.keys,
          (values) => change(found.show(values)),
          found.options,
        );
      },
    },
    ...below.remove && {
      async remove(keys, options) {
        const found = (await findPlaces(places, keys, options, true))!;
        await found.backend.remove!(found.keys, found.options);
      },
    },
    ...below.list && {
      list: (prefix, options) => places.list(prefix, options),
    },
  };
}

/** Values in one backend. */
interface FoundPlaces {
  readonly backend: Backend;
  readonly keys: readonly StoreKey[];
  /** The options of the operation in that backend. */
  readonly options: ChangeOptions | undefined;
  /** Returns the key of a value by the key that the view shows. */
  keyOf(shown: StoreKey): StoreKey | undefined;
  /** Shows the values under the keys of the view. */
  show(values: Snapshot): Snapshot;
}

/** Finds the places of values that are read or changed together; `undefined` if none of them is shown. */
async function findPlaces(
  places: ViewPlaces,
  shown: readonly StoreKey[],
  options: ChangeOptions | undefined,
  isChange: boolean,
): Promise<FoundPlaces | undefined> {
  const keys = new Map<StoreKey, StoreKey>();
  let backend: Backend | undefined;
  for (const key of shown) {
    const found = places.placeOf(key, options, isChange);
    const place = found instanceof Promise ? await found : found;
    if (place === undefined) continue;
    if (backend !== undefined && backend !== place.backend) {
      throw new RangeError(
        sentence`Expected keys of one array or of none, to read or change their values together, found ${shown}`,
      );
    }
    backend = place.backend;
    keys.set(key, place.key);
  }
  if (backend === undefined) return undefined;
  // Views that show the values under other keys take the same lock, that of the name in the store below.
  const name = options?.name &&
    ((await places.placeOf(options.name, options, isChange))?.key ??
      options.name);
  const at = <T>(shown: StoreKey, read: (key: StoreKey) => T) => {
    const key = keys.get(shown);
    return key && read(key);
  };
  return {
    backend,
    keys: [...keys.values()],
    options: name === undefined ? options : { ...options, name },
    keyOf: (shown) => keys.get(shown),
    show: (values) => ({
      size: async (shown) => await at(shown, (key) => values.size(key)),
      read: async (shown, range, options) =>
        await at(shown, (key) => values.read(key, range, options)),
      stream: async (shown, range) =>
        await at(shown, (key) => values.stream(key, range)),
      version: (shown) => at(shown, (key) => values.version(key)),
    }),
  };
}

/** Values that a view computes, such as documents. */
export function computedValues(
  compute: (key: StoreKey) => Promise<Uint8Array | undefined>,
): Snapshot {
  const read: Snapshot["read"] = async (key, range, { limit } = {}) => {
    const bytes = await compute(key);
    if (bytes === undefined) return undefined;
    if (range === undefined) assertSizeLimit(key, limit, bytes.length);
    const { start, end } = range
      ? resolveByteRange(range, bytes.length)
      : { start: 0, end: bytes.length };
    return bytes.slice(start, end);
  };
  return {
    size: async (key) => (await compute(key))?.length,
    read,
    async stream(key, range) {
      const bytes = await read(key, range);
      return bytes && toStream(bytes);
    },
    version: () => undefined,
  };
}

/** The values of keys of which none is shown. */
const NOTHING: Snapshot = /* @__PURE__ */ computedValues(() =>
  Promise.resolve(undefined)
);

/** How a view shows and changes documents. */
interface ShownDocuments {
  /** Converts a stored document, `undefined` for none, to the one that is shown. */
  show(
    key: StoreKey,
    stored: Uint8Array | undefined,
    options: StoreOptions | undefined,
  ): Promise<Uint8Array | undefined>;
  /**
   * Converts a document that is written to the one that is stored.
   *
   * @param stored The stored document, `undefined` for none.
   */
  toStored(
    key: StoreKey,
    bytes: Uint8Array,
    stored: Uint8Array | undefined,
    options: StoreOptions | undefined,
  ): Promise<Uint8Array>;
  /** Refuses a document that cannot be changed. */
  assertChangeable?(
    key: StoreKey,
    options: StoreOptions | undefined,
  ): Promise<void>;
  /** Called after a document was changed, or may have been. */
  changed?(key: StoreKey): void;
}

/**
 * Returns a backend of the documents that a view shows, each by itself.
 *
 * @param store The store below, for messages.
 * @param below The backend of that store.
 */
export function documentBackend(
  store: Store,
  below: Backend,
  { show, toStored, assertChangeable, changed }: ShownDocuments,
): Backend {
  const shown = (values: Snapshot, options: StoreOptions | undefined) =>
    computedValues(async (key) =>
      await show(key, await documentIn(values, key, store), options)
    );
  const update: Required<Backend>["update"] = async (keys, change, options) => {
    const [key] = keys as [StoreKey];
    try {
      await below.update!([key], async (values) => {
        const updated = await change(shown(values, options));
        if (updated === "keep") return updated;
        await assertChangeable?.(key, options);
        if (updated === "delete") return updated;
        const stored = await documentIn(values, key, store)
          .catch((error) => {
            // A document that is too long to be read is replaced.
            if (!(error instanceof MetadataError)) throw error;
          });
        return [await toStored(key, updated[0]!, stored ?? undefined, options)];
      }, options);
    } finally {
      changed?.(key);
    }
  };
  return {
    read: (keys, task, options) =>
      below.read(keys, (values) => task(shown(values, options)), options),
    ...below.update && {
      update,
      async prepare([key], options) {
        await assertChangeable?.(key!, options);
        return new MemoryPendingValues(
          [key!],
          options?.signal,
          (pending, check) =>
            update([key!], async (values) => {
              await check?.(values);
              return [pending.get(key!)!];
            }, options),
        );
      },
      async remove([key], options) {
        await assertChangeable?.(key!, options);
        try {
          await below.remove!([key!], options);
        } finally {
          changed?.(key!);
        }
      },
    },
  };
}
