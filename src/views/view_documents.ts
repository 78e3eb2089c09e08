import { readDocument } from "../arrays/read_document.ts";
import { inDocument } from "../metadata/metadata_error.ts";
import { changeNodes, isArrayDocument } from "../metadata/node_documents.ts";
import { showZarrJson } from "../metadata/format_zarr_json.ts";
import { describeStore } from "../stores/describe_store.ts";
import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";
import { assertStoreKey } from "../stores/store_key.ts";
import type { TranslatedArrays } from "./translated_arrays.ts";
import type { Translation } from "./translation.ts";

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

  /** Reads a document and converts it to the one that is shown. */
  async read(
    key: StoreKey,
    options: StoreOptions | undefined,
  ): Promise<Uint8Array | undefined> {
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
            return changeNodes(
              document,
              (node) => this.#translation.toShown(node),
            );
          }),
      );
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

/** Returns the root of a document's node, without a last `/`. */
export function rootOf(key: StoreKey): string {
  return key.slice(0, -DOCUMENT.length);
}
