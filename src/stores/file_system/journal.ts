import { PendingWriteError } from "../../errors/mod.ts";
import type { StoreKey } from "../store.ts";
import {
  isLock,
  isTemporary,
  journalName,
  resolveKey,
  splitPath,
} from "../store_key.ts";
import {
  decodeRecord,
  encodeRecord,
  type JournalRecord,
  namesOf,
  type Reshaping,
  stepsOf,
} from "./change_record.ts";
import { lockFile, turns } from "./locked_value.ts";
import type { Folders } from "./root.ts";
import {
  type Awaitable,
  contentsOf,
  isDiskFull,
  notFound,
  type OpenFile,
  type System,
} from "./system.ts";

/** Where the journal of a chunk is. */
export interface JournalPlace {
  readonly system: System;
  readonly root: Folders;
  /** The folder of the chunk key, which holds the journal. */
  readonly folder: string;
  readonly path: string;
  /** Whether each step waits until it is on the disk, against loss of power. */
  readonly isSynced: boolean;
  /** Whether a key is that of a part of a chunk, so that a record may name it. */
  readonly isPart: (chunk: StoreKey, key: StoreKey) => boolean;
}

/** Options of {@linkcode Journal.lock}. */
interface LockOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called with the record of a killed writer when its change is finished. */
  readonly onRecovery?: ((record: JournalRecord) => void) | undefined;
}

/**
 * The journal of a chunk, which is its lock as well. The file exists while somebody
 * changes the chunk, and after a writer was killed.
 */
export class Journal {
  readonly #place: JournalPlace;
  readonly #file: OpenFile;
  readonly #paths: RecordPaths;
  /** Whether the journal has, or may have, a record whose change is not finished. */
  #isUnfinished = false;
  /** The last record whose change is finished. */
  #last: JournalRecord | undefined;

  private constructor(place: JournalPlace, file: OpenFile) {
    this.#place = place;
    this.#file = file;
    this.#paths = new RecordPaths(place);
  }

  /**
   * Runs a task under the lock of this process and that of the disk, after the change of a
   * killed writer is finished, if there is one.
   */
  static lock<T>(
    place: JournalPlace,
    task: (journal: Journal) => Promise<T>,
    { signal, onRecovery }: LockOptions = {},
  ): Promise<T> {
    const run = async () => {
      signal?.throwIfAborted();
      const file = await lockFile(place.system, place.path, signal);
      const journal = new Journal(place, file);
      try {
        const left = await journal.#recover();
        if (left !== undefined) onRecovery?.(left);
        const result = await task(journal);
        await journal.#remove();
        return result;
      } catch (error) {
        // A change that has begun is finished by the next writer.
        if (!journal.#isUnfinished) await journal.#tryRemove();
        throw error;
      } finally {
        file.close(); // Last, since it ends the lock.
      }
    };
    return turns.write(place.path, run);
  }

  /**
   * Deletes files where there is no free space for a record, nor for finishing the change of
   * a killed writer. Its record goes, too, and what the record would put in place. Each last
   * file goes first, so that a kill leaves no chunk of two writes.
   *
   * @param names The names of the files, in storing order.
   */
  static discard(
    place: JournalPlace,
    names: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<void> {
    return turns.write(place.path, async () => {
      let file: OpenFile | undefined;
      try {
        file = await lockFile(place.system, place.path, signal);
      } catch (error) {
        if (!isDiskFull(error)) throw error; // There is no space for a journal, and there was none.
      }
      try {
        const record = file && await readRecord(file, place);
        const left = record && namesOf(record);
        const last = left?.temporaries.at(-1);
        const paths = new RecordPaths(place);
        const all = new Set([
          names.at(-1)!,
          ...last ? [last[1], last[0]] : [], // A change without its last temporary file is finished.
          ...[...left?.parts ?? [], ...names].toReversed(),
          ...left?.temporaries.flat() ?? [],
        ]);
        for (const name of all) {
          const path = await paths.find(name);
          if (path !== undefined) await place.system.remove(path);
        }
        if (file !== undefined) await place.system.remove(place.path);
      } finally {
        file?.close();
      }
    });
  }

  /**
   * Changes files: once the record is written, the change will be finished, by this
   * program or by the next one that takes the lock.
   *
   * @throws {PendingWriteError} If the change has begun and is not finished. After any
   * other error, no program finishes it.
   */
  async change(record: JournalRecord): Promise<void> {
    let hasRecord = true;
    try {
      await this.#file.replace(encodeRecord(record));
    } catch (error) {
      hasRecord = false;
      // Deleting needs no free space: without a record, a kill may leave some files, but
      // never the last one, so that they are not taken for a chunk.
      if (record.action !== "delete" || !isDiskFull(error)) {
        await this.#withdraw(record, error);
        throw error;
      }
    }
    this.#isUnfinished = true;
    try {
      if (this.#place.isSynced) {
        await this.#file.sync();
        await this.#sync([this.#place.path]);
      }
      await this.#rollForward(record);
    } catch (error) {
      throw hasRecord ? this.#pending(record, error) : error;
    }
    this.#isUnfinished = false;
    this.#last = record;
  }

  /**
   * Makes sure that no program carries out a record whose writing has failed: the record may
   * be whole nevertheless. A replacement without the temporary file of the last part counts as
   * finished.
   */
  async #withdraw(record: JournalRecord, error: unknown): Promise<void> {
    try {
      return await this.#file.replace(new Uint8Array());
    } catch {
      // Without its last temporary file, a replacement counts as finished.
    }
    try {
      if (record.action === "replace") {
        const last = await this.#paths.find(record.files.at(-1)![0]);
        if (last !== undefined) await this.#place.system.remove(last);
        return;
      }
    } catch {
      // Another program may carry out the record.
    }
    this.#isUnfinished = true;
    throw this.#pending(record, error);
  }

  #pending({ chunk }: JournalRecord, cause: unknown): PendingWriteError {
    return new PendingWriteError(`${this.#place.folder}/${chunk}`, { cause });
  }

  /** Finishes the change of a writer that was killed. Returns its record, if there is one. */
  async #recover(): Promise<JournalRecord | undefined> {
    // A journal that cannot be read may have a record, and is never removed.
    this.#isUnfinished = true;
    const record = await readRecord(this.#file, this.#place);
    if (record !== undefined) {
      await this.#rollForward(record);
      this.#last = record;
    }
    this.#isUnfinished = false;
    return record;
  }

  /**
   * Takes the steps of a change that have not been taken yet. While the last file is absent,
   * the others may belong to different writes; whenever it is there, all files belong to the
   * same one. Files that get another layout are read by nobody before the end.
   */
  async #rollForward(record: JournalRecord): Promise<void> {
    const { system } = this.#place;
    const { removed, data, renamed } = stepsOf(record);
    const last = renamed.at(-1);
    if (record.action === "replace" && !await this.#findFile(last![0])) {
      return; // The last file is the new one already.
    }
    const changed: string[] = [];
    for (const name of removed.toReversed()) {
      const path = await this.#paths.find(name);
      if (path === undefined) continue;
      await system.remove(path);
      // The last file, which is the first to go, is gone from the disk before the others.
      if (changed.push(path) === 1) await this.#sync(changed);
    }
    const placed = record.action === "reshape"
      ? await this.#placedFiles(record)
      : new Set<string>();
    if (data && !placed.has(data.name)) await this.#changeData(data);
    for (const [from, to] of renamed) {
      const path = placed.has(from) ? undefined : await this.#findFile(from);
      if (path === undefined) continue;
      const target = await this.#paths.make(to);
      if (from === last![0]) await this.#sync(changed);
      // Web servers send the time of the last change, which is then the latest for the last file.
      if (isTemporary(splitPath(from).name)) await system.touch(path);
      await system.rename(path, target);
      changed.push(path, target);
    }
    await this.#sync(changed);
    const tail = data?.tail && await this.#findFile(data.tail);
    if (tail) await system.remove(tail);
  }

  /** The names of files that are new ones already, and not the earlier files that get other names. */
  async #placedFiles({ files }: Reshaping): Promise<ReadonlySet<string>> {
    const placed = new Set<string>();
    for (const [from, to] of files) {
      if (await this.#findFile(from) === undefined) placed.add(to);
    }
    return placed;
  }

  /** Cuts a file, and makes it longer by the bytes of a temporary file, which is there until the end. */
  async #changeData(
    { name, size, tail }: NonNullable<Reshaping["data"]>,
  ): Promise<void> {
    const { system, isSynced } = this.#place;
    const tailPath = tail && await this.#findFile(tail);
    const path = await this.#findFile(name);
    // Without the bytes that follow, or under another name, the file has been changed.
    if (path === undefined || tail && !tailPath) return;
    const file = await system.openOrCreate(path);
    try {
      await file.truncate!(size);
      if (tailPath) await file.append(await this.#read(tailPath));
      if (isSynced) await file.sync();
    } finally {
      file.close();
    }
  }

  async #read(path: string): Promise<Uint8Array> {
    const file = await this.#place.system.open(path);
    if (file === undefined) throw notFound(`Expected a file: ${path}`);
    try {
      return await contentsOf(file);
    } finally {
      file.close();
    }
  }

  /** Returns the path of a file; `undefined` if there is none. */
  async #findFile(name: string): Promise<string | undefined> {
    const path = await this.#paths.find(name);
    return path && await this.#place.system.stat(path) ? path : undefined;
  }

  /** Waits until all steps before are on the disk. */
  async #sync(paths: readonly string[]): Promise<void> {
    if (!this.#place.isSynced) return;
    const folders = paths.map((path) => splitPath(path).folder);
    for (const folder of new Set(folders)) {
      await this.#place.system.syncFolder(folder);
    }
  }

  /**
   * Removes the journal after all changes are finished. A journal that stays does no harm
   * if it has no record, or one of a replacement, which counts as finished.
   */
  async #remove(): Promise<void> {
    if (await this.#tryRemove()) return;
    if (this.#last === undefined || this.#last.action === "replace") return;
    try {
      await this.#file.replace(new Uint8Array());
    } catch (error) {
      // The next writer does the same again.
      this.#isUnfinished = true;
      throw this.#pending(this.#last, error);
    }
  }

  async #tryRemove(): Promise<boolean> {
    try {
      await this.#place.system.remove(this.#place.path);
      return true;
    } catch {
      return false;
    }
  }
}

/** The paths of the files that a record names. Each folder is looked up once. */
export class RecordPaths {
  readonly #place: JournalPlace;
  readonly #folders: Map<string, string>;

  constructor(place: JournalPlace) {
    this.#place = place;
    this.#folders = new Map([[place.folder, splitPath(place.path).folder]]);
  }

  /** Finds a file; `undefined` if its folder is absent. */
  find(relative: string): Promise<string | undefined> {
    return this.#path(relative, (folder) => this.#place.root.follow(folder));
  }

  /** Finds the place for a file, whose folder is created if it is absent. */
  async make(relative: string): Promise<string> {
    const { root } = this.#place;
    const path = await this.#path(
      relative,
      (folder, key) => root.ensureFolder(folder, key),
    );
    return path!;
  }

  async #path(
    relative: string,
    lookUp: (folder: string, key: StoreKey) => Awaitable<string | undefined>,
  ): Promise<string | undefined> {
    const key = resolveKey(this.#place.folder, relative) as StoreKey;
    const { folder, name } = splitPath(key);
    const path = this.#folders.get(folder) ?? await lookUp(folder, key);
    if (path === undefined) return undefined;
    this.#folders.set(folder, path);
    return `${path}/${name}`;
  }
}

/**
 * Reads the record of a journal; `undefined` if there is none, or if it was not written to
 * its end.
 *
 * @throws {Error} If the journal cannot be read, is not understood, or names files that are
 * no parts of its chunk: it may have come with the files of somebody else.
 */
export async function readRecord(
  file: OpenFile,
  place: JournalPlace,
): Promise<JournalRecord | undefined> {
  try {
    const record = decodeRecord(await contentsOf(file));
    if (record !== undefined) await assertParts(record, place);
    return record;
  } catch (error) {
    throw new Error(
      `Cannot read the journal of a chunk, which is kept: ${place.path}: ${
        error instanceof Error ? error.message : error
      }`,
      { cause: error },
    );
  }
}

/** Refuses a record with files that are neither parts of its chunk nor temporary files beside them. */
async function assertParts(
  record: JournalRecord,
  { folder, path, isPart }: JournalPlace,
): Promise<void> {
  const { chunk } = record;
  if (splitPath(path).name !== await journalName(chunk)) {
    throw new Error(`Expected the record of this chunk, found one of ${chunk}`);
  }
  const keyOf = (name: string) => resolveKey(folder, name) as StoreKey;
  const { parts, temporaries } = namesOf(record);
  for (const name of parts) {
    if (isPart(`${folder as StoreKey}/${chunk}`, keyOf(name))) continue;
    throw new Error(`Expected names of parts of the chunk, found ${name}`);
  }
  for (const [temporary, part] of temporaries) {
    const { folder: above, name } = splitPath(keyOf(temporary));
    const isBeside = keyOf(part).startsWith(`${above}/`);
    if (isBeside && isTemporary(name) && !isLock(name)) continue;
    throw new Error(
      `Expected a temporary file for ${part}, found ${temporary}`,
    );
  }
}

/** Where the journal of a chunk is, in a folder that exists. */
export async function journalPlace(
  context: Omit<JournalPlace, "folder" | "path">,
  chunk: StoreKey,
  folderPath: string,
): Promise<JournalPlace> {
  const { system, root, isSynced, isPart } = context;
  const { folder, name } = splitPath(chunk);
  const path = `${folderPath}/${await journalName(name)}`;
  return { system, root, isSynced, folder, path, isPart };
}
