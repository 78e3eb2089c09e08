import { describe, inDocument, MetadataError } from "../errors/mod.ts";
import { type ArrayMetadata, formatZarrJson } from "../metadata/mod.ts";
import {
  describeStore,
  type Store,
  type StoreKey,
  type StoreOptions,
  writeNew,
} from "../stores/mod.ts";
import { storageOf } from "./array_storage.ts";
import { completeMetadata } from "./complete_metadata.ts";

/**
 * Completes the metadata of an array and writes it as the array's `zarr.json`.
 *
 * @param root The prefix of the array's keys, without a last `/`.
 * @returns The metadata as it was written.
 * @throws {MetadataError} If the metadata is refused, or a node is there already.
 */
export async function createArray(
  store: Store,
  root: "" | StoreKey,
  metadata: ArrayMetadata,
  options: StoreOptions | undefined,
): Promise<ArrayMetadata> {
  const key: StoreKey = `${root}/zarr.json`;
  const storeName = describeStore(store);
  const { written, bytes } = inDocument(key, storeName, () => {
    const written = completeMetadata(
      storageOf(metadata, { isComplete: false }),
    );
    return { written, bytes: formatZarrJson(written) };
  });
  if (await writeNew(store, key, bytes, options)) return written;
  throw new MetadataError(
    `Cannot create an array at ${
      describe(root || "/")
    }: a node is there already`,
    "",
    { document: key, store: storeName },
  );
}
