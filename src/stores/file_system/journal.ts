/** The journals of chunks in folders, and their records: which steps a change of the files of a chunk takes. */
import { PendingWriteError } from "../../errors/mod.ts";
import type { StoreKey } from "../store.ts";
import {
  isLock,
  isTemporary,
  journalName,
  resolveKey,
  splitPath,
} from "../store_key.ts";
import { lockFile, turns } from "./locked_value.ts";
import type { FileContext } from "./read_files.ts";
import {
  type Awaitable,
  contentsOf,
  isDiskFull,
  notFound,
  type OpenFile,
} from "./system.ts";

/** Where the journal of a chunk is. */
export interface JournalPlace extends FileContext {
  /** The folder of the chunk key, which holds the journal. */
  readonly folder: string;
  readonly path: string;
  /** Whether a key is that of a part of a chunk, so that a record may name it. */
  readonly isPart: (chunk: StoreKey, key: StoreKey) => boolean;
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
  /** The last change that is finished. */
  #last: Change | undefined;

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
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const run = async () => {
      signal?.throwIfAborted();
      const file = await lockFile(place.system, place.path, signal);
      const journal = new Journal(place, file);
      try {
        await journal.#recover();
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
        const left = file && await readRecord(file, place);
        const temporaries = left ? temporariesOf(left) : [];
        const last = left?.written.at(-1);
        const paths = new RecordPaths(place);
        const all = new Set([
          names.at(-1)!,
          ...last ? [last[1], last[0]] : [], // A change without its last temporary file is finished.
          ...[...left ? partsOf(left) : [], ...names].toReversed(),
          ...temporaries.flat(),
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
  async change(change: Change): Promise<void> {
    try {
      await this.#file.replace(encodeRecord(change));
    } catch (error) {
      // The record may be whole nevertheless, and no program may carry it out.
      await this.#clear(change);
      throw error;
    }
    this.#isUnfinished = true;
    try {
      if (this.#place.isSynced) {
        await this.#file.sync();
        await this.#sync([this.#place.path]);
      }
      await this.#rollForward(change);
    } catch (error) {
      throw this.#pending(change, error);
    }
    this.#isUnfinished = false;
    this.#last = change;
  }

  /** Removes the record. If that fails, the next writer may carry the record out. */
  async #clear(change: Change): Promise<void> {
    try {
      await this.#file.replace(new Uint8Array());
    } catch (error) {
      this.#isUnfinished = true;
      throw this.#pending(change, error);
    }
  }

  #pending(change: Change, cause: unknown): PendingWriteError {
    return new PendingWriteError(chunkOf(change, this.#place), { cause });
  }

  /** Finishes the change of a writer that was killed, if there is one. */
  async #recover(): Promise<void> {
    // A journal that cannot be read may have a record, and is never removed.
    this.#isUnfinished = true;
    const change = await readRecord(this.#file, this.#place);
    if (change !== undefined) {
      await this.#rollForward(change);
      this.#last = change;
      this.#place.onRecovery?.(
        chunkOf(change, this.#place),
        isDeletion(change),
      );
    }
    this.#isUnfinished = false;
  }

  /**
   * Takes the steps of a change that have not been taken yet. While the last file is absent,
   * the others may belong to different writes; whenever it is there, all files belong to the
   * same one. Files that get another layout are read by nobody before the end.
   */
  async #rollForward(change: Change): Promise<void> {
    const { system } = this.#place;
    const { removed, data, renamed, written } = change;
    const last = written.at(-1);
    if (last && !await this.#findFile(last[0])) {
      return await this.#removeTail(change);
    }
    const changed: string[] = [];
    for (const name of removed.toReversed()) {
      const path = await this.#paths.find(name);
      if (path === undefined) continue;
      await system.remove(path);
      // The last file, which is the first to go, is gone from the disk before the others.
      if (changed.push(path) === 1) await this.#sync(changed);
    }
    // Files that have been written are not those that are changed or renamed.
    const placed = new Set<string>();
    if (data || renamed.length > 0) {
      for (const [from, to] of written) {
        if (!await this.#findFile(from)) placed.add(to);
      }
    }
    if (data && !placed.has(data.name)) await this.#changeData(data);
    for (const pair of [...renamed, ...written]) {
      const [from, to] = pair;
      const path = placed.has(from) ? undefined : await this.#findFile(from);
      if (path === undefined) continue;
      const target = await this.#paths.make(to);
      if (pair === last) await this.#sync(changed);
      // Web servers send the time of the last change, which is then the latest for the last file.
      if (written.includes(pair)) await system.touch(path);
      await system.rename(path, target);
      changed.push(path, target);
    }
    await this.#sync(changed);
    await this.#removeTail(change);
  }

  async #removeTail({ data }: Change): Promise<void> {
    const tail = data?.tail && await this.#findFile(data.tail);
    if (tail) await this.#place.system.remove(tail);
  }

  /** Cuts a file, and makes it longer by the bytes of a temporary file, which is there until the end. */
  async #changeData(
    { name, size, tail }: NonNullable<Change["data"]>,
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

  /** Removes the journal after all changes are finished, or at least its record. */
  async #remove(): Promise<void> {
    if (await this.#tryRemove() || this.#last === undefined) return;
    await this.#clear(this.#last);
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
): Promise<Change | undefined> {
  try {
    const change = decodeRecord(await contentsOf(file));
    if (change !== undefined) await assertParts(change, place);
    return change;
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
async function assertParts(change: Change, place: JournalPlace): Promise<void> {
  const { folder, path, isPart } = place;
  const { chunk } = change;
  if (splitPath(path).name !== await journalName(chunk)) {
    throw new Error(`Expected the record of this chunk, found one of ${chunk}`);
  }
  const keyOf = (name: string) => resolveKey(folder, name) as StoreKey;
  for (const name of partsOf(change)) {
    if (isPart(chunkOf(change, place), keyOf(name))) continue;
    throw new Error(`Expected names of parts of the chunk, found ${name}`);
  }
  for (const [temporary, part] of temporariesOf(change)) {
    const { folder: above, name } = splitPath(keyOf(temporary));
    const isBeside = keyOf(part).startsWith(`${above}/`);
    if (isBeside && isTemporary(name) && !isLock(name)) continue;
    throw new Error(
      `Expected a temporary file for ${part}, found ${temporary}`,
    );
  }
}

/** The key of the chunk that a change concerns. */
export function chunkOf({ chunk }: Change, { folder }: JournalPlace): StoreKey {
  return `${folder as StoreKey}/${chunk}`;
}

/** Two names of a file, before and after. */
type NamePair = readonly [from: string, to: string];

/**
 * A change of the files of a chunk: its steps in their order, each of which can be taken
 * again. The files have names relative to the folder of the journal.
 */
export interface Change {
  /** The name of the chunk: the last segment of its key. */
  readonly chunk: string;
  /** The names of files to remove, the last one first. */
  readonly removed: readonly string[];
  /** The file that is cut to a length, and then made longer by the bytes of a temporary file. */
  readonly data?:
    | { readonly name: string; readonly size: number; readonly tail?: string }
    | undefined;
  /** The files that get other names. */
  readonly renamed: readonly NamePair[];
  /** The names of temporary files, and the names that they get, in storing order. */
  readonly written: readonly NamePair[];
}

/** Whether a change leaves nothing of the chunk. */
export function isDeletion({ data, renamed, written }: Change): boolean {
  return data === undefined && renamed.length + written.length === 0;
}

/** The temporary files that a change needs, each with the name of a part beside it. */
export function temporariesOf({ data, written }: Change): readonly NamePair[] {
  return data?.tail ? [...written, [data.tail, data.name]] : written;
}

/** The names of the parts of a chunk that a change concerns. */
function partsOf({ removed, data, renamed, written }: Change): string[] {
  return [
    ...removed,
    ...renamed.flat(),
    ...written.map(([_, to]) => to),
    ...data ? [data.name] : [],
  ];
}

/** Encodes the record of a change as a line of JSON, twice. */
export function encodeRecord(change: Change): Uint8Array {
  const line = `${JSON.stringify(change)}\n`;
  return new TextEncoder().encode(line + line);
}

/**
 * Decodes a record; returns `undefined` if it was not written to its end, so that the two
 * lines differ.
 *
 * @throws {Error} If the record is whole and has another form.
 */
function decodeRecord(bytes: Uint8Array): Change | undefined {
  const text = new TextDecoder().decode(bytes);
  const line = text.slice(0, text.length / 2);
  if (!line.endsWith("\n") || text !== line + line) return undefined;
  const change = translate(JSON.parse(line));
  if (isChange(change)) return change;
  throw new Error(
    "Expected the steps of a change, as this version of the program writes them, found another record",
  );
}

/** Translates a record of an earlier version, which names an action and its files. */
function translate({ action, files, ...record }: Record<string, unknown>) {
  switch (action) {
    case "delete":
      return { ...record, removed: files, renamed: [], written: [] };
    case "replace":
      return { ...record, ...replacement(files as NamePair[]) };
    case "reshape":
      return { ...record, written: files };
    default:
      return action === undefined ? record : {};
  }
}

/** The steps by which temporary files replace parts: while the last part is absent, the others may belong to different writes. */
export function replacement(
  written: readonly NamePair[],
): Omit<Change, "chunk"> {
  return { removed: [written.at(-1)![1]], renamed: [], written };
}

function isChange(
  change: Readonly<Record<string, unknown>>,
): change is Change & Readonly<Record<string, unknown>> {
  const { chunk, removed, renamed, written, data } = change;
  const isName = (name: unknown) => typeof name === "string";
  const areNames = (names: unknown) =>
    Array.isArray(names) && names.every(isName);
  const arePairs = (pairs: unknown) =>
    Array.isArray(pairs) &&
    pairs.every((pair) => areNames(pair) && pair.length === 2);
  const { name, size, tail } = (data ?? { name: "", size: 0 }) as Record<
    string,
    unknown
  >;
  return isName(chunk) && areNames(removed) && arePairs(renamed) &&
    arePairs(written) && isName(name) && Number.isSafeInteger(size) &&
    isName(tail ?? "");
}
