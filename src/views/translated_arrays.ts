import { readDocument } from "../arrays/read_document.ts";
import { inDocument } from "../metadata/metadata_error.ts";
import { parseZarrJson } from "../metadata/zarr_json.ts";
import { describeStore } from "../stores/describe_store.ts";
import { copyBytes } from "../stores/copy_bytes.ts";
import type { Store, StoreKey } from "../stores/store.ts";
import type { TranslatedArray, Translation } from "./translation.ts";

/**
 * Caches the translated arrays of a store, and the last documents that were read.
 * Absent nodes are not cached, since they may be created later.
 */
export class TranslatedArrays {
  readonly #store: Store;
  readonly #translation: Translation;
  readonly #known = new Map<string, TranslatedArray | "as shown">();
  readonly #pending = new Map<string, Promise<TranslatedArray | undefined>>();
  /** The bytes of each array's document when it was last read. */
  readonly #documents = new Map<string, Uint8Array>();
  #changes = 0;

  constructor(store: Store, translation: Translation) {
    this.#store = store;
    this.#translation = translation;
  }

  /**
   * Returns the translated array at a root, or `undefined` if no node is there or
   * the node is shown as it is stored. Returns a promise only for the first call.
   */
  at(
    root: string,
  ): TranslatedArray | undefined | Promise<TranslatedArray | undefined> {
    const known = this.#known.get(root);
    if (known === undefined) return this.#loadOnce(root);
    return known === "as shown" ? undefined : known;
  }

  /** Whether a cached node is shown as it is stored. */
  isPlain(root: string): boolean {
    return this.#known.get(root) === "as shown";
  }

  /** Loads an array, or waits for the load that is under way. */
  #loadOnce(root: string): Promise<TranslatedArray | undefined> {
    const earlier = this.#pending.get(root);
    if (earlier !== undefined) return earlier;
    const isLatest = () => this.#pending.get(root) === loading;
    const loading = this.#load(root).then(({ found, bytes }) => {
      if (isLatest() && bytes !== undefined) {
        this.#known.set(root, found ?? "as shown");
        this.#documents.set(root, bytes);
      }
      return found;
    }, (error) => {
      if (isLatest()) this.#documents.delete(root);
      throw error;
    }).finally(() => {
      if (isLatest()) this.#pending.delete(root);
    });
    this.#pending.set(root, loading);
    return loading;
  }

  /** The number of documents that were written or deleted through the view. */
  get changes(): number {
    return this.#changes;
  }

  /**
   * Caches the bytes of an array's document. If the bytes differ from the cached
   * ones, another program has changed the array, and the array is loaded again.
   */
  cacheDocument(root: string, bytes: Uint8Array): void {
    const earlier = this.#documents.get(root);
    const known = this.#known.get(root);
    if (earlier !== undefined && isSame(earlier, bytes)) {
      if (typeof known === "object") known.refresh?.();
      return;
    }
    this.#known.delete(root);
    this.#pending.delete(root);
    this.#documents.set(root, copyBytes(bytes));
  }

  /** Removes an array from the cache. */
  delete(root: string): void {
    this.#known.delete(root);
    this.#pending.delete(root);
    this.#documents.delete(root);
  }

  /** Removes an array whose document is written or deleted through the view. */
  invalidate(root: string): void {
    this.#changes++;
    this.delete(root);
  }

  async #load(root: string): Promise<Loaded> {
    const document = `${root}/zarr.json` as StoreKey;
    const bytes = this.#documents.get(root) ??
      await readDocument(this.#store, document);
    const found = bytes && inDocument(
      document,
      describeStore(this.#store),
      () => this.#translation.open(this.#store, root, parseZarrJson(bytes)),
    );
    return { found, bytes };
  }
}

/** A document's bytes, and its array if the array is translated. */
interface Loaded {
  readonly found: TranslatedArray | undefined;
  readonly bytes: Uint8Array | undefined;
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
