import { mayBePart, type RecoverOptions, type Recovery } from "../recover.ts";
import type { StoreKey } from "../store.ts";
import { assertStoreKey, isJournal, isTemporary } from "../store_key.ts";
import { type JournalRecord, namesOf } from "./change_record.ts";
import {
  Journal,
  type JournalPlace,
  readRecord,
  RecordPaths,
} from "./journal.ts";
import type { FileSystemRoot } from "./root.ts";
import { isSameState, type OpenFile, type System } from "./system.ts";

/** Finishes the changes of killed writers in a folder and in all folders below it, and removes their temporary files. */
export async function recoverFolder(
  context: Pick<JournalPlace, "system" | "isSynced"> & {
    readonly root: FileSystemRoot;
  },
  { path = "", signal, dryRun = false, isPart = mayBePart }: RecoverOptions,
): Promise<Recovery> {
  const { root, system } = context;
  const names = path.replace(/^\/|\/$/g, "");
  const folder = names === "" ? "" : `/${names}`;
  if (folder !== "") assertStoreKey(folder);
  root.assertFolder();
  const written = new Set<StoreKey>();
  const deleted = new Set<StoreKey>();
  const temporary = { files: 0, bytes: 0 };

  async function* walk(folder: string): AsyncGenerator<Leftover> {
    signal?.throwIfAborted();
    const path = root.follow(folder);
    if (path === undefined) return;
    for await (
      const { name, isDirectory, isFile } of root.entries(path)
    ) {
      if (isDirectory) yield* walk(`${folder}/${name}`);
      if (!isFile || !isTemporary(name)) continue;
      const leftover = `${path}/${name}`;
      if (!isJournal(name)) yield { temporary: leftover };
      else yield { journal: { ...context, folder, path: leftover, isPart } };
    }
  }

  await recoverFiles(system, () => walk(folder), {
    finished({ folder }, { action, chunk }) {
      const keys = action === "delete" ? deleted : written;
      keys.add(`${folder as StoreKey}/${chunk}`);
    },
    removed(size) {
      temporary.files++;
      temporary.bytes += size;
    },
  }, { signal, dryRun });
  return { written: [...written], deleted: [...deleted], temporary };
}

/** The number of temporary files that are held open at the same time. */
const MOST_OPEN = 256;

/** A file that a writer may have left. */
type Leftover =
  | { readonly temporary: string }
  | { readonly journal: JournalPlace };

/** The callbacks of {@linkcode recoverFiles}. */
interface RecoveryEvents {
  /** Called when the change that a killed writer had begun is finished. */
  finished(journal: JournalPlace, record: JournalRecord): void;
  /** Called when the temporary file of a killed writer is removed, with its length in bytes. */
  removed(size: number): void;
}

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
  system: System,
  list: () => AsyncIterable<Leftover>,
  events: RecoveryEvents,
  { signal, dryRun = false }: {
    signal?: AbortSignal | undefined;
    dryRun?: boolean;
  } = {},
): Promise<void> {
  while (true) {
    const dead = new Map<string, OpenFile | undefined>();
    const needed = new Set<string>();
    const failures = new Map<string, unknown>();
    try {
      for await (const found of list()) {
        signal?.throwIfAborted();
        if (dead.size === MOST_OPEN && !dryRun) break;
        if (!("temporary" in found)) continue;
        const path = found.temporary;
        const file = await lockDead(system, path);
        if (file === undefined) continue;
        dead.set(path, dryRun ? undefined : file);
        if (dryRun) file.close();
      }
      for await (const found of list()) {
        signal?.throwIfAborted();
        if ("temporary" in found) continue;
        const { journal } = found;
        try {
          if (dryRun) {
            const record = await readLeft(journal, needed);
            if (record !== undefined) events.finished(journal, record);
          } else {
            await Journal.lock(journal, () => Promise.resolve(), {
              signal,
              onRecovery: (record) => events.finished(journal, record),
            });
          }
        } catch (error) {
          signal?.throwIfAborted();
          failures.set(journal.path, error);
        }
      }
      assertNone(failures);
      for (const path of dead.keys()) {
        const state = await system.stat(path);
        if (state === undefined || needed.has(path)) continue;
        if (!dryRun) await system.remove(path);
        events.removed(state.size);
      }
    } finally {
      for (const file of dead.values()) file?.close();
    }
    if (dryRun || dead.size < MOST_OPEN) return;
  }
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

/** Reads the record that a killed writer has left. Adds the paths of the temporary files that it names to `needed`. */
async function readLeft(
  journal: JournalPlace,
  needed: Set<string>,
): Promise<JournalRecord | undefined> {
  const file = await lockDead(journal.system, journal.path);
  if (file === undefined) return undefined;
  try {
    const record = await readRecord(file, journal);
    const paths = new RecordPaths(journal);
    for (const [name] of record ? namesOf(record).temporaries : []) {
      const path = await paths.find(name);
      if (path !== undefined) needed.add(path);
    }
    return record;
  } finally {
    file.close();
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
