import { inDocument } from "../metadata/metadata_error.ts";
import { parseZarrJson } from "../metadata/zarr_json.ts";
import { describeStore } from "../stores/describe_store.ts";
import { readValue } from "../stores/capabilities.ts";
import { copyBytes } from "../stores/copy_bytes.ts";
import type { Store, StoreKey } from "../stores/store.ts";
import type { TranslatedArray, Translation } from "./translation.ts";

/** The translated arrays of a store, each looked up once. */
export class TranslatedArrays {
  readonly #store: Store;
  readonly #translation: Translation;
  readonly #known = new Map<string, TranslatedArray | "as shown">();
  readonly #looking = new Map<string, Promise<TranslatedArray | undefined>>();
  /** The documents of arrays, as they were read last. */
  readonly #documents = new Map<string, Uint8Array>();
  #changes = 0;

  constructor(store: Store, translation: Translation) {
    this.#store = store;
    this.#translation = translation;
  }

  /** The array at a place, if one stands there that is stored otherwise than it is shown; at once where it is known. */
  at(
    root: string,
  ): TranslatedArray | undefined | Promise<TranslatedArray | undefined> {
    const known = this.#known.get(root);
    if (known === undefined) return this.#lookOnce(root);
    return known === "as shown" ? undefined : known;
  }

  /** Whether a place was looked at, and a node stands there that is stored as it is shown. */
  isPlain(root: string): boolean {
    return this.#known.get(root) === "as shown";
  }

  /** Looks, or waits for who looks already. */
  #lookOnce(root: string): Promise<TranslatedArray | undefined> {
    const earlier = this.#looking.get(root);
    if (earlier !== undefined) return earlier;
    const isLatest = () => this.#looking.get(root) === looking;
    const looking = this.#look(root).then(({ found, bytes }) => {
      // What is absent is not kept: it may be created.
      if (isLatest() && bytes !== undefined) {
        this.#known.set(root, found ?? "as shown");
        this.#documents.set(root, bytes);
      }
      return found;
    }, (error) => {
      if (isLatest()) this.#documents.delete(root);
      throw error;
    }).finally(() => {
      if (isLatest()) this.#looking.delete(root);
    });
    this.#looking.set(root, looking);
    return looking;
  }

  /** How often a document was changed. */
  get changes(): number {
    return this.#changes;
  }

  /**
   * Keeps the document of an array that was read, so that it need not be read
   * again. Others may have changed the array since it was read before.
   */
  keep(root: string, bytes: Uint8Array): void {
    const earlier = this.#documents.get(root);
    const known = this.#known.get(root);
    if (earlier !== undefined && isSame(earlier, bytes)) {
      if (typeof known === "object") known.refresh?.();
      return;
    }
    this.#known.delete(root);
    this.#looking.delete(root);
    this.#documents.set(root, copyBytes(bytes));
  }

  /** Forgets an array where a document was read that is none, or none was found. */
  drop(root: string): void {
    this.#known.delete(root);
    this.#looking.delete(root);
    this.#documents.delete(root);
  }

  /** Forgets what stood at a place, since it changes. */
  forget(root: string): void {
    this.#changes++;
    this.drop(root);
  }

  async #look(root: string): Promise<Looked> {
    const document = `${root}/zarr.json` as StoreKey;
    const bytes = this.#documents.get(root) ??
      await readValue(this.#store, document);
    const found = bytes && inDocument(
      document,
      describeStore(this.#store),
      () => this.#translation.open(this.#store, root, parseZarrJson(bytes)),
    );
    return { found, bytes };
  }
}

/** What stands at a place: a document, maybe that of an array that is stored otherwise than it is shown. */
interface Looked {
  readonly found: TranslatedArray | undefined;
  readonly bytes: Uint8Array | undefined;
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
