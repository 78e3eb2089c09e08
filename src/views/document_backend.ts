import { documentIn } from "../arrays/mod.ts";
import { MetadataError } from "../errors/mod.ts";
import {
  type Backend,
  MemoryPendingValues,
  type Snapshot,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";
import { computedValues } from "./view_backend.ts";

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
