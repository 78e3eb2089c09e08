import { describe } from "../../errors/mod.ts";
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
  relativeKey,
  splitPath,
  temporaryPath,
} from "../store_key.ts";
import type { JournalRecord } from "./change_record.ts";
import { Journal, journalPlace } from "./journal.ts";
import { appendAll, LockedValue, placeFile } from "./locked_value.ts";
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
  const pending = new PendingFiles(context, keys, options);
  await pending.findFolders();
  return pending;
}

/** Replaces the value in one file, under its lock. */
export async function writeFile(
  context: FileContext,
  key: StoreKey,
  bytes: Uint8Array,
  { signal }: StoreOptions = {},
): Promise<void> {
  const release = await context.openFiles.take(1);
  try {
    signal?.throwIfAborted();
    const { root } = context;
    const { folder } = splitPath(key);
    const found = await root.folderFor(key);
    const path = found.folder === folder
      ? found.path
      : await root.ensureFolder(folder, key);
    await LockedValue.lock(
      context,
      key,
      path,
      (value) => value.write(bytes, signal),
      signal,
    );
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
  const { name = keys[0]!, signal, exclusive } = options;
  signal?.throwIfAborted();
  let isThere = false;
  for (const key of keys) isThere = await root.has(key) || isThere;
  if (!isThere && !await isBeingWritten(context, name)) return;
  const { folder } = splitPath(name);
  const path = await root.follow(folder);
  if (path === undefined) return;
  try {
    if (keys.length === 1) {
      const remove = () => removeFile(context, keys[0]!);
      await (exclusive
        ? remove()
        : changeValue(context, keys[0]!, options, remove));
    } else {
      await changeChunk(
        context,
        keys,
        options,
        (journal) => journal.change(deletionOf(keys, name)),
      );
    }
  } catch (error) {
    // A file is in the place of the folder.
    if (isAbsence(error) || error instanceof FolderKeyError) return;
    if (!isDiskFull(error)) throw error;
    // There is no space for a lock, and nobody has one.
    if (keys.length === 1) return await removeFile(context, keys[0]!);
    const place = await journalPlace(
      { ...context, isPart: (_, key) => keys.includes(key) },
      name,
      path,
    );
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

function deletionOf(
  keys: readonly StoreKey[],
  name: StoreKey,
): JournalRecord {
  const { folder, name: chunk } = splitPath(name);
  const files = keys.map((key) => relativeKey(folder, key));
  return { chunk, action: "delete", files };
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
    if (keys.length === 1) {
      const [key] = keys;
      await context.root.folderFor(key!); // Refuses a folder.
      return await changeValue(context, key!, options, async (value) => {
        const update = await read();
        if (update === "delete") await removeFile(context, key!);
        else if (update !== "keep") await value.write(update[0]!, signal);
      });
    }
    await changeChunk(context, keys, options, async (journal) => {
      const update = await read();
      if (update === "keep") return;
      if (update === "delete") {
        return await journal.change(deletionOf(keys, name));
      }
      const pending = await prepareFiles(context, keys, options);
      try {
        for (const [i, key] of keys.entries()) {
          await pending.write(key, update[i]!);
        }
        await pending.place(journal);
      } finally {
        await pending.close();
      }
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
  await changeChunk(context, keys, { name }, async (journal) => {
    const pending = await prepareFiles(context, [...bytes.keys()], { name });
    try {
      for (const [key, each] of bytes) await pending.write(key, each);
      await pending.place(journal, (pairs) => {
        const tail = data && pairs.find(([_, to]) => to === nameOf(data.key));
        return {
          chunk: splitPath(name).name,
          action: "reshape",
          removed: removed.map(nameOf),
          ...data && {
            data: {
              name: nameOf(data.key),
              size: data.size,
              ...tail && { tail: tail[0] },
            },
          },
          renamed: renamed.map(({ from, to }) => [nameOf(from), nameOf(to)]),
          files: pairs.filter((pair) => pair !== tail),
        };
      });
    } finally {
      await pending.close();
    }
  });
}

/** Runs a task under the lock of a value in one file. */
async function changeValue(
  context: FileContext,
  key: StoreKey,
  { signal }: StoreOptions,
  task: (value: LockedValue) => Promise<void>,
): Promise<void> {
  const folder = await context.root.ensureFolder(splitPath(key).folder, key);
  await LockedValue.lock(context, key, folder, task, signal);
}

/** Runs a task under the lock of a chunk, that of this process and that of the disk. */
async function changeChunk(
  context: FileContext,
  keys: readonly StoreKey[],
  { name = keys[0]!, signal }: ValuesOptions,
  task: (journal: Journal) => Promise<void>,
): Promise<void> {
  const folder = await context.root.ensureFolder(splitPath(name).folder, name);
  const isPart = (_: StoreKey, key: StoreKey) => keys.includes(key);
  const place = await journalPlace({ ...context, isPart }, name, folder);
  await Journal.lock(place, task, {
    signal,
    onRecovery: () => context.onRecovery?.(name),
  });
}

/** Files that are being written. */
export class PendingFiles implements PendingValues {
  readonly #context: FileContext;
  readonly #keys: readonly StoreKey[];
  readonly #options: ChangeOptions;
  readonly #temporaries = new Map<StoreKey, Temporary>();
  readonly #complete = new Set<StoreKey>();
  /** The nearest folders that exist. */
  readonly #folders = new Map<
    StoreKey,
    { readonly folder: string; readonly path: string }
  >();
  /** A writer of several values may still open one of them while another one fails. */
  #isClosed = false;
  /** Ends the claim of `set` on open files. Writers may take long, and do not count as open files. */
  #release: (() => void) | undefined;
  /** Whether the temporary files have got their names, or the next writer needs them to finish a change that has failed. */
  #areTaken = false;

  constructor(
    context: FileContext,
    keys: readonly StoreKey[],
    options: ChangeOptions,
  ) {
    this.#context = context;
    this.#keys = keys;
    this.#options = options;
  }

  /** Finds the folders for temporary files, and refuses keys that cannot be written. */
  async findFolders(): Promise<void> {
    const { root } = this.#context;
    for (const key of this.#keys) {
      this.#folders.set(key, await root.folderFor(key));
    }
  }

  async set(key: StoreKey, bytes: Uint8Array): Promise<void> {
    const count = this.#keys.length + 1;
    this.#release ??= await this.#context.openFiles.take(count);
    await this.write(key, bytes);
  }

  /** Writes a whole value. */
  async write(key: StoreKey, bytes: Uint8Array): Promise<void> {
    const temporary = await this.#open(key);
    await appendAll(temporary.file, bytes, this.#options.signal);
    this.#complete.add(key);
  }

  async writer(key: StoreKey): Promise<FileWriter> {
    const temporary = await this.#open(key);
    return new FileWriter(
      this.#context.system,
      temporary,
      this.#options,
      () => this.#complete.add(key),
    );
  }

  async commit(check?: (values: Snapshot) => Promise<void>): Promise<void> {
    const keys = this.#keys;
    try {
      assertComplete(keys, (key) => this.#complete.has(key));
      const context = this.#context;
      const run = async (place: () => Promise<void>) => {
        if (check) await readFiles(context, keys, check, this.#options, true);
        this.#options.signal?.throwIfAborted();
        await place();
      };
      if (keys.length > 1) {
        await changeChunk(
          context,
          keys,
          this.#options,
          (journal) => run(() => this.place(journal)),
        );
      } else if (this.#options.exclusive) await run(() => this.#placeOne());
      else {
        await changeValue(
          context,
          keys[0]!,
          this.#options,
          (value) => run(() => this.#placeOne(value)),
        );
      }
    } finally {
      await this.close();
    }
  }

  async abort(): Promise<void> {
    await this.close();
  }

  /** Puts the only value in place. */
  async #placeOne(value?: LockedValue): Promise<void> {
    const context = this.#context;
    const key = this.#keys[0]!;
    const { path, file } = this.#temporaries.get(key)!;
    if (context.isSynced) await file.sync();
    if (value !== undefined) await value.place(path);
    else {
      const { folder, name } = splitPath(key);
      const to = `${await context.root.ensureFolder(folder, key)}/${name}`;
      await placeFile(context, key, path, to);
    }
    this.#areTaken = true;
  }

  /**
   * Puts the complete values of a chunk in place, under its lock.
   *
   * @param recordOf Makes the record of the names of temporary files and of those that they get.
   */
  async place(
    journal: Journal,
    recordOf: (files: [from: string, to: string][]) => JournalRecord = (
      files,
    ) => ({ chunk: splitPath(this.#name).name, action: "replace", files }),
  ): Promise<void> {
    const keys = this.#keys;
    const temporaries = keys.map((key) => this.#temporaries.get(key)!);
    if (this.#context.isSynced) {
      await Promise.all(temporaries.map(({ file }) => file.sync()));
    }
    for (const key of keys) await journal.make(key);
    const { folder } = splitPath(this.#name);
    const files = temporaries.map(({ folder: above, path }, i) =>
      [
        relativeKey(folder, `${above}/${splitPath(path).name}`),
        relativeKey(folder, keys[i]!),
      ] as [string, string]
    );
    try {
      await journal.change(recordOf(files));
      this.#areTaken = true;
    } finally {
      this.#areTaken ||= journal.isUnfinished;
    }
  }

  /** The key that the values have in common. */
  get #name(): StoreKey {
    return this.#options.name ?? this.#keys[0]!;
  }

  /** Closes the temporary files, and removes those that were not taken. */
  async close(): Promise<void> {
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
    const { folder, path } = this.#folders.get(key)!;
    const temporary = { folder, ...await createTemporary(system, path) };
    if (this.#isClosed) {
      await discard(system, temporary);
      throw new TypeError(`Cannot write ${describe(key)}: the write has ended`);
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
  /** The key of its folder. */
  readonly folder: string;
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
): Promise<Pick<Temporary, "path" | "file">> {
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
  { path, file }: Pick<Temporary, "path" | "file">,
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
