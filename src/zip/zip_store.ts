import {
  BOOLEAN,
  checkOptions,
  type OptionRules,
  sentence,
  TEXT,
} from "../errors/mod.ts";
import {
  assertStore,
  assertStoreKey,
  assertStorePrefix,
  BaseStore,
  type ByteRange,
  inspectAsString,
  keyProblem,
  type ReadOptions,
  resolveByteRange,
  type Snapshot,
  type Store,
  type StoreKey,
  type StoreOptions,
  type StoreVersion,
  type ValuesOptions,
} from "../stores/mod.ts";
import {
  type Archive,
  isDeflated,
  obstacleOf,
  StateChangedError,
} from "./archive.ts";
import type { EntryTable, ListedEntry } from "./zip_directory.ts";
import { OpenArchive } from "./open_archive.ts";

const ARCHIVES = /* @__PURE__ */ new WeakMap<ZipStore, OpenArchive>();

/** The archive of a store, for functions of this room. */
export function archiveOf(store: ZipStore): OpenArchive {
  return ARCHIVES.get(store)!;
}

/**
 * A read-only store of the entries of a zip archive, such as `x.zarr.zip` or the `.ozx` of
 * OME-Zarr. The archive is a value of another store: a file, an object of a bucket, or a
 * file on a web server.
 *
 * The directory at the end of the archive is read once, by one request or two. Ranges of
 * entries that are stored as they are, as Zarr programs store them, are then read by one
 * request each, so that inner chunks of a shard in an archive of any size can be read.
 * Deflated entries are read too, from their start on; those of up to 64 MiB are kept in
 * memory, as long as they are 64 MiB together.
 *
 * If the store of the archive distinguishes versions, all bytes are of the archive that was
 * opened. If another archive replaces it, reads throw an error or, with `follow: true`,
 * continue with the new archive.
 *
 * Whole values and streams are compared with the CRC-32 of their entry. Of entries with one
 * name, the last one is read. Entries whose names are no keys, such as folders, are not
 * shown.
 *
 * Every method throws a `RangeError` if there is no archive or the key is not `/` and names
 * joined by `/`, a `DamageError` if the archive is damaged, an `Error` for an entry that is
 * encrypted or compressed by another method than deflate, and the signal's reason once the
 * operation is aborted.
 *
 * Sources: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT,
 * https://ngff.openmicroscopy.org/rfc/9/
 *
 * @example
 * ```ts
 * import { HttpStore } from "@zarr-parts/zarr-parts";
 * import { ZipStore } from "@zarr-parts/zarr-parts/zip";
 * import { assertEquals } from "@std/assert";
 *
 * const archives = new HttpStore("https://example.org/archives");
 * const store = new ZipStore(archives, "/image.ozx");
 * assertEquals(String(store), 'ZipStore("/image.ozx" of HttpStore(https://example.org/archives))');
 * ```
 */
export class ZipStore extends BaseStore {
  readonly #archive: OpenArchive;
  readonly #path: string;

  /**
   * Reads nothing yet.
   *
   * @param store The store that holds the archive.
   * @param key The key of the archive.
   * @param options Which folder of the archive is shown, and what to do if the archive
   * changes.
   * @throws {TypeError} If an option is unknown or of a wrong type.
   * @throws {RangeError} If the key is not `/` and names joined by `/`, or the path not
   * names joined by `/`.
   *
   * @example An array of an archive that zarr-python wrote
   * ```ts
   * import { FileSystemStore, openArrayChunks } from "@zarr-parts/zarr-parts";
   * import { ZipStore } from "@zarr-parts/zarr-parts/zip";
   * import { assertRejects } from "@std/assert";
   *
   * const store = new ZipStore(new FileSystemStore("/data"), "/rain.zarr.zip");
   * await assertRejects(() => openArrayChunks(store), RangeError, "There is no archive");
   * ```
   */
  constructor(store: Store, key: StoreKey, options: ZipStoreOptions = {}) {
    super();
    inspectAsString(this);
    assertStore(store);
    assertStoreKey(key);
    checkOptions(options, OPTIONS, "ZipStore");
    const { path = "", follow = false } = options;
    if (path !== "") assertStoreKey(`/${path}`);
    this.#path = path;
    this.#archive = new OpenArchive(store, key, path, follow);
    ARCHIVES.set(this, this.#archive);
  }

  /** See {@linkcode Backend.read}. All values are of one state of the archive. */
  override read<T>(
    _keys: readonly StoreKey[],
    task: (values: Snapshot) => Promise<T>,
    options?: ValuesOptions,
  ): Promise<T> {
    return this.#archive.use(
      options,
      (state) => task(snapshotOf(this.#archive, state, options ?? {})),
    );
  }

  /** See {@linkcode Backend.readOf}. */
  async readOf(
    version: StoreVersion,
    key: StoreKey,
    range: ByteRange,
    options: StoreOptions & ReadOptions = {},
  ): Promise<Uint8Array | undefined> {
    const isOwn = version instanceof ZipVersion && version.key === key &&
      version.archive === this.#archive;
    if (!isOwn) return undefined;
    const { state } = version;
    try {
      const entry = state.find(key)!;
      const { start, end } = resolveByteRange(range, state.sizeOf(entry));
      const read = await state.getRange(entry, start, end, options);
      const isPresent = read.length > 0 || await state.isCurrent(options);
      return isPresent ? read : undefined;
    } catch (error) {
      if (error instanceof StateChangedError) return undefined;
      throw error;
    }
  }

  /**
   * Lists the entries in the order of the directory.
   *
   * @param prefix The start of the keys, which may end within a name.
   * @param options `signal` aborts the operation.
   * @returns The keys.
   */
  async *list(
    prefix: StoreKey = "/",
    options: StoreOptions = {},
  ): AsyncIterable<StoreKey> {
    assertStorePrefix(prefix);
    const { entries, folder: { path } } = await this.#archive
      .use(options, (state) => state);
    for (const name of entries.names()) {
      const key: StoreKey = `/${name.slice(path.length)}`;
      if (!name.startsWith(path) || !key.startsWith(prefix)) continue;
      if (keyProblem(key.slice(1)) !== undefined) continue;
      options.signal?.throwIfAborted();
      yield key;
    }
  }

  /**
   * Opens the archive if it is not open yet, and returns its properties.
   *
   * @param options `signal` aborts the operation.
   * @returns The properties that follow from the directory and the comment of the archive.
   */
  async describe(options: StoreOptions = {}): Promise<ZipDescription> {
    return await this.#archive.use(options, (state) => describeArchive(state));
  }

  /**
   * Describes the store, for messages; `console.log` prints this too.
   *
   * @returns The class, the key of the archive and its store, and the path, if one was given.
   */
  override toString(): string {
    const path = this.#path === "" ? "" : sentence`, ${this.#path}`;
    return `ZipStore(${this.#archive.place}${path})`;
  }
}

/** The entries of one state of an archive. */
function snapshotOf(
  archive: OpenArchive,
  state: Archive,
  { signal }: StoreOptions,
): Snapshot {
  const options = signal ? { signal } : {};
  const versions = new Map<StoreKey, ZipVersion>();
  const rangeOf = (entry: ListedEntry, range: ByteRange) =>
    resolveByteRange(range, state.sizeOf(entry));
  return {
    // deno-lint-ignore require-await -- so that an entry that cannot be read is a rejection
    async size(key) {
      const entry = state.find(key);
      return entry && state.sizeOf(entry);
    },
    async read(key, range, { limit } = {}) {
      const entry = state.find(key);
      if (entry === undefined) return undefined;
      if (range === undefined) {
        return await state.get(entry, { ...options, limit });
      }
      const { start, end } = rangeOf(entry, range);
      return await state.getRange(entry, start, end, options);
    },
    // deno-lint-ignore require-await -- so that an entry that cannot be read is a rejection
    async stream(key, range) {
      const entry = state.find(key);
      if (entry === undefined) return undefined;
      const whole = { offset: 0, length: state.sizeOf(entry) };
      const { start, end } = rangeOf(entry, range ?? whole);
      const pieces = state.pieces(entry, start, end, options);
      return streamOf(pieces, archive, state.keep());
    },
    version(key) {
      const entry = state.find(key);
      if (entry === undefined || state.version === undefined) return undefined;
      const version = versions.get(key) ??
        new ZipVersion(archive, state, key, entry);
      versions.set(key, version);
      return version;
    },
  };
}

/** Streams bytes of an entry, whose state is used until the end. */
function streamOf(
  pieces: AsyncGenerator<Uint8Array, void>,
  archive: OpenArchive,
  leave: () => void,
): ReadableStream<Uint8Array> {
  const end = async () => {
    await pieces.return().catch(() => {});
    leave();
  };
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await pieces.next();
        if (!done) return controller.enqueue(value);
      } catch (error) {
        await end();
        throw error instanceof StateChangedError
          ? archive.changedError(error)
          : error;
      }
      leave();
      controller.close();
    },
    cancel: end,
  }, { highWaterMark: 0 });
}

/** The version of an entry: that of the archive. */
class ZipVersion implements StoreVersion {
  readonly archive: OpenArchive;
  readonly state: Archive;
  readonly key: StoreKey;
  readonly release: () => void;
  readonly #entry: ListedEntry;
  readonly #below: StoreVersion;

  constructor(
    archive: OpenArchive,
    state: Archive,
    key: StoreKey,
    entry: ListedEntry,
  ) {
    this.archive = archive;
    this.state = state;
    this.key = key;
    this.release = state.keep();
    this.#entry = entry;
    this.#below = state.version!;
  }

  get isLasting(): boolean {
    return this.#below.isLasting;
  }

  get ownChangesOnly(): boolean | undefined {
    return this.#below.ownChangesOnly;
  }

  get size(): number {
    return this.#entry.size;
  }

  get tag(): string | undefined {
    const { tag } = this.#below;
    return tag && `${tag}-${this.#entry.offset}`;
  }

  get modified(): number | undefined {
    return this.#below.modified;
  }
}

/**
 * The options of `ZipStore`.
 *
 * @example The array `0` of an image, in an archive that a server replaces
 * ```ts
 * import type { ZipStoreOptions } from "@zarr-parts/zarr-parts/zip";
 *
 * const options: ZipStoreOptions = { path: "0", follow: true };
 * ```
 */
export interface ZipStoreOptions {
  /**
   * The path of the folder that is shown. Defaults to the root of the archive. If no node is
   * at the root, and only one folder there holds one, as in archives of a packed folder,
   * the path starts from that folder.
   */
  path?: string | undefined;
  /**
   * Whether the directory is read again if the archive is replaced, so that later reads see
   * the new archive, which is noticed within a second. If not, they throw an error.
   * Defaults to `false`.
   */
  follow?: boolean | undefined;
}

const OPTIONS: OptionRules<ZipStoreOptions> = {
  path: TEXT,
  follow: BOOLEAN,
};

/**
 * The properties of a zip archive that `ZipStore.describe` returns.
 *
 * @example
 * ```ts
 * import type { ZipDescription } from "@zarr-parts/zarr-parts/zip";
 *
 * const isSlow = ({ deflated }: ZipDescription) => deflated > 0;
 * ```
 */
export interface ZipDescription {
  /** The key of the archive. */
  readonly key: StoreKey;
  /** Its length in bytes. */
  readonly size: number;
  /** A text that an archive with other entries does not have: a digest of the directory. */
  readonly digest: string;
  /** The path of the folder in the archive that is shown; empty for the root of the archive. */
  readonly folder: string;
  /** The folders at the root of the archive that hold a node, if no node is at the root. */
  readonly nodes: readonly string[];
  /** The number of entries, without folders and without entries that others replace. */
  readonly entries: number;
  /** How many of the entries are deflated. */
  readonly deflated: number;
  /** How many cannot be read, since they are encrypted or compressed by another method. */
  readonly unreadable: number;
  /** How many are not shown, since their names are no keys. */
  readonly unnamed: number;
  /** The number of further entries that are replaced by later ones of the same name. */
  readonly replaced: number;
  /** What contradicts RFC-9 of NGFF, if the archive ends in `.ozx` or has its comment. */
  readonly problems: readonly string[];
  /** The comment of the archive. */
  readonly comment: string;
  /** The version of OME-Zarr in the comment, which follows RFC-9 then. */
  readonly omeVersion?: string;
}

/** Describes a state of an archive. */
function describeArchive(
  { key, size, entries, folder, comment, digest }: Archive,
): ZipDescription {
  const omeVersion = omeVersionOf(comment);
  const counts = { entries: 0, deflated: 0, unreadable: 0, unnamed: 0 };
  for (const name of entries.names()) {
    if (name === "" || name.endsWith("/")) continue;
    const entry = entries.get(name)!;
    counts.entries++;
    if (isDeflated(entry)) counts.deflated++;
    if (obstacleOf(entry) !== undefined) counts.unreadable++;
    if (keyProblem(name) !== undefined) counts.unnamed++;
  }
  return {
    key,
    size,
    digest,
    folder: folder.path.replace(/\/$/, ""),
    nodes: folder.nodes.map((node) => node.slice(0, -1)),
    ...counts,
    replaced: entries.replaced,
    comment: new TextDecoder().decode(comment),
    ...omeVersion !== undefined && { omeVersion },
    problems: /\.ozx$/i.test(key) || omeVersion !== undefined
      ? problemsOf(entries, omeVersion !== undefined, counts.deflated)
      : [],
  };
}

/** The version of OME-Zarr in the comment of an archive, as RFC-9 of NGFF recommends it. */
function omeVersionOf(comment: Uint8Array): string | undefined {
  // The text ends with a byte of zero, or with the comment.
  const [text] = new TextDecoder().decode(comment).split("\0", 1);
  try {
    const version = JSON.parse(text!)?.ome?.version;
    return typeof version === "string" ? version : undefined;
  } catch {
    return undefined;
  }
}

/** The name of the documents of nodes. */
const DOCUMENT = "zarr.json";

/**
 * What contradicts RFC-9 of NGFF in an archive of OME-Zarr.
 *
 * @param isRecommended Whether the archive has the comment of the recommended variant.
 * @param deflated The number of deflated entries.
 */
function problemsOf(
  entries: EntryTable,
  isRecommended: boolean,
  deflated: number,
): string[] {
  const comment =
    "its comment announces the variant that RFC-9 of NGFF recommends";
  const count = deflated === 1
    ? "1 deflated entry"
    : `${deflated} deflated entries`;
  return [
    entries.get(DOCUMENT) === undefined &&
    "has no zarr.json at its root, as RFC-9 of NGFF requires",
    isRecommended && deflated > 0 &&
    `has ${count}, where ${comment}`,
    isRecommended && !hasDocumentsFirst(entries) &&
    `does not have all zarr.json at the start, the outer ones first, where ${comment}`,
  ].filter((problem) => problem !== false);
}

/** Whether the directory lists the documents of nodes first, those of outer nodes before others. */
function hasDocumentsFirst(entries: EntryTable): boolean {
  let depth = 0;
  let isStart = true;
  for (const name of entries.names()) {
    if (name === "" || name.endsWith("/")) continue;
    const names = name.split("/");
    const isDocument = names.at(-1) === DOCUMENT;
    if (isDocument && (!isStart || names.length < depth)) return false;
    depth = names.length;
    isStart &&= isDocument;
  }
  return true;
}
