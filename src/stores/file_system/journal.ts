import { isSameBytes } from "../../runtime/mod.ts";
import { PendingWriteError } from "../../errors/mod.ts";
import { KeyLocks } from "../locks.ts";
import { splitPath } from "../store_key.ts";
import {
  type Awaitable,
  type Files,
  isDiskFull,
  isSameState,
  type OpenFile,
} from "./files.ts";

/** The locks of journals in this process, so that only one of its writers at a time tries to lock the file. */
const turns = /* @__PURE__ */ new KeyLocks();

/**
 * The journal of a chunk of several files, which is its lock as well. The file exists
 * while somebody changes the chunk, and after a writer was killed.
 */
export class Journal {
  readonly #files: Files;
  readonly #place: JournalPlace;
  readonly #file: OpenFile;
  /** Whether the journal has, or may have, a record whose change is not finished. */
  #isUnfinished = false;
  /** The last record whose change is finished. */
  #last: JournalRecord | undefined;

  private constructor(files: Files, place: JournalPlace, file: OpenFile) {
    this.#files = files;
    this.#place = place;
    this.#file = file;
  }

  /**
   * Runs a task under the lock of a journal, after it has finished the change of a killed
   * writer, if there is one.
   */
  static async lock<T>(
    files: Files,
    place: JournalPlace,
    task: (journal: Journal) => Promise<T>,
    { signal, hasTurn = false, onRecovery }: JournalOptions,
  ): Promise<T> {
    const { path } = place;
    const work = async () => {
      signal?.throwIfAborted();
      const file = await lockFile(files, path, signal);
      const journal = new Journal(files, place, file);
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
        await journal.#file.close(); // Last, since it ends the lock.
      }
    };
    return await (hasTurn ? work() : turns.write(path, work));
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
        await this.#files.syncFolder(splitPath(this.#place.path).folder);
      }
      await rollForward(this.#files, this.#place, record);
    } catch (error) {
      throw hasRecord ? this.#pending(record, error) : error;
    }
    this.#isUnfinished = false;
    this.#last = record;
  }

  /** Whether a change has begun and has failed before its end. */
  get isUnfinished(): boolean {
    return this.#isUnfinished;
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
        const last = await this.#place.find(record.files.at(-1)![0]);
        if (last !== undefined) await this.#files.remove(last);
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
    const record = await readRecord(this.#file, this.#place.path);
    if (record !== undefined) {
      await rollForward(this.#files, this.#place, record);
      this.#last = record;
    }
    this.#isUnfinished = false;
    return record;
  }

  /**
   * Removes the journal after all changes are finished. A journal that stays does no harm
   * if it has no record, or one of a replacement, which counts as finished.
   */
  async #remove(): Promise<void> {
    if (await this.#tryRemove()) return;
    if (this.#last?.action !== "delete") return;
    try {
      await this.#file.replace(new Uint8Array());
    } catch (error) {
      // The next writer deletes the files again.
      this.#isUnfinished = true;
      throw this.#pending(this.#last, error);
    }
  }

  async #tryRemove(): Promise<boolean> {
    try {
      await this.#files.remove(this.#place.path);
      return true;
    } catch {
      return false;
    }
  }
}

/** Options of {@linkcode Journal.lock}. */
interface JournalOptions {
  readonly signal: AbortSignal | undefined;
  /** Whether the caller holds a lock of this process for the chunk already. */
  readonly hasTurn?: boolean | undefined;
  /** Called with the record of a killed writer when its change is finished. */
  readonly onRecovery?: ((record: JournalRecord) => void) | undefined;
}

/** Where a journal is, and the files that it names. */
export interface JournalPlace {
  readonly path: string;
  /** The folder of the chunk as a key. */
  readonly folder: string;
  /** Whether each step waits until it is on the disk, against loss of power. */
  readonly isSynced: boolean;
  /** Returns the path of a file that a record names; `undefined` if its folder is absent. */
  find(name: string): Awaitable<string | undefined>;
  /** Returns the path of a file that a record names, and creates its folder. */
  make(name: string): Awaitable<string>;
}

/**
 * Reads the record of a journal; `undefined` if there is none, or if it was not written to
 * its end.
 *
 * @throws {Error} If the journal cannot be read, or is not understood.
 */
export async function readRecord(
  file: OpenFile,
  path: string,
): Promise<JournalRecord | undefined> {
  try {
    const bytes = await file.contents();
    return decodeRecord(bytes);
  } catch (error) {
    throw new Error(
      `Cannot read the journal of a chunk, which is kept: ${path}: ${
        error instanceof Error ? error.message : error
      }`,
      { cause: error },
    );
  }
}

/** How long a writer waits for a lock that another program holds, in milliseconds. */
const LONGEST_WAIT = 120_000;

/** Opens and locks the file of a journal. */
async function lockFile(
  files: Files,
  path: string,
  signal: AbortSignal | undefined,
): Promise<OpenFile> {
  const deadline = files.now() + LONGEST_WAIT;
  for (let pause = 0.1;; pause = Math.min(50, 2 * pause)) {
    const file = await files.openOrCreate(path);
    try {
      if (await file.tryLock()) {
        // The program that had the lock before has removed the file, if the path leads
        // to another one or nowhere.
        if (await isAt(files, file, path)) return file;
        pause = 0.1;
      } else if (files.now() > deadline) {
        throw new Error(
          `Another program has been changing the chunk for ${
            LONGEST_WAIT / 1000
          } seconds, expected its lock to be free by then: ${path}`,
        );
      }
    } catch (error) {
      await file.close();
      throw error;
    }
    await file.close();
    await files.wait(pause, signal);
  }
}

/** Whether a path leads to a file that is open and locked. */
async function isAt(
  files: Files,
  file: OpenFile,
  path: string,
): Promise<boolean> {
  const state = await file.stat();
  if (state !== undefined) return isSameState(state, await files.stat(path));
  // Without permission to ask for the state of an open file, contents are compared: a
  // record is unique, and so is the text that is written into an empty file.
  let contents = await file.contents();
  if (contents.length === 0) {
    contents = new TextEncoder().encode(crypto.randomUUID());
    await file.replace(contents);
  }
  const found = await files.open(path);
  const others = await found?.contents();
  await found?.close();
  return isSameBytes(contents, others);
}

/**
 * Takes the steps of a change that have not been taken yet. While the last file is
 * absent, the others may belong to different writes; whenever it is there, all files
 * belong to the same one.
 */
async function rollForward(
  files: Files,
  place: JournalPlace,
  record: JournalRecord,
): Promise<void> {
  if (record.action === "delete") {
    const paths: string[] = [];
    for (const name of record.files) {
      const path = await place.find(name);
      if (path !== undefined) paths.push(path);
    }
    const last = paths.pop();
    if (last === undefined) return;
    await files.remove(last);
    await sync([last]);
    for (const path of paths) await files.remove(path);
    return await sync(paths);
  }
  const from: (string | undefined)[] = [];
  const to: string[] = [];
  for (const [temporary, name] of record.files) {
    from.push(await place.find(temporary));
    to.push(await place.make(name));
  }
  const last = to.length - 1;
  // The last file may be the new one already.
  if (!await isThere(from[last])) return;
  await files.remove(to[last]!);
  await sync(to);
  for (let i = 0; i <= last; i++) {
    if (i === last) await sync(to);
    if (!await isThere(from[i])) continue;
    // Web servers send the time of the last change, which is then the latest for the last file.
    await files.touch(from[i]!);
    await files.rename(from[i]!, to[i]!);
  }
  await sync(to);

  async function isThere(path: string | undefined): Promise<boolean> {
    return path !== undefined && await files.stat(path) !== undefined;
  }

  /** Waits until all steps before are on the disk. */
  async function sync(paths: readonly string[]): Promise<void> {
    if (!place.isSynced) return;
    const folders = paths.map((path) => splitPath(path).folder);
    for (const folder of new Set(folders)) await files.syncFolder(folder);
  }
}

/** A change of the files of a chunk. The files have names relative to the folder of the journal. */
export type JournalRecord =
  & {
    /** The name of the chunk: the last segment of its key. */
    readonly chunk: string;
  }
  & (
    | {
      readonly action: "replace";
      /** The names of temporary files, and the names that they get, in storing order. */
      readonly files: readonly (readonly [from: string, to: string])[];
    }
    | {
      readonly action: "delete";
      /** The names of the files, in storing order. */
      readonly files: readonly string[];
    }
  );

/** Encodes a record as a line of JSON, twice. */
export function encodeRecord(record: JournalRecord): Uint8Array {
  const line = `${JSON.stringify(record)}\n`;
  return new TextEncoder().encode(line + line);
}

/**
 * Decodes a record; returns `undefined` if it was not written to its end, so that the two
 * lines differ.
 *
 * @throws {Error} If the record is whole and has another form.
 */
function decodeRecord(bytes: Uint8Array): JournalRecord | undefined {
  const text = new TextDecoder().decode(bytes);
  const line = text.slice(0, text.length / 2);
  if (!line.endsWith("\n") || text !== line + line) return undefined;
  const record = JSON.parse(line);
  if (isRecord(record)) return record;
  throw new Error(
    "Expected the replacement or the deletion of files, as this version of the program writes it, found another record",
  );
}

function isRecord(record: unknown): record is JournalRecord {
  const { chunk, action, files } = (record ?? {}) as Record<string, unknown>;
  const isName = (name: unknown) => typeof name === "string";
  const isPair = (pair: unknown) =>
    Array.isArray(pair) && pair.length === 2 && pair.every(isName);
  return isName(chunk) && Array.isArray(files) && files.length > 0 && (
    action === "replace" && files.every(isPair) ||
    action === "delete" && files.every(isName)
  );
}
