import { describe, sentence } from "../errors/mod.ts";
import { digestOf, rejectOnAbort } from "../runtime/mod.ts";
import {
  backendOf,
  describeStore,
  isMetadataKey,
  type Snapshot,
  type Store,
  type StoreKey,
  type StoreOptions,
  type StoreVersion,
} from "../stores/mod.ts";
import { Archive, type ArchiveFolder, StateChangedError } from "./archive.ts";
import { EntryTable, openZipFile, readZipDirectory } from "./zip_directory.ts";

/** How long the directory of an archive that is followed is used without a look at the file, in milliseconds. */
const LONGEST_TRUST = 1000;
/** How often an archive is opened again for one read, if it changes each time. */
const MOST_TRIES = 5;

/** A state that is used until `leave` is called. */
interface Use {
  readonly state: Archive;
  readonly leave: () => void;
}

/** The opening of an archive, for all reads that wait for it. */
interface Opening {
  readonly use: Promise<Use>;
  readonly controller: AbortController;
  waiting: number;
}

/** An archive in a store, of which each read sees one state. */
export class OpenArchive {
  readonly #store: Store;
  readonly #key: StoreKey;
  readonly #path: string;
  readonly #follows: boolean;
  #state: Archive | undefined;
  #opening: Opening | undefined;

  /**
   * @param path The path of the folder that is shown.
   * @param follows Whether reads go on with the new state of an archive that has changed.
   */
  constructor(store: Store, key: StoreKey, path: string, follows: boolean) {
    this.#store = store;
    this.#key = key;
    this.#path = path;
    this.#follows = follows;
  }

  /** Describes the archive, for messages. */
  get place(): string {
    return `${describe(this.#key)} of ${describeStore(this.#store)}`;
  }

  /** Runs a task that reads one state of the archive. It runs again if the file changes, and the archive does not or is followed. */
  async use<T>(
    options: StoreOptions | undefined,
    task: (state: Archive) => T | Promise<T>,
  ): Promise<T> {
    for (let tries = 1;; tries++) {
      const { state, leave } = await this.#enter(options?.signal);
      try {
        return await task(state);
      } catch (error) {
        if (!(error instanceof StateChangedError)) throw error;
        if (tries === MOST_TRIES) throw this.changedError(error);
        // The file may be another copy of the same archive.
        state.isStale = true;
      } finally {
        leave();
      }
    }
  }

  /** The error for an archive that has changed. */
  changedError(cause?: unknown): Error {
    return new Error(
      this.#follows
        ? `Archive ${this.place} is changed each time it is read: try again later`
        : `Archive ${this.place} was changed after it was opened: open it again`,
      { cause },
    );
  }

  /** Begins to use the present state. */
  async #enter(signal: AbortSignal | undefined): Promise<Use> {
    signal?.throwIfAborted();
    const state = this.#state;
    if (state === undefined || state.isStale) return await this.#open(signal);
    const leave = state.keep();
    if (!this.#follows || Date.now() - state.seen <= LONGEST_TRUST) {
      return { state, leave };
    }
    let isCurrent = false;
    try {
      isCurrent = await state.isCurrent(signal ? { signal } : {});
    } finally {
      if (!isCurrent) leave();
    }
    if (isCurrent) return { state, leave };
    state.isStale = true;
    return await this.#enter(signal);
  }

  /** Opens the archive, once for all that wait. The state is kept until the last one has it. */
  async #open(signal: AbortSignal | undefined): Promise<Use> {
    this.#opening ??= this.#beginToOpen();
    const opening = this.#opening;
    opening.waiting++;
    try {
      const { state } = await rejectOnAbort(opening.use, signal);
      return { state, leave: state.keep() };
    } finally {
      if (--opening.waiting === 0) {
        if (this.#opening === opening) this.#opening = undefined;
        opening.controller.abort(signal?.reason);
        opening.use.then(({ leave }) => leave(), () => {});
      }
    }
  }

  #beginToOpen(): Opening {
    const controller = new AbortController();
    const use = this.#load({ signal: controller.signal });
    return { use, controller, waiting: 0 };
  }

  /** Reads the directory, and the version of the file that it belongs to. */
  async #load(options: { signal: AbortSignal }): Promise<Use> {
    const backend = backendOf(this.#store);
    const key = this.#key;
    const known = this.#state;
    let version: StoreVersion | undefined;
    const read = async (values: Snapshot): Promise<Archive> => {
      version?.release(); // The store may try several times.
      version = undefined;
      const file = await openZipFile(values, key);
      if (file === undefined) {
        throw new RangeError(`There is no archive ${this.place}`);
      }
      const { size } = file;
      const directory = await readZipDirectory(file);
      const digest = await digestOf(directory.bytes);
      const isKnown = known?.digest === digest && known.size === size;
      const entries = isKnown ? known.entries : new EntryTable(file, directory);
      const state = isKnown ? known : new Archive(backend, key, {
        size,
        entries,
        folder: findFolder(key, entries.names(), this.#path),
        comment: new Uint8Array(directory.comment),
        digest,
      });
      if (backend.readOf) version = values.version(key);
      return state;
    };
    try {
      const state = await backend.read([key], read, options);
      options.signal.throwIfAborted();
      if (known !== undefined && state !== known && !this.#follows) {
        throw this.changedError();
      }
      if (known === state || known?.isUsed === false) known.release();
      state.version = version;
      state.isStale = false;
      state.seen = Date.now();
      this.#state = state;
      return { state, leave: state.keep() };
    } catch (error) {
      version?.release();
      throw error;
    }
  }
}

/** The folder in which macOS keeps the attributes of files. */
const OF_MACOS = "__MACOSX";
/** The start of paths of Windows, which no program unpacks as a folder. */
const DRIVE = /^[a-z]:\//i;

/**
 * Finds the folder of an archive whose entries are shown.
 *
 * Programs that pack a folder put all entries into a folder of its name. So if no node is
 * at the root of the archive, and only one folder there holds one, this folder takes the
 * place of the root.
 *
 * @param names The names of all entries.
 * @param path The path of the node, from the root of the archive or from that folder.
 * @throws {RangeError} If names are joined by backslashes.
 */
function findFolder(
  key: StoreKey,
  names: Iterable<string>,
  path: string,
): ArchiveFolder {
  const given = path === "" ? "" : `${path}/`;
  const documents = new Set<string>();
  let backslashed: string | undefined;
  for (const name of names) {
    if (name.includes("\\")) backslashed ??= name;
    else if (isMetadataKey(name)) {
      documents.add(name.slice(0, name.lastIndexOf("/") + 1));
    }
  }
  if (backslashed !== undefined) {
    throw new RangeError(
      sentence`Archive ${key} has the entry ${backslashed}, with a backslash, where names in zip files are joined by "/": unpack the file, and pack it by zip -0`,
    );
  }
  if (documents.has("")) return { path: given, nodes: [] };
  const nodes = Array.from(documents).filter((folder) =>
    /^[^/]+\/$/.test(folder) && folder !== `${OF_MACOS}/` &&
    !DRIVE.test(folder)
  );
  const isAtRoot = documents.has(given) || nodes.length !== 1;
  return { path: isAtRoot ? given : nodes[0]! + given, nodes };
}
