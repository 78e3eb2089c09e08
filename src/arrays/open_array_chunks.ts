import { ArrayChunks } from "./array_chunks.ts";
import type { ArrayMetadata } from "../metadata/array_metadata.ts";
import { describe } from "../metadata/describe.ts";
import { inDocument, MetadataError } from "../metadata/metadata_error.ts";
import { formatZarrJson, parseZarrJson } from "../metadata/zarr_json.ts";
import { write } from "../stores/capabilities.ts";
import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";
import { nodeRoot } from "../stores/store_key.ts";

/**
 * Opens an array: reads its `zarr.json`, and finds out from it where and how its
 * chunks are stored.
 *
 * @param store The store that holds the array.
 * @param path The array's place in the store, such as `temperature/monthly`;
 * empty for the root.
 * @param options `signal` aborts the requests.
 * @returns The array's chunks.
 * @throws {MetadataError} No Zarr v3 array at `path`, or one with metadata that
 * is not valid or not understood; the message says which.
 *
 * @example
 * ```ts
 * import { MemoryStore, openArrayChunks } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const metadata = {
 *   zarr_format: 3,
 *   node_type: "array",
 *   shape: [10],
 *   data_type: "uint8",
 *   chunk_grid: { name: "regular", configuration: { chunk_shape: [4] } },
 *   chunk_key_encoding: "v2",
 *   fill_value: 0,
 *   codecs: [{ name: "bytes" }],
 * };
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
  const root = nodeRoot(path);
  const document: StoreKey = `${root}/zarr.json`;
  const bytes = await store.get(document, options);
  if (bytes === undefined) throw await noArray(store, root, options);
  return inDocument(document, () => {
    const metadata = parseZarrJson(bytes);
    return new ArrayChunks(store, path, metadata);
  });
}

/**
 * Creates an array without chunks: checks of its metadata what says how chunks are
 * stored, and stores it as `zarr.json`.
 *
 * @param store The store to create it in.
 * @param path The array's place in the store; empty for the root. Groups above
 * it are not created.
 * @param metadata The array's metadata. It is written as it is, but for the
 * chunk key encoding, which is written in its canonical form.
 * @param options `signal` aborts the requests.
 * @returns The array's chunks, none of them stored yet.
 * @throws {MetadataError} Metadata that is not valid or not understood, or a
 * node that stands at `path` already; nothing is written then.
 *
 * @example
 * ```ts
 * import { createArrayChunks, MemoryStore, openArrayChunks } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const store = new MemoryStore();
 * await createArrayChunks(store, "elevation", {
 *   zarr_format: 3,
 *   node_type: "array",
 *   shape: [344, 403],
 *   data_type: "int16",
 *   chunk_grid: { name: "regular", configuration: { chunk_shape: [128, 128] } },
 *   chunk_key_encoding: { name: "suffix", configuration: { suffix: ".tiff" } },
 *   fill_value: 0,
 *   codecs: [{ name: "bytes", configuration: { endian: "little" } }],
 * });
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
  const root = nodeRoot(path);
  const document: StoreKey = `${root}/zarr.json`;
  const chunks = inDocument(
    document,
    () => new ArrayChunks(store, path, metadata),
  );
  if (await store.get(document, options) !== undefined) {
    throw new MetadataError(
      `A node stands at ${
        describe(root || "/")
      } already, where an array was to be created`,
      "",
      { document },
    );
  }
  const written = {
    ...metadata,
    chunk_key_encoding: chunks.keyEncoding.toJSON(),
  };
  await write(store, document, formatZarrJson(written), options);
  return new ArrayChunks(store, path, written);
}

/** The error for a place without `zarr.json`, which looks whether Zarr v2 is there. */
async function noArray(
  store: Store,
  root: "" | StoreKey,
  options: StoreOptions | undefined,
): Promise<MetadataError> {
  const names = [".zarray", ".zgroup"];
  const found = await Promise.all(
    names.map((name) => store.get(`${root}/${name}`, options)),
  );
  const at = describe(root || "/");
  const v2 = names.find((_, i) => found[i] !== undefined);
  return new MetadataError(
    v2 === undefined
      ? `No Zarr node at ${at}: there is no ${describe(`${root}/zarr.json`)}`
      : `Expected a Zarr v3 array at ${at}, found a Zarr v2 ${
        v2 === ".zarray" ? "array" : "group"
      } (${v2})`,
  );
}
