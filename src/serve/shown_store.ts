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
  type ByteRange,
  resolveByteRange,
  type Store,
  type StoreKey,
  type StoreOptions,
  type StoreVersion,
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
import { Deadline } from "./deadline.ts";
import type { ParsedOptions, ServedForm } from "./handler_options.ts";
import { validatorsOf } from "./request.ts";
import { type Value, valueInMemory, WINDOW } from "./served_value.ts";

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

/** The bytes of a value that its request asks for: a range, all, or none if `undefined`. */
export type NeededBytes = ByteRange | "all" | undefined;

/** The version of a chunk, and the place that it belongs to. */
interface KeptVersion extends Place {
  readonly value: Value;
}

/** Looks up the values that a store shows, and keeps documents and the versions of chunks for some time. */
export class ShownStore {
  readonly #stored: Backend;
  /** The store with nodes of Zarr v2 shown as Zarr v3, but in the form that shows them as they are stored. */
  readonly #store: Store;
  readonly #shown: Backend;
  readonly #view: StoreView | undefined;
  readonly #versions: BoundedCache<KeptVersion>;
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
    this.#versions = new BoundedCache<KeptVersion>({
      lifetime,
      limit: versions,
    });
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
    return await this.#findStored(key, stored, needed, deadline);
  }

  /**
   * Looks up a value: in memory, or by as many requests as it has parts. Bytes that are
   * needed are read by the same requests, where that is possible.
   *
   * @param shown The key that the value is shown under.
   */
  async #findStored(
    shown: StoreKey,
    { backend, key }: Place,
    needed: NeededBytes,
    deadline: Deadline,
  ): Promise<Value | undefined> {
    const kept = this.#versions.get(shown);
    if (kept?.backend === backend && kept.key === key) return kept.value;
    // Inner chunks have no versions, and are read whole.
    const isWhole = !backend.readOf;
    const range = isWhole ? undefined : firstWindow(needed);
    let version = undefined as StoreVersion | undefined;
    const found = await deadline.run((options) =>
      backend.read([key], async (values) => {
        version?.release(); // The store may run the task several times.
        version = undefined;
        const bytes = range || isWhole
          ? await values.read(key, range)
          : undefined;
        const size = isWhole ? bytes?.length : await values.size(key);
        if (size === undefined) return undefined;
        if (!isWhole) version = values.version(key);
        return { size, ...bytes && { bytes } };
      }, options)
    );
    if (found === undefined) return undefined;
    const { size, bytes } = found;
    const start = range ? resolveByteRange(range, size).start : 0;
    const latest = { start, ...bytes && { bytes } };
    if (version && !version.ownChangesOnly) {
      const present = version;
      const value: Value = {
        size,
        validators: validatorsOf(version.tag, version.modified),
        read: (range, deadline) =>
          deadline.run((options) =>
            backend.readOf!(present, key, range, options)
          ),
        release: () => present.release(),
      };
      if (version.isLasting && version.tag !== undefined) {
        this.#versions.set(shown, { backend, key, value });
      }
      return { ...value, latest };
    }
    const read = (range: ByteRange | undefined, deadline: Deadline) =>
      deadline.run((options) =>
        backend.read([key], (values) => values.read(key, range), options)
      );
    if (!isWhole && size > WINDOW) {
      const validators = validatorsOf(undefined);
      return { size, validators, latest, read, release() {} };
    }
    const all = bytes?.length === size
      ? bytes
      : await read(undefined, deadline);
    return all && await valueInMemory(all);
  }

  /** Finds the nodes in a folder, as {@linkcode nodesIn} does. */
  nodes(root: "" | StoreKey, deadline: Deadline): Promise<FoundNodes> {
    return deadline.run((options) =>
      nodesIn(this.#store, root, options, LIMITS)
    );
  }

  /** Drops the version of a value that has changed. */
  forget(key: StoreKey): void {
    this.#versions.delete(key);
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

/** Returns the bytes that are read with the version: at most a window. */
function firstWindow(needed: NeededBytes): ByteRange | undefined {
  if (needed === "all") return { offset: 0, length: WINDOW };
  if (needed === undefined) return undefined;
  if ("suffixLength" in needed) {
    return needed.suffixLength <= WINDOW ? needed : undefined;
  }
  const { offset, length } = needed;
  return { offset, length: Math.min(length, WINDOW) };
}

/** Options of {@linkcode BoundedCache}. */
interface BoundedCacheOptions<T> {
  /** How long an entry is kept, in milliseconds. */
  lifetime: number;
  /** The most weight of all entries. */
  limit: number;
  weightOf?: (value: T) => number;
  /** Called for each entry that is removed or replaced. */
  onRemoval?: (key: string, value: T) => void;
}

/**
 * Least-recently-used cache. Removes entries that are too old, and those that were used
 * the longest time ago once all entries together weigh too much.
 */
export class BoundedCache<T> {
  readonly #entries = new Map<string, { value: T; expiry: number }>();
  readonly #options: BoundedCacheOptions<T>;
  #weight = 0;

  constructor(options: BoundedCacheOptions<T>) {
    this.#options = options;
  }

  get(key: string): T | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.expiry <= Date.now()) {
      this.delete(key);
      return undefined;
    }
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  set(key: string, value: T): void {
    this.delete(key);
    const expiry = Date.now() + this.#options.lifetime;
    this.#entries.set(key, { value, expiry });
    this.#weight += this.#weightOf(value);
    for (const oldest of this.#entries.keys()) {
      if (this.#weight <= this.#options.limit) return;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#weight -= this.#weightOf(entry.value);
    this.#options.onRemoval?.(key, entry.value);
  }

  #weightOf(value: T): number {
    return this.#options.weightOf?.(value) ?? 1;
  }
}
