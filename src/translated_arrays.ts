import { ArrayStorage } from "./array_storage.ts";
import { DefaultChunkKeyEncoding } from "./chunk_key_encoding/default_chunk_key_encoding.ts";
import { describe } from "./metadata/describe.ts";
import { inDocument } from "./metadata/metadata_error.ts";
import { parseZarrJson } from "./metadata/zarr_json.ts";
import { isTranslated } from "./plain_metadata.ts";
import { readValue } from "./stores/capabilities.ts";
import type { Store, StoreKey } from "./stores/store.ts";
import { assertStoreKey } from "./stores/store_key.ts";

/** Where what a plain view shows under a key is stored. */
export interface Place {
  readonly store: Store;
  readonly key: StoreKey;
}

/** An array whose chunks are stored otherwise than a plain view shows them. */
export class TranslatedArray {
  /** The array's place, without a last `/`. */
  readonly root: string;
  /** The store of whole chunks. */
  readonly store: Store;
  readonly #storage: ArrayStorage;

  constructor(store: Store, root: string, document: unknown) {
    this.root = root;
    this.#storage = new ArrayStorage(document);
    this.store = this.#storage.transform(store, root);
  }

  /** Whether the view shows a chunk under a key, relative to the array. */
  shows(key: string): boolean {
    return splitPlainKey(`/${key}`)?.root === "";
  }

  /** Where the chunk is that the view shows under a key, relative to the array. */
  placeOf(plainKey: string): Place {
    const { gridShape, keyEncoding } = this.#storage;
    // A number may be too large to be decoded.
    const coordinates = plainKey.split("/").slice(1).map(Number);
    const isChunk = coordinates.length === gridShape.length &&
      coordinates.every((coordinate, i) => coordinate < gridShape[i]!);
    if (!isChunk) {
      throw new RangeError(
        `Key ${
          describe(`${this.root}/${plainKey}`)
        } is that of no chunk of its array, whose chunk grid is ${
          describe(gridShape)
        }`,
      );
    }
    const key: StoreKey = `${this.root as StoreKey}/${
      keyEncoding.encode(coordinates)
    }`;
    assertStoreKey(key); // Encodings that were registered may give anything.
    return { store: this.store, key };
  }

  /** The key under which the view shows a chunk; both are relative to the array. `undefined` for what is no chunk's. */
  plainKey(key: string): string | undefined {
    const coordinates = this.#storage.coordinatesOf(key);
    return coordinates && PLAIN.encode(coordinates);
  }
}

const PLAIN = new DefaultChunkKeyEncoding();

/** A key of the `default` encoding behind that of an array. */
const PLAIN_KEY = /^(.*)\/(c(?:\/(?:0|[1-9]\d*))*)$/s;

/** An array's root and the chunk's key below it, if a key may be that of a chunk in a plain view. */
export function splitPlainKey(
  key: StoreKey,
): { root: string; plainKey: string } | undefined {
  const [, root, plainKey] = PLAIN_KEY.exec(key) ?? [];
  return root === undefined ? undefined : { root, plainKey: plainKey! };
}

/** The translated arrays of a store, each looked up once. */
export class TranslatedArrays {
  readonly #store: Store;
  /** What is absent is not kept: it may be created. */
  readonly #known = new Map<string, Promise<Found>>();

  constructor(store: Store) {
    this.#store = store;
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

  /** Forgets what stood at a place, since it changes. */
  forget(root: string): void {
    this.#known.delete(root);
  }

  async #look(root: string): Promise<Found> {
    const document = `${root}/zarr.json` as StoreKey;
    const bytes = await readValue(this.#store, document);
    if (bytes === undefined) return "absent";
    return inDocument(document, () => {
      const metadata = parseZarrJson(bytes);
      return isTranslated(metadata)
        ? new TranslatedArray(this.#store, root, metadata)
        : "plain";
    });
  }
}

/** What stands at a place: nothing, a node that is shown as it is stored, or an array that is not. */
type Found = "absent" | "plain" | TranslatedArray;
