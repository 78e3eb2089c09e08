import { PendingWriteError, sentence } from "../../errors/mod.ts";
import type {
  ChangeOptions,
  PendingValues,
  Snapshot,
  Update,
  ValuesOptions,
} from "../backend.ts";
import { assertComplete } from "../byte_streams.ts";
import type { ByteWriter, StoreKey, StoreOptions } from "../store.ts";
import {
  FolderKeyError,
  journalName,
  relativeKey,
  splitPath,
  temporaryPath,
} from "../store_key.ts";
import {
  type Change,
  Journal,
  type JournalPlace,
  replacement,
} from "./journal.ts";
import { appendAll, LockedValue } from "./locked_value.ts";
import { type FileContext, isBeingWritten, readFiles } from "./read_files.ts";
import { isAbsence, isDiskFull, type OpenFile, type System } from "./system.ts";

/** Begins to write files: each is a temporary file until all of them are committed. */
export async function prepareFiles(
  context: FileContext,
  keys: readonly StoreKey[],
  options: ChangeOptions = {},
): Promise<PendingFiles> {
  options.signal?.throwIfAborted();
  assertNoFolders(keys);
  const folders = new Map<StoreKey, string>();
  for (const key of keys) folders.set(key, await context.root.folderFor(key));
  return new PendingFiles(context, folders, options);
}

/** Replaces the value in one file, under its lock. */
export async function writeFile(
  context: FileContext,
  key: StoreKey,
  bytes: Uint8Array,
  options: StoreOptions = {},
): Promise<void> {
  const { signal } = options;
  const release = await context.openFiles.take(1);
  try {
    signal?.throwIfAborted();
    const folder = await context.root.folderFor(key);
    const write = (value: LockedValue) => value.write(bytes, signal);
    await LockedValue.lock(context, key, folder, write, options);
  } finally {
    release();
  }
}

/** Deletes files as one. */
export async function removeFiles(
  context: FileContext,
  keys: readonly StoreKey[],
  options: ChangeOptions = {},
): Promise<void> {
  const { root } = context;
  const { name = keys[0]!, signal } = options;
  signal?.throwIfAborted();
  let isThere = false;
  for (const key of keys) isThere = await root.has(key) || isThere;
  if (!isThere && !await isBeingWritten(context, name)) return;
  const { folder } = splitPath(name);
  const path = await root.follow(folder);
  if (path === undefined) return;
  try {
    await underLock(
      context,
      keys,
      options,
      (lock) => deleteUnder(lock, keys, name),
    );
  } catch (error) {
    // A file is in the place of the folder.
    if (isAbsence(error) || error instanceof FolderKeyError) return;
    if (!isDiskFull(error)) throw error;
    // There is no space for a lock, and nobody has one.
    if (keys.length === 1) return await removeFile(context, keys[0]!);
    const place = await journalPlace(context, keys, name, path);
    const names = keys.map((key) => relativeKey(folder, key));
    await Journal.discard(place, names, signal);
  }
}

/** Deletes a file. */
export async function removeFile(
  { root, system, isSynced }: FileContext,
  key: StoreKey,
): Promise<void> {
  const { folder, name } = splitPath(key);
  const path = await root.follow(folder);
  if (path === undefined) return;
  await system.remove(`${path}/${name}`);
  if (isSynced) await system.syncFolder(path);
}

/** Reads and replaces files under their lock. */
export async function updateFiles(
  context: FileContext,
  keys: readonly StoreKey[],
  compute: (values: Snapshot) => Promise<Update>,
  options: ValuesOptions = {},
): Promise<void> {
  const { name = keys[0]!, signal } = options;
  const release = await context.openFiles.take(2 * keys.length + 1);
  const read = () => readFiles(context, keys, compute, options, true);
  try {
    if (keys.length === 1) await context.root.folderFor(keys[0]!); // Refuses a folder.
    await underLock(context, keys, options, async (lock) => {
      const update = await read();
      if (update === "keep") return;
      if (update === "delete") return await deleteUnder(lock, keys, name);
      if (lock instanceof LockedValue) {
        return await lock.write(update[0]!, signal);
      }
      const values = keys.map((key, i) => [key, update[i]!] as const);
      await placeUnder(lock, context, values, options);
    });
  } finally {
    release();
  }
}

/** The files of a chunk that get another layout, by their keys. */
export interface ReshapedFiles {
  /** The files that the new layout does not have, in storing order. */
  readonly removed: readonly StoreKey[];
  /** The file that is cut to a length, and then made longer by some bytes. */
  readonly data?: {
    readonly key: StoreKey;
    readonly size: number;
    readonly tail: Uint8Array;
  };
  /** The files that get other names, and may be the one that is cut. */
  readonly renamed: readonly { from: StoreKey; to: StoreKey }[];
  /** The files that are written anew. */
  readonly written: readonly { to: StoreKey; bytes: Uint8Array }[];
}

/** Gives the files of a chunk another layout as one change, without a copy of the longest one. */
export async function reshapeFiles(
  context: FileContext,
  name: StoreKey,
  { removed, data, renamed, written }: ReshapedFiles,
): Promise<void> {
  const { folder } = splitPath(name);
  const nameOf = (key: StoreKey) => relativeKey(folder, key);
  const bytes = new Map(written.map(({ to, bytes }) => [to, bytes]));
  if (data && data.tail.length > 0) bytes.set(data.key, data.tail);
  const keys = [
    ...removed,
    ...renamed.flatMap(({ from, to }) => [from, to]),
    ...written.map(({ to }) => to),
    ...data ? [data.key] : [],
  ];
  await underJournal(
    context,
    keys,
    { name },
    (journal) =>
      placeUnder(journal, context, [...bytes], { name }, (files) => {
        const tail = data && files.find(([_, to]) => to === nameOf(data.key));
        return {
          removed: removed.map(nameOf),
          data: data && {
            name: nameOf(data.key),
            size: data.size,
            ...tail && { tail: tail[0] },
          },
          renamed: renamed.map(({ from, to }) => [nameOf(from), nameOf(to)]),
          written: files.filter((pair) => pair !== tail),
        };
      }),
  );
}

/** Runs a task under the lock of files: that of a value in one file, or the journal of several. */
async function underLock(
  context: FileContext,
  keys: readonly StoreKey[],
  options: ChangeOptions,
  task: (lock: LockedValue | Journal) => Promise<void>,
): Promise<void> {
  if (keys.length > 1) return await underJournal(context, keys, options, task);
  const [key] = keys as [StoreKey];
  const folder = await context.root.ensureFolder(splitPath(key).folder, key);
  await LockedValue.lock(context, key, folder, task, options);
}

/** Runs a task under the lock of a chunk, that of this process and that of the disk. */
async function underJournal(
  context: FileContext,
  keys: readonly StoreKey[],
  { name = keys[0]!, signal }: ValuesOptions,
  task: (journal: Journal) => Promise<void>,
): Promise<void> {
  const folder = await context.root.ensureFolder(splitPath(name).folder, name);
  const place = await journalPlace(context, keys, name, folder);
  await Journal.lock(place, task, signal);
}

/** Where the journal of a chunk is, in a folder that exists. */
async function journalPlace(
  context: FileContext,
  keys: readonly StoreKey[],
  name: StoreKey,
  path: string,
): Promise<JournalPlace> {
  const { folder, name: chunk } = splitPath(name);
  return {
    ...context,
    folder,
    path: `${path}/${await journalName(chunk)}`,
    isPart: (_, key) => keys.includes(key),
  };
}

/** Deletes files under their lock. */
async function deleteUnder(
  lock: LockedValue | Journal,
  keys: readonly StoreKey[],
  name: StoreKey,
): Promise<void> {
  if (lock instanceof LockedValue) return await lock.remove();
  const { folder, name: chunk } = splitPath(name);
  const removed = keys.map((key) => relativeKey(folder, key));
  await lock.change({ chunk, removed, renamed: [], written: [] });
}

/** Writes values to temporary files, and puts them in place under their lock. */
async function placeUnder(
  lock: Journal,
  context: FileContext,
  values: readonly (readonly [StoreKey, Uint8Array])[],
  options: ValuesOptions,
  stepsOf?: StepsOf,
): Promise<void> {
  const keys = values.map(([key]) => key);
  const pending = await prepareFiles(context, keys, options);
  try {
    for (const [key, bytes] of values) await pending.write(key, bytes);
    await pending.place(lock, stepsOf);
  } finally {
    await pending.abort();
  }
}

/** Makes the steps of a change of the names of temporary files and of those that they get. */
type StepsOf = (files: Change["written"]) => Omit<Change, "chunk">;

/** Files that are being written. */
class PendingFiles implements PendingValues {
  readonly #context: FileContext;
  /** The paths of the folders of the values. */
  readonly #folders: ReadonlyMap<StoreKey, string>;
  readonly #options: ChangeOptions;
  readonly #temporaries = new Map<StoreKey, Temporary>();
  readonly #complete = new Set<StoreKey>();
  /** A writer of several values may still open one of them while another one fails. */
  #isClosed = false;
  /** Ends the claim of `set` on open files. Writers may take long, and do not count as open files. */
  #release: (() => void) | undefined;
  /** Whether the temporary files have got their names, or the next writer needs them to finish a change that has failed. */
  #areTaken = false;

  constructor(
    context: FileContext,
    folders: ReadonlyMap<StoreKey, string>,
    options: ChangeOptions,
  ) {
    this.#context = context;
    this.#folders = folders;
    this.#options = options;
  }

  get #keys(): StoreKey[] {
    return [...this.#folders.keys()];
  }

  async set(key: StoreKey, bytes: Uint8Array): Promise<void> {
    const count = this.#folders.size + 1;
    this.#release ??= await this.#context.openFiles.take(count);
    await this.write(key, bytes);
  }

  /** Writes a whole value, under a lock. */
  async write(key: StoreKey, bytes: Uint8Array): Promise<void> {
    const temporary = await this.#open(key);
    await appendAll(temporary.file, bytes, this.#options.signal);
    this.#complete.add(key);
  }

  async writer(key: StoreKey): Promise<FileWriter> {
    const temporary = await this.#open(key);
    const { system } = this.#context;
    const complete = () => this.#complete.add(key);
    return new FileWriter(system, temporary, this.#options, complete);
  }

  async commit(check?: (values: Snapshot) => Promise<void>): Promise<void> {
    const context = this.#context;
    const options = this.#options;
    const keys = this.#keys;
    try {
      assertComplete(keys, (key) => this.#complete.has(key));
      await underLock(context, keys, options, async (lock) => {
        if (check) await readFiles(context, keys, check, options, true);
        options.signal?.throwIfAborted();
        await this.place(lock);
      });
    } finally {
      await this.abort();
    }
  }

  /** Puts complete values in place, under their lock. */
  async place(
    lock: LockedValue | Journal,
    stepsOf: StepsOf = replacement,
  ): Promise<void> {
    const keys = this.#keys;
    const { name = keys[0]! } = this.#options;
    const { folder, name: chunk } = splitPath(name);
    const temporaries = keys.map((key) => this.#temporaries.get(key)!);
    if (this.#context.isSynced) {
      await Promise.all(temporaries.map(({ file }) => file.sync()));
    }
    try {
      if (lock instanceof LockedValue) await lock.place(temporaries[0]!.path);
      else {
        const files = keys.map((key, i): [string, string] => {
          const { name } = splitPath(temporaries[i]!.path);
          const temporary = `${splitPath(key).folder}/${name}`;
          return [relativeKey(folder, temporary), relativeKey(folder, key)];
        });
        await lock.change({ chunk, ...stepsOf(files) });
      }
      this.#areTaken = true;
    } catch (error) {
      this.#areTaken = error instanceof PendingWriteError;
      throw error;
    }
  }

  /** Closes the temporary files, and removes those that were not taken. */
  async abort(): Promise<void> {
    this.#isClosed = true;
    const temporaries = [...this.#temporaries.values()];
    this.#temporaries.clear();
    for (const temporary of temporaries) {
      if (this.#areTaken) temporary.file.close();
      else await discard(this.#context.system, temporary);
    }
    this.#release?.();
    this.#release = undefined;
  }

  async #open(key: StoreKey): Promise<Temporary> {
    const { system } = this.#context;
    const earlier = this.#temporaries.get(key);
    if (earlier !== undefined) await discard(system, earlier);
    const temporary = await createTemporary(system, this.#folders.get(key)!);
    if (this.#isClosed) {
      await discard(system, temporary);
      throw new TypeError(sentence`Cannot write ${key}: the write has ended`);
    }
    this.#temporaries.set(key, temporary);
    return temporary;
  }
}

/** Writes a value piece by piece, or by copying a file. */
export class FileWriter implements ByteWriter {
  readonly #system: System;
  readonly #temporary: Temporary;
  readonly #options: StoreOptions;
  readonly #complete: () => void;

  constructor(
    system: System,
    temporary: Temporary,
    options: StoreOptions,
    complete: () => void,
  ) {
    this.#system = system;
    this.#temporary = temporary;
    this.#options = options;
    this.#complete = complete;
  }

  async write(bytes: Uint8Array): Promise<number> {
    this.#options.signal?.throwIfAborted();
    await this.#temporary.file.append(bytes);
    return bytes.length;
  }

  /**
   * Copies the first bytes of a file, if nothing was written before. The copy is a new file,
   * since ext4 starts to write a file to the disk at once if it was emptied before.
   *
   * @returns Whether that is possible, and the file has the expected size.
   */
  async copy(from: string, size: number, length: number): Promise<boolean> {
    this.#options.signal?.throwIfAborted();
    const system = this.#system;
    if (system.copy === undefined) return false;
    const empty = { ...this.#temporary };
    const path = temporaryPath(splitPath(empty.path).folder);
    let file: OpenFile | undefined;
    try {
      await system.copy(from, path, empty.path);
      // `recover` may remove the copy before it is locked.
      file = await lock(system, path, await system.openOrCreate(path));
    } catch (error) {
      await system.remove(path);
      if (!isAbsence(error)) throw error;
    }
    if (file === undefined) return false;
    this.#temporary.path = path;
    this.#temporary.file = file;
    await discard(system, empty);
    if (file.stat().size !== size) return false;
    await file.truncate!(length);
    return true;
  }

  close(): void {
    this.#complete();
  }

  /** Does nothing, since the file is removed when the values are given up. */
  abort(): void {}
}

/** A new file under a temporary name, which is locked as long as it is open. */
interface Temporary {
  path: string;
  file: OpenFile;
}

/**
 * Creates a temporary file. The lock tells `recover` that the writer of the file is
 * alive. If `recover` locks the file first, it removes the file, and another one is
 * created.
 */
export async function createTemporary(
  system: System,
  folder: string,
): Promise<Temporary> {
  while (true) {
    const path = temporaryPath(folder);
    const file = await lock(system, path, await system.create(path));
    if (file !== undefined) return { path, file };
  }
}

/** Locks a new file; `undefined` if `recover` has locked it before. */
async function lock(
  system: System,
  path: string,
  file: OpenFile,
): Promise<OpenFile | undefined> {
  try {
    // The name is new, so that no other file can have it.
    if (await file.tryLock() && await system.stat(path) !== undefined) {
      return file;
    }
  } catch (error) {
    file.close();
    await system.remove(path);
    throw error;
  }
  file.close();
  await system.remove(path); // A dry run of `recover` removes no files.
}

/** Closes and removes a temporary file. No error if it was renamed or removed. */
export async function discard(
  system: System,
  { path, file }: Temporary,
): Promise<void> {
  try {
    await system.remove(path);
  } catch {
    // `recover` removes the file once it is closed.
  }
  file.close();
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
