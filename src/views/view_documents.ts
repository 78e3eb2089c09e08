import { readDocument } from "../arrays/read_document.ts";
import { inDocument, MetadataError } from "../metadata/metadata_error.ts";
import { changeNodes, isArrayDocument } from "../metadata/node_documents.ts";
import { showZarrJson } from "../metadata/format_zarr_json.ts";
import { withNumbers } from "../metadata/zarr_json.ts";
import { describeStore } from "../stores/describe_store.ts";
import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";
import { assertStoreKey } from "../stores/store_key.ts";
import type { TranslatedArrays } from "./translated_arrays.ts";
import type { Translation } from "./translation.ts";
import { isV2Document, readV2Document } from "../arrays/v2_documents.ts";

const DOCUMENT = "/zarr.json";

/** Reads the documents of a view. */
export class ViewDocuments {
  readonly #store: Store;
  /** The store's name in messages. */
  readonly #storeName: string;
  readonly #translation: Translation;
  readonly #arrays: TranslatedArrays;

  constructor(
    store: Store,
    translation: Translation,
    arrays: TranslatedArrays,
  ) {
    this.#store = store;
    this.#storeName = describeStore(store);
    this.#translation = translation;
    this.#arrays = arrays;
  }

  /** Reads a document, also one of Zarr v2, and converts it to the one that is shown. */
  async read(
    key: StoreKey,
    options: StoreOptions | undefined,
  ): Promise<Uint8Array | undefined> {
    if (isV2Document(key)) {
      return await readV2Document(this.#store, key, options);
    }
    const { changes } = this.#arrays;
    const bytes = await readDocument(this.#store, key, options);
    const isLatest = this.#arrays.changes === changes;
    if (isLatest && bytes === undefined) this.#arrays.delete(rootOf(key));
    return bytes &&
      inDocument(
        key,
        this.#storeName,
        () =>
          showZarrJson(bytes, (document) => {
            if (isLatest) this.#cache(key, document, bytes);
            this.#translation.check?.(withNumbers(document));
            return changeNodes(
              document,
              (node, path) => this.#shown(node, path),
            );
          }),
      );
  }

  /** Converts the document of a node; `undefined` for one in consolidated metadata that is not understood, so that the node's own document is read. */
  #shown(node: unknown, path: string): unknown {
    try {
      if (path !== "") this.#translation.check?.(withNumbers(node));
    } catch (error) {
      if (error instanceof MetadataError) return undefined;
      throw error;
    }
    return this.#translation.toShown(node);
  }

  /** Caches an array's document, so that the array's chunks need no second read. */
  #cache(key: StoreKey, document: unknown, bytes: Uint8Array): void {
    if (isArrayDocument(document)) {
      this.#arrays.cacheDocument(rootOf(key), bytes);
    } else this.#arrays.delete(rootOf(key));
  }
}

/** Whether a key is that of a document, `…/zarr.json`. */
export function isDocument(key: StoreKey): boolean {
  assertStoreKey(key);
  return key.endsWith(DOCUMENT);
}

/** Whether a key is that of a document of Zarr v3 or v2. */
export function isAnyDocument(key: StoreKey): boolean {
  return isDocument(key) || isV2Document(key);
}

/** Returns the root of a document's node, without a last `/`. */
export function rootOf(key: StoreKey): string {
  return key.slice(0, key.lastIndexOf("/"));
}
