import { digestOf } from "../runtime/mod.ts";
import {
  type Backend,
  backendOf,
  type Store,
  type StoreKey,
} from "../stores/mod.ts";
import {
  isAnyDocument,
  type Place,
  PLAIN,
  splitPlainKey,
  StoreView,
  type Translation,
  v2View,
} from "../views/mod.ts";
import { INNER_CHUNKS } from "../zarrita/mod.ts";
import { BoundedCache, ChunkValues, type NeededBytes } from "./chunk_values.ts";
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
  readonly #stored: Backend;
  /** The store with nodes of Zarr v2 shown as Zarr v3. */
  readonly #shown: Backend;
  readonly #chunks: ChunkValues;
  readonly #view: KeptView | undefined;

  constructor(store: Store, options: ParsedOptions) {
    const { form, lifetime, versions } = options;
    const translation = TRANSLATIONS[form];
    const shown = translation ? v2View(store) : store;
    this.#stored = backendOf(store);
    this.#shown = backendOf(shown);
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
      : { backend: this.#stored, key };
    const place = found instanceof Promise
      ? await deadline.run(() => found)
      : found;
    if (place === undefined) return undefined;
    // Chunks have the same keys in both stores.
    const stored = place.backend === this.#shown
      ? { backend: this.#stored, key: place.key }
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
  placeOf(key: StoreKey): Place | undefined | Promise<Place | undefined> {
    const chunk = splitPlainKey(key);
    const placeIn = (document: Value | undefined) =>
      document === undefined
        ? { backend: backendOf(this.#view.store), key }
        : this.#view.placeOf(key);
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
