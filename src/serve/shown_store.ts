import { readDocument } from "../arrays/mod.ts";
import { findPaths } from "../hierarchy/mod.ts";
import {
  formatZarrJson,
  isGroupDocument,
  isMembers,
  parseExactZarrJson,
  parseZarrJson,
} from "../metadata/mod.ts";
import { runConcurrently } from "../runtime/mod.ts";
import {
  type Backend,
  backendOf,
  type Store,
  type StoreKey,
  type StoreOptions,
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
import {
  BoundedCache,
  ChunkValues,
  type NeededBytes,
  type Value,
  valueInMemory,
} from "./chunk_values.ts";
import { Deadline } from "./deadline.ts";
import type { ParsedOptions, ServedForm } from "./handler_options.ts";

/** The changes of nodes that each form shows; `undefined` shows nodes as they are stored. */
const TRANSLATIONS: Readonly<Record<ServedForm, Translation | undefined>> = {
  "stored": undefined,
  "plain": PLAIN,
  "inner chunks": INNER_CHUNKS,
};

/** The most keys that are listed to find nodes, and the most nodes. */
const LIMITS = { keys: 100_000, nodes: 1000 };
/** The number of documents that are read at once. */
const AT_ONCE = 16;

/** Looks up the values that a store shows, and keeps documents for some time. */
export class ShownStore {
  readonly #stored: Backend;
  /** The store with nodes of Zarr v2 shown as Zarr v3, but in the form that shows them as they are stored. */
  readonly #store: Store;
  readonly #shown: Backend;
  readonly #view: StoreView | undefined;
  readonly #chunks: ChunkValues;
  readonly #documents: BoundedCache<Value>;
  readonly #reading = new Map<StoreKey, Promise<Value | undefined>>();
  readonly #timeout: number;

  constructor(
    store: Store,
    { form, lifetime, versions, documentBytes, timeout }: ParsedOptions,
  ) {
    const translation = TRANSLATIONS[form];
    this.#store = translation ? v2View(store) : store;
    this.#stored = backendOf(store);
    this.#shown = backendOf(this.#store);
    this.#view = translation && new StoreView(this.#store, translation);
    this.#chunks = new ChunkValues({ lifetime, limit: versions });
    this.#documents = new BoundedCache<Value>({
      lifetime,
      limit: documentBytes,
      weightOf: ({ size }) => size + 1024,
      onRemoval: (key) => this.#view?.forget(key as StoreKey),
    });
    this.#timeout = timeout;
  }

  /** Looks up a value. Returns `undefined` for an absent one. */
  async find(
    key: StoreKey,
    needed: NeededBytes,
    deadline: Deadline,
  ): Promise<Value | undefined> {
    const view = this.#view;
    if (view && isAnyDocument(key)) {
      return await deadline.run(() => this.#document(view, key));
    }
    const place = view
      ? await deadline.run(() => this.#placeOf(view, key))
      : { backend: this.#stored, key };
    if (place === undefined) return undefined;
    // Chunks have the same keys in both stores.
    const stored = place.backend === this.#shown
      ? { backend: this.#stored, key: place.key }
      : place;
    return await this.#chunks.find(key, stored, needed, deadline);
  }

  /** Finds the nodes in a folder, as {@linkcode nodesIn} does. */
  nodes(root: "" | StoreKey, deadline: Deadline): Promise<FoundNodes> {
    return deadline.run((options) =>
      nodesIn(this.#store, root, options, LIMITS)
    );
  }

  /** Drops the version of a value that has changed. */
  forget(key: StoreKey): void {
    this.#chunks.forget(key);
  }

  /**
   * Returns where the value of a key is stored; `undefined` for a key outside the chunk
   * grid. Returns no promise for an array whose document is kept.
   */
  #placeOf(
    view: StoreView,
    key: StoreKey,
  ): Place | undefined | Promise<Place | undefined> {
    const chunk = splitPlainKey(key);
    const placeIn = (document: Value | undefined) =>
      document ? view.placeOf(key) : { backend: this.#shown, key };
    const document = chunk &&
      this.#document(view, `${chunk.root}/zarr.json` as StoreKey);
    return document instanceof Promise
      ? document.then(placeIn)
      : placeIn(document);
  }

  /** Returns a document as it is shown, from memory if it was read lately. */
  #document(
    view: StoreView,
    key: StoreKey,
  ): Value | undefined | Promise<Value | undefined> {
    const kept = this.#documents.get(key) ?? this.#reading.get(key);
    if (kept !== undefined) return kept;
    const reading = this.#read(view, key)
      .finally(() => this.#reading.delete(key));
    this.#reading.set(key, reading);
    return reading;
  }

  /** Reads a document for all requests that wait for it, and goes on if their clients leave. */
  async #read(view: StoreView, key: StoreKey): Promise<Value | undefined> {
    const bytes = await new Deadline(this.#timeout).run(async (options) => {
      const read = (key: StoreKey) => view.readDocument(key, options);
      const bytes = await read(key);
      return bytes && key === "/zarr.json"
        ? await consolidated(bytes, this.#store, read, options)
        : bytes;
    });
    if (bytes === undefined) return undefined;
    const value = await valueInMemory(bytes);
    this.#documents.set(key, value);
    return value;
  }
}

/** Nodes of a store. */
interface FoundNodes {
  readonly paths: readonly string[];
  /** Whether they are all nodes, by a listing that no limit has ended. */
  readonly areAll: boolean;
  /** Whether the store can neither list nor has consolidated metadata. */
  readonly areUnknown: boolean;
}

/**
 * Finds the nodes in a folder: those whose documents the store lists or, if it cannot list,
 * those in the consolidated metadata of the folder.
 *
 * @param limits The most keys that are listed, and the most nodes.
 */
export async function nodesIn(
  store: Store,
  root: "" | StoreKey,
  options: StoreOptions,
  limits: { keys: number; nodes: number },
): Promise<FoundNodes> {
  const bytes = typeof store.list === "function"
    ? undefined
    : await readDocument(store, `${root as StoreKey}/zarr.json`, options);
  const document = bytes && parseZarrJson(bytes);
  const found = await findPaths({ store, root }, document, options, limits);
  const { paths = bytes ? [""] : [], areAll } = found;
  return { paths, areAll, areUnknown: found.paths === undefined };
}

/**
 * Adds the nodes below the root to the document of the root, if it is a group without
 * consolidated metadata: clients cannot list keys over HTTP. A store whose nodes cannot all
 * be found and read keeps its document.
 *
 * @param read Reads a document as it is shown.
 */
async function consolidated(
  bytes: Uint8Array,
  store: Store,
  read: (key: StoreKey) => Promise<Uint8Array | undefined>,
  options: StoreOptions,
): Promise<Uint8Array> {
  const document = parseZarrJson(bytes);
  const isAlone = isGroupDocument(document) && isMembers(document) &&
    !isMembers(document.consolidated_metadata);
  if (!isAlone) return bytes;
  try {
    const { paths: found, areAll } = await nodesIn(store, "", options, LIMITS);
    const paths = found.filter((path) => path !== "");
    if (!areAll || paths.length === 0) return bytes;
    const metadata: Record<string, unknown> = Object.fromEntries(
      paths.map((path) => [path, undefined]),
    );
    await runConcurrently(paths, AT_ONCE, async (path) => {
      const shown = await read(`/${path}/zarr.json`);
      if (shown) metadata[path] = parseExactZarrJson(shown);
    });
    return formatZarrJson({
      ...parseExactZarrJson(bytes) as object,
      consolidated_metadata: {
        kind: "inline",
        must_understand: false,
        metadata,
      },
    });
  } catch {
    options.signal?.throwIfAborted();
    return bytes; // Requests for the node that cannot be read get the error.
  }
}
