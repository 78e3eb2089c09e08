import { digestOf } from "../runtime/mod.ts";
import {
  KeyLocks,
  type Place,
  type Store,
  type StoreKey,
} from "../stores/mod.ts";
import {
  isAnyDocument,
  isDocument,
  placeInView,
  PLAIN,
  rootOf,
  splitPlainKey,
  TranslatedArrays,
  type Translation,
  ViewDocuments,
  viewStore,
} from "../views/mod.ts";
import { INNER_CHUNKS } from "../zarrita/mod.ts";
import { type Ask, BoundedCache, ChunkValues } from "./chunk_values.ts";
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
  readonly #chunks: ChunkValues;
  readonly #view: View | undefined;
  readonly #turns = new KeyLocks();

  constructor(store: Store, options: ParsedOptions) {
    const { form, lifetime, versions } = options;
    const translation = TRANSLATIONS[form];
    this.#store = store;
    this.#chunks = new ChunkValues({ lifetime, limit: versions });
    this.#view = translation && new View(store, translation, options);
  }

  /** Looks up a value. Returns `undefined` for an absent one. */
  async find(
    key: StoreKey,
    ask: Ask,
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
    return place && await this.#chunks.find(key, place, ask, deadline);
  }

  /** Returns the store to write a value to, under the key that it is shown under. */
  async target(key: StoreKey, deadline: Deadline): Promise<Store> {
    const view = this.#view;
    if (view === undefined) return this.#store;
    await deadline.run(() => view.placeOf(key)); // Knows the array as it is now.
    return view.writable();
  }

  /**
   * Waits until all earlier changes of a value have ended.
   *
   * @returns Ends this change.
   */
  async beginChange(
    key: StoreKey,
    { signal }: { signal: AbortSignal },
  ): Promise<() => void> {
    const end = await new Promise<() => void>((begin) => {
      this.#turns.write(key, () => new Promise<void>(begin));
    });
    if (signal.aborted) end();
    signal.throwIfAborted();
    return end;
  }

  /** Drops what is known of a value that was changed. */
  forget(key: StoreKey): void {
    this.#chunks.forget(key);
    if (isAnyDocument(key)) this.#view?.forget(key);
  }
}

/** The documents of a view, and the places of its chunks. */
class View {
  readonly #store: Store;
  readonly #arrays: TranslatedArrays;
  readonly #translation: Translation;
  readonly #documents: ViewDocuments;
  readonly #kept: BoundedCache<Value>;
  readonly #reading = new Map<StoreKey, Promise<Value | undefined>>();
  readonly #timeout: number;

  constructor(
    store: Store,
    translation: Translation,
    { lifetime, documentBytes, timeout }: ParsedOptions,
  ) {
    this.#store = store;
    this.#translation = translation;
    this.#arrays = new TranslatedArrays(store, translation);
    this.#documents = new ViewDocuments(store, translation, this.#arrays);
    this.#timeout = timeout;
    this.#kept = new BoundedCache<Value>({
      lifetime,
      limit: documentBytes,
      weightOf: ({ size }) => size + 1024,
      onRemoval: (key) => this.#arrays.delete(rootOf(key as StoreKey)),
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
        ? { store: this.#store, key }
        : placeInView(this.#store, this.#arrays, key);
    const document = chunk &&
      this.document(`${chunk.root}/zarr.json` as StoreKey);
    return document instanceof Promise
      ? document.then(placeIn)
      : placeIn(document);
  }

  /** Returns the view as a store that can be written. */
  writable(): Store {
    const arrays = this.#arrays;
    return viewStore(this.#store, this.#translation, { arrays });
  }

  /** Drops a document that was changed, and lets nobody wait for a read of the earlier one. */
  forget(key: StoreKey): void {
    this.#kept.delete(key);
    this.#reading.delete(key);
    if (isDocument(key)) this.#arrays.invalidate(rootOf(key));
  }

  /** Reads a document for all requests that wait for it, whoever of them leaves. */
  async #read(key: StoreKey): Promise<Value | undefined> {
    const { changes } = this.#arrays;
    const deadline = new Deadline(this.#timeout);
    const bytes = await deadline.run((options) =>
      this.#documents.read(key, options)
    ).finally(() => deadline.close());
    if (bytes === undefined) return undefined;
    const value = valueInMemory(bytes, await digestOf(bytes));
    if (this.#arrays.changes === changes) this.#kept.set(key, value);
    return value;
  }
}
