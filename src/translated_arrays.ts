import { inDocument } from "./metadata/metadata_error.ts";
import { parseZarrJson } from "./metadata/zarr_json.ts";
import { readValue } from "./stores/capabilities.ts";
import type { Store, StoreKey } from "./stores/store.ts";
import type { TranslatedArray, Translation } from "./translation.ts";

/** The translated arrays of a store, each looked up once. */
export class TranslatedArrays {
  readonly #store: Store;
  readonly #translation: Translation;
  /** What is absent is not kept: it may be created. */
  readonly #known = new Map<string, Promise<Found>>();
  /** Documents of arrays that were read already, and whose chunks were not. */
  readonly #documents = new Map<string, Uint8Array>();
  #changes = 0;

  constructor(store: Store, translation: Translation) {
    this.#store = store;
    this.#translation = translation;
  }

  /** The array at a place, if one stands there that is stored otherwise than it is shown. */
  async at(root: string): Promise<TranslatedArray | undefined> {
    let looking = this.#known.get(root);
    if (looking === undefined) {
      looking = this.#look(root);
      this.#known.set(root, looking);
      const forget = () => {
        if (this.#known.get(root) === looking) this.#known.delete(root);
      };
      looking.then((found) => found === "absent" && forget(), forget);
    }
    const found = await looking;
    return typeof found === "string" ? undefined : found;
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
