import { digestOf } from "../runtime/mod.ts";
import type { Backend, Store, StoreKey } from "../stores/mod.ts";
import {
  isAnyDocument,
  PLAIN,
  splitPlainKey,
  type StorePlace,
  StoreView,
  type Translation,
  v2View,
} from "../views/mod.ts";
import { INNER_CHUNKS } from "../zarrita/mod.ts";
import {
  BoundedCache,
  ChunkValues,
  type NeededBytes,
  type ValuePlace,
} from "./chunk_values.ts";
import { Deadline } from "./deadline.ts";
import type { ParsedOptions, ServedForm } from "./handler_options.ts";
import { type Value, valueInMemory } from "./served_value.ts";

/** The changes of nodes that each form shows; `undefined` shows nodes as they are stored. */
const TRANSLATIONS: Readonly<Record<ServedForm, Translation | undefined>> = {
  "stored": undefined,
  "plain": PLAIN,
  "inner chunks": INNER_CHUNKS,
};

/** Looks up the values that a store shows. */
export class ShownStore {
  readonly #store: Store;
  /** The store with nodes of Zarr v2 shown as Zarr v3. */
  readonly #shown: Store;
  readonly #chunks: ChunkValues;
  readonly #view: KeptView | undefined;

  constructor(store: Store, options: ParsedOptions) {
    const { form, lifetime, versions } = options;
    const translation = TRANSLATIONS[form];
    const shown = translation ? v2View(store) : store;
    this.#store = store;
    this.#shown = shown;
    this.#chunks = new ChunkValues({ lifetime, limit: versions });
    this.#view = translation && new KeptView(shown, translation, options);
  }

  /** Looks up a value. Returns `undefined` for an absent one. */
  async find(
    key: StoreKey,
    needed: NeededBytes,
    deadline: Deadline,
  ): Promise<Value | undefined> {
    if (this.#view && isAnyDocument(key)) {
      return await deadline.run(() => this.#view!.document(key));
    }
    const found = this.#view
      ? this.#view.placeOf(key)
      : { store: this.#store, key };
    const place = found instanceof Promise
      ? await deadline.run(() => found)
      : found;
    if (place === undefined) return undefined;
    const { store } = place;
    // Chunks have the same keys in both stores.
    const stored = store === this.#shown
      ? { ...place, store: this.#store }
      : place;
    return await this.#chunks.find(key, stored, needed, deadline);
  }

  /** Drops what is known of a value that was changed. */
  forget(key: StoreKey): void {
    this.#chunks.forget(key);
    if (isAnyDocument(key)) this.#view?.forget(key);
  }
}

/** A view whose documents are kept for some time. */
class KeptView {
  readonly #view: StoreView;
  readonly #kept: BoundedCache<Value>;
  readonly #reading = new Map<StoreKey, Promise<Value | undefined>>();
  readonly #timeout: number;

  constructor(
    store: Store,
    translation: Translation,
    { lifetime, documentBytes, timeout }: ParsedOptions,
  ) {
    this.#view = new StoreView(store, translation);
    this.#timeout = timeout;
    this.#kept = new BoundedCache<Value>({
      lifetime,
      limit: documentBytes,
      weightOf: ({ size }) => size + 1024,
      onRemoval: (key) => this.#view.forget(key as StoreKey),
    });
  }

  /** Returns a document as it is shown, from memory if it was read lately. */
  document(key: StoreKey): Value | undefined | Promise<Value | undefined> {
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    let reading = this.#reading.get(key);
    if (reading === undefined) {
      const started = this.#read(key).finally(() => {
        if (this.#reading.get(key) === started) this.#reading.delete(key);
      });
      reading = started;
      this.#reading.set(key, started);
    }
    return reading;
  }

  /**
   * Returns where the value of a key is stored; `undefined` for a key outside the chunk
   * grid. Returns no promise for an array whose document is kept.
   */
  placeOf(
    key: StoreKey,
  ): ValuePlace | undefined | Promise<ValuePlace | undefined> {
    const chunk = splitPlainKey(key);
    const storePlace = (place: StorePlace | undefined) =>
      place && {
        store: place.store ?? wholeValues(place.backend),
        key: place.key,
      };
    const placeIn = (document: Value | undefined) => {
      if (document === undefined) return { store: this.#view.store, key };
      const found = this.#view.placeOf(key);
      return found instanceof Promise
        ? found.then(storePlace)
        : storePlace(found);
    };
    const document = chunk &&
      this.document(`${chunk.root}/zarr.json` as StoreKey);
    return document instanceof Promise
      ? document.then(placeIn)
      : placeIn(document);
  }

  /** Drops a document that was changed, so that no later request waits for a read of the earlier document. */
  forget(key: StoreKey): void {
    this.#kept.delete(key);
    this.#reading.delete(key);
    this.#view.invalidate(key);
  }

  /** Reads a document for all requests that wait for it, and goes on if their clients leave. */
  async #read(key: StoreKey): Promise<Value | undefined> {
    const { changes } = this.#view.arrays;
    const deadline = new Deadline(this.#timeout);
    const bytes = await deadline.run((options) =>
      this.#view.readDocument(key, options)
    ).finally(() => deadline.close());
    if (bytes === undefined) return undefined;
    const value = valueInMemory(bytes, await digestOf(bytes));
    if (this.#view.arrays.changes === changes) this.#kept.set(key, value);
    return value;
  }
}

/** A store of inner chunks, which are read whole. */
function wholeValues(backend: Backend): Store {
  return {
    get: (key, options) =>
      backend.read([key], (values) => values.read(key), options),
  };
}
