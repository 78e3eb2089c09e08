import { readDocument } from "../arrays/mod.ts";
import { inDocument } from "../errors/mod.ts";
import { parseZarrJson } from "../metadata/mod.ts";
import { copyBytes, isSameBytes } from "../runtime/mod.ts";
import { describeStore, type Store, type StoreKey } from "../stores/mod.ts";
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
  /** The arrays whose document was read since they were opened the last time. */
  readonly #read = new Set<string>();
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
   * Caches the bytes of an array's document that a user of the view has read. If the
   * bytes differ from the cached ones, another program has changed the array, and the
   * array is loaded again.
   */
  cacheDocument(root: string, bytes: Uint8Array): void {
    const known = this.#known.get(root);
    if (this.#update(root, bytes) && typeof known === "object") {
      known.refresh?.();
    }
    this.#read.add(root);
  }

  /**
   * Notes that an array is opened. If its document was not read for this, a layer above
   * the view has kept the document, and the view reads it again with the next chunk.
   */
  noteOpened(root: string): void {
    if (!this.#read.delete(root)) this.delete(root);
  }

  /** Reads an array's document again, and returns the array as it is now. */
  async reload(root: string): Promise<TranslatedArray | undefined> {
    const changes = this.#changes;
    const bytes = await readDocument(this.#store, documentOf(root));
    if (this.#changes === changes) {
      if (bytes === undefined) this.delete(root);
      else this.#update(root, bytes);
    }
    return await this.at(root);
  }

  /** Removes an array from the cache. */
  delete(root: string): void {
    this.#known.delete(root);
    this.#pending.delete(root);
    this.#documents.delete(root);
    this.#read.delete(root);
  }

  /** Removes an array whose document is written or deleted through the view. */
  invalidate(root: string): void {
    this.#changes++;
    this.delete(root);
  }

  /** Caches the bytes of a document. Returns whether they are the cached ones. */
  #update(root: string, bytes: Uint8Array): boolean {
    const earlier = this.#documents.get(root);
    if (earlier !== undefined && isSameBytes(earlier, bytes)) return true;
    this.#known.delete(root);
    this.#pending.delete(root);
    this.#documents.set(root, copyBytes(bytes));
    return false;
  }

  async #load(root: string): Promise<Loaded> {
    const document = documentOf(root);
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

function documentOf(root: string): StoreKey {
  return `${root}/zarr.json` as StoreKey;
}
