import { DamageError } from "../../errors/mod.ts";
import { assertAllGiven, assertInGroup } from "../capabilities.ts";
import type { KeyLocks } from "../locks.ts";
import type {
  ByteWriter,
  GroupValues,
  GroupWriter,
  StoreGroup,
  StoreKey,
  StoreOptions,
} from "../store.ts";
import {
  FolderKeyError,
  journalName,
  relativeKey,
  resolveKey,
  splitPath,
} from "../store_key.ts";
import {
  type Files,
  type Folders,
  type FoundFile,
  isAbsence,
  isDiskFull,
  type OpenFile,
} from "./files.ts";
import { Journal, type JournalPlace } from "./journal.ts";
import type { OpenFiles } from "./open_files.ts";
import { FileGroupValues, openGroup } from "./read_group.ts";
import { FileValueWriter, PendingValue } from "./value.ts";

/** A chunk, and the files that it consists of. */
interface FileGroupPlace {
  readonly files: Files;
  /** Limits how many files are open. */
  readonly openFiles: OpenFiles;
  readonly root: Folders;
  /** The key of the chunk. */
  readonly key: StoreKey;
  /** The keys of the files, in storing order. */
  readonly keys: readonly StoreKey[];
  /** The locks of the store in this process. */
  readonly locks?: KeyLocks;
  /** Whether writers wait until everything is on the disk. */
  readonly isSynced: boolean;
  /** Called when the change that a killed writer had begun is finished. */
  readonly onRecovery: ((key: StoreKey) => void) | undefined;
}

/** Files that are read, replaced and deleted together. */
export class FileGroup implements StoreGroup {
  readonly #place: FileGroupPlace;
  /** The journal, if the lock is held. */
  readonly #journal: Journal | undefined;

  constructor(place: FileGroupPlace, journal?: Journal) {
    this.#place = place;
    this.#journal = journal;
  }

  async read<T>(
    task: (values: GroupValues) => Promise<T>,
    { signal }: StoreOptions = {},
  ): Promise<T> {
    const { files: system, key, keys, root } = this.#place;
    const isLocked = this.#journal !== undefined;
    const release = await this.#takeOpenFiles(keys.length);
    let openedAt = 0;
    let found: (FoundFile | undefined)[] = [];
    const locate = async () => {
      openedAt = system.now();
      found = [];
      for (const each of keys) found.push(await root.find(each));
      // Under the lock, only this writer changes the journal.
      const journal = () => isLocked ? undefined : this.#journalPath();
      return { files: found, journal };
    };
    try {
      const { files, isIncomplete } = await openGroup(
        system,
        locate,
        key,
        signal,
      );
      const places = found.map((file) =>
        file && !file.leadsTo ? { files: system, path: file.path } : undefined
      );
      const values = new FileGroupValues(keys, files, openedAt, places);
      try {
        const result = await task(values);
        // Under the lock, a task may read the remaining files of a chunk that it replaces.
        if (isIncomplete && !isLocked) throw incompleteError(key, keys, files);
        values.close();
        return result;
      } catch (error) {
        await values.abandon(error);
        throw error;
      }
    } finally {
      release();
    }
  }

  async write(options: StoreOptions = {}): Promise<GroupWriter> {
    options.signal?.throwIfAborted();
    const { files, keys, root } = this.#place;
    assertNoFolders(keys);
    for (const key of keys) await root.find(key, options);
    return new FileGroupWriter(
      keys,
      (key) => PendingValue.open(files, root, key),
      options,
      (values) => this.#replace(values, options),
      () => this.#takeOpenFiles(keys.length + 1),
    );
  }

  async delete(options: StoreOptions = {}): Promise<void> {
    const { key, keys, root } = this.#place;
    for (const each of keys) await root.find(each, options);
    const { folder } = splitPath(key);
    if (await root.follow(folder) === undefined) return;
    const names = keys.map((each) => relativeKey(folder, each));
    try {
      await this.#change(
        (journal) =>
          journal.change({
            chunk: splitPath(key).name,
            action: "delete",
            files: names,
          }),
        options,
      );
    } catch (error) {
      // A file is in the place of the folder.
      if (isAbsence(error) || error instanceof FolderKeyError) return;
      // Deleting needs no free space. The last file goes first, so that a kill leaves no
      // chunk of two writes.
      if (!isDiskFull(error)) throw error;
      for (const each of keys.toReversed()) await root.remove(each);
    }
  }

  async lock<T>(
    task: (group: StoreGroup) => Promise<T>,
    options: StoreOptions = {},
  ): Promise<T> {
    const release = await this.#takeOpenFiles(this.#place.keys.length + 1);
    try {
      return await this.#change(
        (journal) => task(new FileGroup(this.#place, journal)),
        options,
      );
    } finally {
      release();
    }
  }

  /** Replaces the files by values that are complete. */
  async #replace(
    values: ReadonlyMap<StoreKey, PendingValue>,
    options: StoreOptions,
  ): Promise<void> {
    const { key, keys, root, isSynced } = this.#place;
    const { folder } = splitPath(key);
    // Whether the temporary files have got their names, or the next writer needs them to
    // finish a change that has failed.
    let areTaken = false;
    try {
      if (isSynced) await Promise.all(keys.map((k) => values.get(k)!.sync()));
      await this.#change(async (journal) => {
        options.signal?.throwIfAborted();
        for (const each of keys) {
          await root.ensureFolder(splitPath(each).folder, each);
        }
        if (keys.length === 1) {
          return await values.get(keys[0]!)!.store(options, isSynced);
        }
        const files = keys.map((each) =>
          [
            relativeKey(folder, values.get(each)!.temporaryKey),
            relativeKey(folder, each),
          ] as const
        );
        try {
          await journal.change({
            chunk: splitPath(key).name,
            action: "replace",
            files,
          });
        } finally {
          areTaken = journal.isUnfinished;
        }
      }, options);
      areTaken = true;
    } finally {
      for (const value of values.values()) {
        await (areTaken ? value.close() : value.discard());
      }
    }
  }

  /** Waits until files may be opened. Operations under the lock must not wait for other operations. */
  #takeOpenFiles(count: number): (() => void) | Promise<() => void> {
    return this.#journal === undefined
      ? this.#place.openFiles.take(count)
      : () => {};
  }

  /** Runs a task under the lock. */
  async #change<T>(
    task: (journal: Journal) => Promise<T>,
    options: StoreOptions,
  ): Promise<T> {
    if (this.#journal !== undefined) return await task(this.#journal);
    const { files, key, root, locks, isSynced, onRecovery } = this.#place;
    const { folder, name } = splitPath(key);
    const above = await root.ensureFolder(folder, key);
    const path = `${above}/${await journalName(name)}`;
    return await Journal.lock(
      files,
      journalPlace(root, folder, path, isSynced),
      task,
      {
        signal: options.signal,
        // A composed store may hold the lock of the chunk in this process.
        hasTurn: locks?.isHeld(key, options),
        onRecovery: () => onRecovery?.(key),
      },
    );
  }

  async #journalPath(): Promise<string | undefined> {
    const { key, root } = this.#place;
    const { folder, name } = splitPath(key);
    const path = await root.locate(folder);
    return path && `${path}/${await journalName(name)}`;
  }
}

/** The place of a journal in a folder of a root, and the files that the journal names. */
export function journalPlace(
  root: Folders,
  folder: string,
  path: string,
  isSynced: boolean,
): JournalPlace {
  return {
    path,
    folder,
    isSynced,
    async find(name) {
      const key = splitPath(resolveKey(folder, name));
      const found = await root.follow(key.folder);
      return found && `${found}/${key.name}`;
    },
    async make(name) {
      const key = splitPath(resolveKey(folder, name));
      return `${await root.ensureFolder(key.folder)}/${key.name}`;
    },
  };
}

/** Collects the values of a group in temporary files. */
class FileGroupWriter implements GroupWriter {
  readonly #keys: readonly StoreKey[];
  readonly #open: (key: StoreKey) => Promise<PendingValue>;
  readonly #options: StoreOptions;
  readonly #store: (
    values: ReadonlyMap<StoreKey, PendingValue>,
  ) => Promise<void>;
  readonly #takeOpenFiles: () => (() => void) | Promise<() => void>;
  /** Ends the claim of `set` on open files. Writers may take long, and do not count as open files. */
  #release: Promise<() => void> | undefined;
  /** The values that are open, and of them those that are complete. */
  readonly #opened = new Map<StoreKey, PendingValue>();
  readonly #complete = new Map<StoreKey, PendingValue>();

  constructor(
    keys: readonly StoreKey[],
    open: (key: StoreKey) => Promise<PendingValue>,
    options: StoreOptions,
    store: (values: ReadonlyMap<StoreKey, PendingValue>) => Promise<void>,
    takeOpenFiles: () => (() => void) | Promise<() => void>,
  ) {
    this.#keys = keys;
    this.#open = open;
    this.#options = options;
    this.#store = store;
    this.#takeOpenFiles = takeOpenFiles;
  }

  async set(key: StoreKey, bytes: Uint8Array): Promise<void> {
    this.#release ??= Promise.resolve(this.#takeOpenFiles());
    await this.#release;
    const value = await this.#openValue(key);
    await value.write(bytes, this.#options);
    this.#complete.set(key, value);
  }

  async writer(key: StoreKey): Promise<ByteWriter> {
    const value = await this.#openValue(key);
    return new FileValueWriter(value, this.#options, () => {
      this.#complete.set(key, value);
      return Promise.resolve();
    });
  }

  async close(): Promise<void> {
    assertAllGiven(this.#keys, this.#complete);
    this.#opened.clear(); // Storing closes the files, also if it fails.
    try {
      await this.#store(this.#complete);
    } finally {
      (await this.#release)?.();
    }
  }

  async abort(): Promise<void> {
    const opened = [...this.#opened.values()];
    this.#opened.clear();
    this.#complete.clear();
    for (const value of opened) await value.discard();
    (await this.#release)?.();
  }

  async #openValue(key: StoreKey): Promise<PendingValue> {
    assertInGroup(this.#keys, key);
    await this.#opened.get(key)?.discard();
    const value = await this.#open(key);
    this.#opened.set(key, value);
    return value;
  }
}

/** Refuses files of which one would be the folder of another. */
function assertNoFolders(keys: readonly StoreKey[]): void {
  for (const key of keys) {
    const inside = keys.find((other) => other.startsWith(`${key}/`));
    if (inside === undefined) continue;
    throw new FolderKeyError(
      `Key ${JSON.stringify(key)} names a folder, that of the key ${
        JSON.stringify(inside)
      }: no file system can hold both`,
    );
  }
}

function incompleteError(
  key: StoreKey,
  keys: readonly StoreKey[],
  files: readonly (OpenFile | undefined)[],
): Error {
  const missing = keys.filter((_, i) => files[i] === undefined);
  return new DamageError(
    `Chunk ${JSON.stringify(key)} lacks ${
      JSON.stringify(missing)
    }: a chunk is stored with all of its parts or not at all`,
    { key },
  );
}
