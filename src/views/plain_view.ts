import { parseArray } from "../arrays/mod.ts";
import { isArrayDocument, isMembers, type Members } from "../metadata/mod.ts";
import { assertStore, type Store } from "../stores/mod.ts";
import { type PlainStore, StoreView } from "./store_view.ts";
import { PlainArray, type Translation } from "./translated_arrays.ts";

/**
 * Shows a store as if every array in it, at any depth, had `default` chunk keys
 * and no storage transformers, so that other Zarr programs can read, write and
 * copy the arrays. Each `zarr.json` is changed accordingly, also in consolidated
 * metadata. All other values are shown as they are stored. For an array that is
 * plain already, a chunk costs one look-up in memory.
 *
 * When the `zarr.json` of an array is written back, the stored chunk key encoding
 * and storage transformers are kept.
 *
 * The view reads the metadata of an array once, with the first of its chunks. The
 * view notices changes that are made through it, but not those of others.
 *
 * @param store Any store.
 * @returns The view. Its methods reject with a {@linkcode MetadataError} if an
 * array's metadata is not understood, and with the errors of `ConcatParts.apply` for
 * incomplete chunks. A key outside the chunk grid has no value: reading it gives
 * `undefined`, and writing or deleting it is a `RangeError`.
 * @throws {TypeError} If `store` is not a store.
 *
 * @example
 * ```ts
 * import { arrayMetadata, createArrayChunks, MemoryStore, plainView } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const stored = new MemoryStore();
 * const metadata = arrayMetadata({
 *   shape: [4, 4],
 *   dataType: "uint8",
 *   chunkShape: [2, 2],
 *   codecs: ["crc32c"],
 *   suffix: ".bin",
 *   parts: ["", ".crc32c"],
 * });
 * const chunks = await createArrayChunks(stored, "elevation", metadata);
 * await chunks.set([0, 1], new Uint8Array(8));
 *
 * const plain = plainView(stored);
 * assertEquals((await plain.get("/elevation/c/0/1"))?.length, 8);
 * assertEquals((await Array.fromAsync(plain.list())).sort(), [
 *   "/elevation/c/0/1",
 *   "/elevation/zarr.json",
 * ]);
 * const document = new TextDecoder().decode(await plain.get("/elevation/zarr.json"));
 * assertEquals(JSON.parse(document).chunk_key_encoding.name, "default");
 * ```
 */
export function plainView<S extends Store>(store: S): PlainStore<S> {
  assertStore(store);
  return new StoreView(store, PLAIN).toStore("plainView");
}

/** The chunk key encoding of every array in a plain view. */
export const PLAIN_KEYS = {
  name: "default",
  configuration: { separator: "/" },
};

/** The translation of `plainView`: `default` keys and no storage transformers. */
export const PLAIN: Translation = {
  toShown(document) {
    if (!isTranslated(document)) return document;
    const { storage_transformers: _, ...rest } = document as Members;
    return { ...rest, chunk_key_encoding: PLAIN_KEYS };
  },

  toStored(document, stored) {
    if (
      !isTranslated(stored) || !isArrayDocument(document) ||
      isTranslated(document)
    ) return document;
    const { chunk_key_encoding, storage_transformers } = stored as Members;
    return {
      ...document,
      chunk_key_encoding,
      ...storage_transformers === undefined ? {} : { storage_transformers },
    };
  },

  open(store, root, document) {
    return isTranslated(document)
      ? new PlainArray(store, root, parseArray(document))
      : undefined;
  },
};

/** Whether a document is that of an array with other keys than `default`, or with storage transformers. */
function isTranslated(document: unknown): boolean {
  if (!isArrayDocument(document)) return false;
  const { chunk_key_encoding, storage_transformers } = document;
  return !isPlainKeys(chunk_key_encoding) ||
    Array.isArray(storage_transformers) && storage_transformers.length > 0;
}

/** Whether an encoding is `default` with the separator `/`. */
function isPlainKeys(encoding: unknown): boolean {
  if (encoding === "default") return true;
  if (!isMembers(encoding) || encoding.name !== "default") return false;
  const { configuration = {} } = encoding;
  return isMembers(configuration) && (configuration.separator ?? "/") === "/";
}
