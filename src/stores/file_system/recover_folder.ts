import type { RecoverOptions, Recovery } from "../operations.ts";
import type { StoreKey } from "../store.ts";
import {
  assertStoreKey,
  isJournal,
  isTemporary,
  mayBePart,
  splitPath,
} from "../store_key.ts";
import type { StoreRoot } from "./file_changes.ts";
import {
  chunkOf,
  isDeletion,
  Journal,
  type JournalPlace,
  readRecord,
  RecordPaths,
  temporariesOf,
} from "./journal.ts";
import type { FileContext } from "./read_files.ts";
import { isSameState, type OpenFile, type System } from "./system.ts";

/** Finishes the changes of killed writers in a folder and in all folders below it, and removes their temporary files. */
export async function recoverFolder(
  context: StoreRoot,
  { path = "", ...options }: RecoverOptions,
): Promise<Recovery> {
  const { root } = context;
  const names = path.replace(/^\/|\/$/g, "");
  const folder = names === "" ? "" : `/${names}`;
  if (folder !== "") assertStoreKey(folder);
  root.assertFolder();

  async function* walk(folder: string): AsyncGenerator<Leftover> {
    options.signal?.throwIfAborted();
    const path = root.follow(folder);
    if (path === undefined) return;
    for await (const { name, isDirectory, isFile } of root.entries(path)) {
      if (isDirectory) yield* walk(`${folder}/${name}`);
      if (!isFile || !isTemporary(name)) continue;
      yield { folder, path: `${path}/${name}` };
    }
  }

  return await recoverFiles(context, () => walk(folder), options);
}

/** The number of temporary files that are held open at the same time. */
const MOST_OPEN = 256;

/** A temporary file or a journal that a writer may have left, and the key of its folder. */
type Leftover = Pick<JournalPlace, "folder" | "path">;

/**
 * Finishes the changes of writers that were killed, and removes their temporary files.
 * The temporary files of dead writers are found before the journals are looked at, and
 * stay locked: otherwise a writer could commit and die in between, and its files would
 * be removed. If the change of a journal cannot be finished, the others are, and all
 * temporary files stay. A dry run changes nothing, and keeps no file locked.
 *
 * @param list Lists what writers may have left.
 * @throws {AggregateError} If changes could not be finished.
 */
export async function recoverFiles(
  context: FileContext,
  list: () => AsyncIterable<Leftover>,
  { signal, dryRun = false, isPart = mayBePart }: RecoverOptions = {},
): Promise<Recovery> {
  const { system } = context;
  const written = new Set<StoreKey>();
  const deleted = new Set<StoreKey>();
  const temporary = { files: 0, bytes: 0 };
  const onRecovery = (chunk: StoreKey, isDeleted: boolean) =>
    void (isDeleted ? deleted : written).add(chunk);
  let isMore = true;
  while (isMore) {
    const dead = new Map<string, OpenFile | undefined>();
    const needed = new Set<string>();
    const failures = new Map<string, unknown>();
    try {
      for await (const { path } of list()) {
        signal?.throwIfAborted();
        if (dead.size === MOST_OPEN && !dryRun) break;
        if (isJournal(splitPath(path).name)) continue;
        const file = await lockDead(system, path);
        if (file === undefined) continue;
        dead.set(path, dryRun ? undefined : file);
        if (dryRun) file.close();
      }
      for await (const found of list()) {
        signal?.throwIfAborted();
        if (!isJournal(splitPath(found.path).name)) continue;
        const journal = { ...context, ...found, isPart, onRecovery };
        try {
          if (dryRun) await readLeft(journal, needed);
          else await Journal.lock(journal, () => Promise.resolve(), signal);
        } catch (error) {
          signal?.throwIfAborted();
          failures.set(found.path, error);
        }
      }
      assertNone(failures);
      for (const path of dead.keys()) {
        const state = await system.stat(path);
        if (state === undefined || needed.has(path)) continue;
        if (!dryRun) await system.remove(path);
        temporary.files++;
        temporary.bytes += state.size;
      }
    } finally {
      for (const file of dead.values()) file?.close();
    }
    isMore = !dryRun && dead.size === MOST_OPEN;
  }
  return { written: [...written], deleted: [...deleted], temporary };
}

/** Opens and locks a temporary file; `undefined` if its writer is alive, or it is gone. */
async function lockDead(
  system: System,
  path: string,
): Promise<OpenFile | undefined> {
  const file = await system.open(path);
  if (file === undefined) return undefined;
  let isDead = false;
  try {
    // A lock may have been removed, and taken by another writer.
    isDead = await file.tryLock() &&
      isSameState(file.stat(), await system.stat(path));
  } finally {
    if (!isDead) file.close();
  }
  return isDead ? file : undefined;
}

/** Tells the change that a killed writer has left. Adds the paths of the temporary files that it names to `needed`. */
async function readLeft(
  journal: JournalPlace,
  needed: Set<string>,
): Promise<void> {
  const file = await lockDead(journal.system, journal.path);
  try {
    const change = file && await readRecord(file, journal);
    if (change === undefined) return;
    journal.onRecovery?.(chunkOf(change, journal), isDeletion(change));
    const paths = new RecordPaths(journal);
    for (const [name] of temporariesOf(change)) {
      const path = await paths.find(name);
      if (path !== undefined) needed.add(path);
    }
  } finally {
    file?.close();
  }
}

/** Throws if there are failures, by the paths of their journals. */
function assertNone(failures: ReadonlyMap<string, unknown>): void {
  if (failures.size === 0) return;
  const lines = Array.from(failures, ([path, error]) => {
    const text = error instanceof Error ? error.message : String(error);
    return text.includes(path) ? text : `${path}: ${text}`;
  });
  throw new AggregateError(
    failures.values(),
    `Cannot finish the changes of all journals, so that all temporary files are kept; the other changes are finished: ${
      lines.join("; ")
    }`,
  );
}
