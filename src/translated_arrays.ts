import { inDocument } from "./metadata/metadata_error.ts";
import { parseZarrJson } from "./metadata/zarr_json.ts";
import { readValue } from "./stores/capabilities.ts";
import type { Store, StoreKey } from "./stores/store.ts";
import type { TranslatedArray, Translation } from "./translation.ts";

/** The translated arrays of a store, each looked up once. */
export class TranslatedArrays {
  readonly #store: Store;
  readonly #translation: Translation;
  readonly #known = new Map<string, TranslatedArray | "as shown">();
  readonly #looking = new Map<string, Promise<TranslatedArray | undefined>>();
  /** Documents of arrays that were read already, and whose chunks were not. */
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
    const looking = this.#look(root).then((found) => {
      // What is absent is not kept: it may be created.
      if (this.#looking.get(root) === looking && found !== "absent") {
        this.#known.set(root, found);
      }
      return typeof found === "string" ? undefined : found;
    }).finally(() => {
      if (this.#looking.get(root) === looking) this.#looking.delete(root);
    });
    this.#looking.set(root, looking);
    return looking;
  }

  /** How often a document was changed. */
  get changes(): number {
    return this.#changes;
  }

  /** Keeps the document of an array, so that it need not be read again. */
  keep(root: string, bytes: Uint8Array): void {
    if (!this.#known.has(root)) this.#documents.set(root, bytes);
  }

  /** Forgets what stood at a place, since it changes. */
  forget(root: string): void {
    this.#changes++;
    this.#known.delete(root);
    this.#looking.delete(root);
    this.#documents.delete(root);
  }

  async #look(root: string): Promise<Found> {
    const document = `${root}/zarr.json` as StoreKey;
    const bytes = this.#documents.get(root) ??
      await readValue(this.#store, document);
    this.#documents.delete(root);
    if (bytes === undefined) return "absent";
    return inDocument(
      document,
      () =>
        this.#translation.open(this.#store, root, parseZarrJson(bytes)) ??
          "as shown",
    );
  }
}

/** What stands at a place: nothing, a node that is stored as it is shown, or an array that is not. */
type Found = "absent" | "as shown" | TranslatedArray;
