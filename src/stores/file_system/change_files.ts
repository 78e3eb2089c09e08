import { describe, PendingWriteError } from "../../errors/mod.ts";
import type {
  ChangeOptions,
  PendingValues,
  Snapshot,
  Update,
} from "../backend.ts";
import type { ByteWriter, StoreKey, StoreOptions } from "../store.ts";
import {
  FolderKeyError,
  relativeKey,
  splitPath,
  temporaryPath,
} from "../store_key.ts";
import { Journal, journalPlace } from "./journal.ts";
import { type FileContext, isBeingWritten, readFiles } from "./read_files.ts";
import {
  isAbsence,
  isDiskFull,
  type OpenFile,
  type System,
  WINDOW,
} from "./system.ts";

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
    await change(
      context,
      keys,
      options,
      (journal) => removeLocked(context, keys, name, journal),
    );
  } catch (error) {
    // A file is in the place of the folder.
    if (isAbsence(error) || error instanceof FolderKeyError) return;
    if (!isDiskFull(error)) throw error;
    const place = await journalPlace(context, name, path);
    const names = keys.map((key) => relativeKey(folder, key));
    await Journal.discard(place, names, signal);
  }
}

/** Reads and replaces files under their lock. */
export async function updateFiles(
  context: FileContext,
  keys: readonly StoreKey[],
  compute: (values: Snapshot) => Promise<Update>,
  options: ChangeOptions = {},
): Promise<void> {
  const { name = keys[0]! } = options;
  const release = await context.openFiles.take(2 * keys.length + 1);
  try {
    await change(context, keys, options, async (journal) => {
      const update = await readFiles(context, keys, compute, options, true);
      if (update === "keep") return;
      if (update === "delete") {
        return await removeLocked(context, keys, name, journal);
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

/**
 * Runs a task under the lock of a chunk, that of this process and that of the disk. All
 * changes of files go through here.
 *
 * @param task Is given no journal if nobody else can change the only file of the chunk.
 */
async function change<T>(
  context: FileContext,
  keys: readonly StoreKey[],
  options: ChangeOptions,
  task: (journal: Journal | undefined) => Promise<T>,
): Promise<T> {
  const { name = keys[0]!, signal, exclusive } = options;
  if (exclusive && keys.length === 1) return await task(undefined);
  const folder = await context.root.ensureFolder(splitPath(name).folder, name);
  const place = await journalPlace(context, name, folder);
  return await Journal.lock(place, task, {
    signal,
    onRecovery: () => context.onRecovery?.(name),
  });
}

async function removeLocked(
  { root, system, isSynced }: FileContext,
  keys: readonly StoreKey[],
  chunk: StoreKey,
  journal: Journal | undefined,
): Promise<void> {
  if (keys.length === 1) {
    const { folder, name } = splitPath(keys[0]!);
    const path = await root.follow(folder);
    if (path === undefined) return;
    await system.remove(`${path}/${name}`);
    return isSynced ? await system.syncFolder(path) : undefined;
  }
  const { folder, name } = splitPath(chunk);
  await journal!.change({
    chunk: name,
    action: "delete",
    files: keys.map((key) => relativeKey(folder, key)),
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
    for (let offset = 0; offset < bytes.length; offset += WINDOW) {
      this.#options.signal?.throwIfAborted();
      await temporary.file.append(bytes.subarray(offset, offset + WINDOW));
    }
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
      const missing = keys.filter((key) => !this.#complete.has(key));
      if (missing.length > 0) {
        throw new TypeError(
          `Expected a value for each key, found none for ${
            JSON.stringify(missing)
          }`,
        );
      }
      await change(this.#context, keys, this.#options, async (journal) => {
        if (check) {
          await readFiles(this.#context, keys, check, this.#options, true);
        }
        this.#options.signal?.throwIfAborted();
        await this.place(journal);
      });
    } finally {
      await this.close();
    }
  }

  async abort(): Promise<void> {
    await this.close();
  }

  /** Puts the complete values in place, under the lock. */
  async place(journal: Journal | undefined): Promise<void> {
    const { root, system, isSynced } = this.#context;
    const keys = this.#keys;
    const { name: chunk = keys[0]! } = this.#options;
    const temporaries = keys.map((key) => this.#temporaries.get(key)!);
    if (isSynced) await Promise.all(temporaries.map(({ file }) => file.sync()));
    const paths: string[] = [];
    for (const key of keys) {
      const { folder, name } = splitPath(key);
      paths.push(
        await (journal?.make(key) ??
          `${await root.ensureFolder(folder, key)}/${name}`),
      );
    }
    if (keys.length === 1) {
      await system.rename(temporaries[0]!.path, paths[0]!);
      this.#areTaken = true;
      try {
        if (isSynced) await system.syncFolder(splitPath(paths[0]!).folder);
      } catch (cause) {
        throw new PendingWriteError(keys[0]!, { cause }); // The value is in its place.
      }
      return;
    }
    const { folder, name } = splitPath(chunk);
    try {
      await journal!.change({
        chunk: name,
        action: "replace",
        files: temporaries.map(({ folder: above, path }, i) => [
          relativeKey(folder, `${above}/${splitPath(path).name}`),
          relativeKey(folder, keys[i]!),
        ]),
      });
      this.#areTaken = true;
    } finally {
      this.#areTaken ||= journal!.isUnfinished;
    }
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
