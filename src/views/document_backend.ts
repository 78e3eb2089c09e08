import { documentIn } from "../arrays/mod.ts";
import { MetadataError } from "../errors/mod.ts";
import { copyBytes, joinBytes } from "../runtime/mod.ts";
import type {
  Backend,
  PendingValues,
  Snapshot,
  Store,
  StoreKey,
  StoreOptions,
} from "../stores/mod.ts";
import { ComputedSnapshot } from "./view_backend.ts";

/** How a view shows and changes documents. */
export interface ShownDocuments {
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
 * Returns a backend of the documents that a view shows.
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
    new ComputedSnapshot(async (key) =>
      await show(key, await documentIn(values, key, store), options)
    );
  const change = async (
    keys: readonly StoreKey[],
    task: () => Promise<void>,
  ) => {
    try {
      await task();
    } finally {
      keys.forEach((key) => changed?.(key));
    }
  };
  const assertAll = async (
    keys: readonly StoreKey[],
    options: StoreOptions | undefined,
  ) => {
    for (const key of keys) await assertChangeable?.(key, options);
  };
  const update: Backend["update"] = (keys, task, options) =>
    change(keys, () =>
      below.update!(keys, async (values) => {
        const updated = await task(shown(values, options));
        if (updated === "keep") return updated;
        await assertAll(keys, options);
        if (updated === "delete") return updated;
        return await Promise.all(updated.map(async (bytes, i) => {
          // The write replaces a document that is too long to be read.
          const stored = await documentIn(values, keys[i]!, store)
            .catch((error) => {
              if (!(error instanceof MetadataError)) throw error;
            }) ?? undefined;
          return await toStored(keys[i]!, bytes, stored, options);
        }));
      }, options));
  return {
    read: (keys, task, options) =>
      below.read(keys, (values) => task(shown(values, options)), options),
    ...below.update && {
      update,
      async prepare(keys, options) {
        await assertAll(keys, options);
        return new CollectedValues((given, check) =>
          update(keys, async (values) => {
            await check?.(values);
            return keys.map((key) => given.get(key)!);
          }, options)
        );
      },
      async remove(keys, options) {
        await assertAll(keys, options);
        await change(keys, () => below.remove!(keys, options));
      },
    },
  };
}

type StoreValues = (
  values: ReadonlyMap<StoreKey, Uint8Array>,
  check: ((values: Snapshot) => Promise<void>) | undefined,
) => Promise<void>;

/** Values that are in memory until they are stored. */
class CollectedValues implements PendingValues {
  readonly #store: StoreValues;
  readonly #values = new Map<StoreKey, Uint8Array>();

  constructor(store: StoreValues) {
    this.#store = store;
  }

  set(key: StoreKey, bytes: Uint8Array): Promise<void> {
    this.#values.set(key, copyBytes(bytes));
    return Promise.resolve();
  }

  writer(key: StoreKey): ReturnType<PendingValues["writer"]> {
    const pieces: Uint8Array[] = [];
    return Promise.resolve({
      write(bytes) {
        pieces.push(copyBytes(bytes));
        return Promise.resolve(bytes.length);
      },
      close: () => {
        this.#values.set(key, joinBytes(pieces));
      },
    });
  }

  commit(check?: (values: Snapshot) => Promise<void>): Promise<void> {
    return this.#store(this.#values, check);
  }

  abort(): Promise<void> {
    return Promise.resolve();
  }
}
