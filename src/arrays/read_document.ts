import { MetadataError, SizeLimitError } from "../errors/mod.ts";
import { LONGEST_DOCUMENT } from "../metadata/mod.ts";
import {
  backendOf,
  describeStore,
  type Snapshot,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";

/**
 * Reads a metadata document.
 *
 * @throws {MetadataError} If the document is too long. It is not read to its end then.
 */
export async function readDocument(
  store: Store,
  key: StoreKey,
  options?: StoreOptions,
): Promise<Uint8Array | undefined> {
  options?.signal?.throwIfAborted();
  return await backendOf(store).read(
    [key],
    (values) => documentIn(values, key, store),
    options,
  );
}

/**
 * Reads a metadata document of a snapshot.
 *
 * @param store The store of the snapshot, for messages.
 * @throws {MetadataError} If the document is too long.
 */
export async function documentIn(
  values: Snapshot,
  key: StoreKey,
  store: Store,
): Promise<Uint8Array | undefined> {
  try {
    return await values.read(key, undefined, { limit: LONGEST_DOCUMENT });
  } catch (cause) {
    if (!(cause instanceof SizeLimitError)) throw cause;
    throw new MetadataError(
      `Expected a document of at most ${LONGEST_DOCUMENT} bytes, found ${
        cause.size ?? "more"
      }`,
      "",
      { document: key, store: describeStore(store), cause },
    );
  }
}

/** Whether a store has a metadata document. */
export async function hasDocument(
  store: Store,
  key: StoreKey,
  options?: StoreOptions,
): Promise<boolean> {
  options?.signal?.throwIfAborted();
  const size = await backendOf(store).read(
    [key],
    (values) => values.size(key),
    options,
  );
  return size !== undefined;
}
