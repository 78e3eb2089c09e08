import { ArrayChunks } from "./array_chunks.ts";
import { arrayRoot } from "./array_root.ts";
import type { ArrayMetadata } from "../metadata/array_metadata.ts";
import { describe } from "../metadata/describe.ts";
import { inDocument, MetadataError } from "../metadata/metadata_error.ts";
import { isGroupDocument } from "../metadata/node_documents.ts";
import { formatZarrJson, parseZarrJson } from "../metadata/zarr_json.ts";
import { assertStore } from "../stores/assert_store.ts";
import { readDocument } from "./read_document.ts";
import { describeStore } from "../stores/describe_store.ts";
import { assertWritable, write } from "../stores/capabilities.ts";
import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";

/**
 * Opens an array: reads its `zarr.json`, which says where and how its chunks are
 * stored.
 *
 * @param store The store that holds the array.
 * @param path The array's path in the store, such as `temperature/monthly`;
 * empty for the root.
 * @param options `signal` aborts the requests.
 * @returns The array's chunks.
 * @throws {MetadataError} If no Zarr v3 array is at `path`, or its metadata is
 * not valid or not understood.
 * @throws {TypeError} If `store` is not a store, or `path` not a string.
 * @throws {RangeError} If `path` is not names joined by `/`.
 *
 * @example
 * ```ts
 * import { arrayMetadata, MemoryStore, openArrayChunks } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const metadata = arrayMetadata({
 *   shape: [10],
 *   dataType: "uint8",
 *   chunkShape: [4],
 *   keyEncoding: "v2",
 * });
 * const store = new MemoryStore([
 *   ["/zarr.json", new TextEncoder().encode(JSON.stringify(metadata))],
 *   ["/2", new Uint8Array([8, 9, 0, 0])],
 * ]);
 *
 * const chunks = await openArrayChunks(store);
 * assertEquals(chunks.gridShape, [3]);
 * assertEquals(await chunks.getRange([2], { offset: 0, length: 2 }), new Uint8Array([8, 9]));
 * ```
 */
export async function openArrayChunks(
  store: Store,
  path = "",
  options?: StoreOptions,
): Promise<ArrayChunks> {
  const { root, document } = locate(store, path);
  const bytes = await readDocument(store, document, options);
  if (bytes === undefined) {
    const { missingArray } = await import("./missing_array.ts");
    throw await missingArray(store, root, options);
  }
  const storeName = describeStore(store);
  const metadata = inDocument(document, storeName, () => parseZarrJson(bytes));
  if (isGroupDocument(metadata)) {
    const { groupForArray } = await import("./missing_array.ts");
    throw await groupForArray(store, root, options);
  }
  return inDocument(
    document,
    storeName,
    () => new ArrayChunks(store, path, metadata),
  );
}

/**
 * Creates an array without chunks: checks how its metadata stores chunks, and
 * writes the metadata as `zarr.json`.
 *
 * @param store The store to create it in.
 * @param path The array's path in the store; empty for the root. Groups above
 * it are not created.
 * @param metadata The array's metadata, from `arrayMetadata` for instance. The
 * chunk key encoding is written in its canonical form, everything else as given.
 * @param options `signal` aborts the requests.
 * @returns The array's chunks, none of them stored yet.
 * @throws {MetadataError} If the metadata is not valid or not understood, or a
 * node is at `path` already. Nothing is written then.
 * @throws {TypeError} If `store` is not a store or is read-only, or `path` is not
 * a string.
 * @throws {RangeError} If `path` is not names joined by `/`.
 *
 * @example
 * ```ts
 * import {
 *   arrayMetadata,
 *   createArrayChunks,
 *   MemoryStore,
 *   openArrayChunks,
 * } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const store = new MemoryStore();
 * await createArrayChunks(
 *   store,
 *   "elevation",
 *   arrayMetadata({
 *     shape: [344, 403],
 *     dataType: "int16",
 *     chunkShape: [128, 128],
 *     suffix: ".tiff",
 *   }),
 * );
 *
 * const chunks = await openArrayChunks(store, "elevation");
 * assertEquals(chunks.gridShape, [3, 4]);
 * assertEquals(chunks.key([2, 3]), "/elevation/c/2/3.tiff");
 * ```
 */
export async function createArrayChunks(
  store: Store,
  path: string,
  metadata: ArrayMetadata,
  options?: StoreOptions,
): Promise<ArrayChunks> {
  const { root, document } = locate(store, path);
  assertWritable(store, document);
  const storeName = describeStore(store);
  const chunks = inDocument(
    document,
    storeName,
    () => new ArrayChunks(store, path, metadata),
  );
  if (await store.get(document, options) !== undefined) {
    throw new MetadataError(
      `Cannot create an array at ${
        describe(root || "/")
      }: a node is there already`,
      "",
      { document, store: storeName },
    );
  }
  const written = {
    ...metadata,
    chunk_key_encoding: chunks.keyEncoding.toJSON(),
  };
  await write(store, document, formatZarrJson(written), options);
  return new ArrayChunks(store, path, written);
}

function locate(
  store: Store,
  path: string,
): { root: "" | StoreKey; document: StoreKey } {
  assertStore(store);
  const root = arrayRoot(path);
  return { root, document: `${root}/zarr.json` };
}
