import { describe } from "../errors/mod.ts";
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
import { EntryTable } from "./entry_table.ts";
import { openZipFile, readZipDirectory } from "./zip_directory.ts";

/** How long the directory of an archive that is followed is used without a look at the file, in milliseconds. */
const LONGEST_TRUST = 1000;
/** How often an archive is opened again for one read, if it changes each time. */
const MOST_TRIES = 5;

/** The opening of an archive, for all reads that wait for it. */
interface Opening {
  readonly state: Promise<Archive>;
  readonly controller: AbortController;
  waiting: number;
}

/** An archive in a store, of which each read sees one state. */
export class OpenArchive {
  readonly #store: Store;
  readonly key: StoreKey;
  /** The path of the folder that is shown. */
  readonly path: string;
  readonly #follows: boolean;
  #state: Archive | undefined;
  #opening: Opening | undefined;

  /**
   * @param follows Whether reads go on with the new state of an archive that has changed.
   */
  constructor(
    store: Store,
    key: StoreKey,
    path: string,
    follows: boolean,
  ) {
    this.#store = store;
    this.key = key;
    this.path = path;
    this.#follows = follows;
  }

  /** Describes the archive, for messages. */
  get place(): string {
    return `${describe(this.key)} of ${describeStore(this.#store)}`;
  }

  /** Runs a task that reads one state of the archive. It runs again if the file changes, and the archive does not or is followed. */
  async use<T>(
    options: StoreOptions | undefined,
    task: (state: Archive) => T | Promise<T>,
  ): Promise<T> {
    for (let tries = 1;; tries++) {
      const state = await this.#enter(options?.signal);
      try {
        return await task(state);
      } catch (error) {
        if (!(error instanceof StateChangedError)) throw error;
        if (tries === MOST_TRIES) throw this.changedError(error);
        // The file may be another copy of the same archive.
        state.isStale = true;
      } finally {
        this.leave(state);
      }
    }
  }

  /** Keeps a state until `leave`. */
  keep(state: Archive): void {
    state.readers++;
  }

  /** Ends the use of a state. The last reader closes a file that is held open. */
  leave(state: Archive): void {
    if (--state.readers > 0 || state.version === undefined) return;
    if (state.version.isLasting && this.#state === state) return;
    state.version.release();
    state.version = undefined;
    state.isStale = true;
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

  /** Returns the present state, which is kept until `leave`. */
  async #enter(signal: AbortSignal | undefined): Promise<Archive> {
    signal?.throwIfAborted();
    const state = this.#state;
    if (state === undefined || state.isStale) return await this.#open(signal);
    state.readers++;
    if (!this.#follows || Date.now() - state.seen <= LONGEST_TRUST) {
      return state;
    }
    let isCurrent = false;
    try {
      isCurrent = await state.isCurrent(signal ? { signal } : {});
    } finally {
      if (!isCurrent) this.leave(state);
    }
    if (isCurrent) return state;
    state.isStale = true;
    return await this.#enter(signal);
  }

  /** Opens the archive, once for all that wait. */
  async #open(signal: AbortSignal | undefined): Promise<Archive> {
    const opening = this.#opening ??= this.#beginToOpen();
    opening.waiting++;
    try {
      const state = await rejectOnAbort(opening.state, signal);
      state.readers++;
      return state;
    } finally {
      if (--opening.waiting === 0) {
        if (this.#opening === opening) this.#opening = undefined;
        opening.controller.abort(signal?.reason);
        opening.state.then((state) => this.leave(state), () => {});
      }
    }
  }

  /** Begins to open the archive. The state is kept until the last one that waits has it. */
  #beginToOpen(): Opening {
    const controller = new AbortController();
    const state = this.#load({ signal: controller.signal });
    return { state, controller, waiting: 0 };
  }

  /** Reads the directory, and the version of the file that it belongs to. */
  async #load(
    options: StoreOptions & { signal: AbortSignal },
  ): Promise<Archive> {
    const backend = backendOf(this.#store);
    const known = this.#state;
    let version: StoreVersion | undefined;
    const read = async (values: Snapshot): Promise<Archive> => {
      version?.release(); // The store may try several times.
      version = undefined;
      const file = await openZipFile(values, this.key);
      if (file === undefined) {
        throw new RangeError(
          `There is no archive ${this.place}`,
        );
      }
      const directory = await readZipDirectory(file);
      const digest = await digestOf(directory.bytes);
      let state = known;
      if (known?.digest !== digest || known.size !== file.size) {
        const entries = new EntryTable(file, directory);
        state = new Archive(backend, this.key, {
          size: file.size,
          entries,
          folder: findFolder(this.key, entries.names(), this.path),
          comment: new Uint8Array(directory.comment),
          digest,
        });
      }
      if (backend.readOf) version = values.version(this.key);
      return state!;
    };
    try {
      const state = await backend.read([this.key], read, options);
      options.signal.throwIfAborted();
      if (known !== undefined && state !== known && !this.#follows) {
        throw this.changedError();
      }
      if (known !== undefined && (known === state || known.readers === 0)) {
        known.version?.release();
        known.version = undefined;
      }
      state.version = version;
      state.isStale = false;
      state.seen = Date.now();
      state.readers++;
      this.#state = state;
      return state;
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
      `Archive ${describe(key)} has the entry ${
        describe(backslashed)
      }, with a backslash, where names in zip files are joined by "/": unpack the file, and pack it by zip -0`,
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
