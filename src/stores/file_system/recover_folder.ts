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

  const run = dryRun ? findLeftovers : recoverFiles;
  await run(system, () => walk(folder), {
    finished({ folder }, { action, chunk }) {
      const keys = action === "delete" ? deleted : written;
      keys.add(`${folder as StoreKey}/${chunk}`);
    },
    removed(size) {
      temporary.files++;
      temporary.bytes += size;
    },
  }, signal);
  return { written: [...written], deleted: [...deleted], temporary };
}

/** The number of temporary files that are held open at the same time. */
const MOST_OPEN = 256;

/** A file that a writer may have left. */
type Leftover =
  | { readonly temporary: string }
  | { readonly journal: JournalPlace };

/** The callbacks of {@linkcode recoverFiles} and {@linkcode findLeftovers}. */
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
 * temporary files stay.
 *
 * @param list Lists what writers may have left.
 * @throws {AggregateError} If changes could not be finished.
 */
export async function recoverFiles(
  system: System,
  list: () => AsyncIterable<Leftover>,
  events: RecoveryEvents,
  signal?: AbortSignal,
): Promise<void> {
  const failures = new Failures(signal);
  while (true) {
    const dead = new Map<string, OpenFile>();
    try {
      for await (const found of list()) {
        signal?.throwIfAborted();
        if (dead.size === MOST_OPEN) break;
        if (!("temporary" in found)) continue;
        const file = await system.open(found.temporary);
        if (file === undefined) continue;
        try {
          // A lock may have been removed, and taken by another writer.
          if (
            await file.tryLock() &&
            isSameState(file.stat(), await system.stat(found.temporary))
          ) dead.set(found.temporary, file);
        } finally {
          if (!dead.has(found.temporary)) file.close();
        }
      }
      for await (const found of list()) {
        signal?.throwIfAborted();
        if ("temporary" in found) continue;
        const { journal } = found;
        await failures.collect(
          journal.path,
          () =>
            Journal.lock(journal, () => Promise.resolve(), {
              signal,
              onRecovery: (record) => events.finished(journal, record),
            }),
        );
      }
      failures.throwIfAny();
      for (const path of dead.keys()) {
        const state = await system.stat(path);
        if (state === undefined) continue;
        await system.remove(path);
        events.removed(state.size);
      }
    } finally {
      for (const file of dead.values()) file.close();
    }
    if (dead.size < MOST_OPEN) return;
  }
}

/** Collects the failures of journals, so that the others are looked at. */
class Failures {
  readonly #signal: AbortSignal | undefined;
  readonly #errors = new Map<string, unknown>();

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
  }

  async collect(path: string, task: () => Promise<void>): Promise<void> {
    try {
      await task();
    } catch (error) {
      this.#signal?.throwIfAborted();
      this.#errors.set(path, error);
    }
  }

  throwIfAny(): void {
    if (this.#errors.size === 0) return;
    const lines = [...this.#errors].map(([path, error]) => {
      const text = error instanceof Error ? error.message : String(error);
      return text.includes(path) ? text : `${path}: ${text}`;
    });
    throw new AggregateError(
      this.#errors.values(),
      `The changes of ${this.#errors.size} journal${
        this.#errors.size === 1 ? "" : "s"
      } could not be finished, so that all temporary files are kept; all other changes are finished: ${
        lines.join("; ")
      }`,
    );
  }
}

/**
 * Reports what `recoverFiles` would do, and changes nothing. Files of programs that are
 * writing are left out, since those programs hold locks on them.
 *
 * @param list Lists the files that writers may have left.
 * @throws {AggregateError} If journals could not be read.
 */
async function findLeftovers(
  system: System,
  list: () => AsyncIterable<Leftover>,
  events: RecoveryEvents,
  signal?: AbortSignal,
): Promise<void> {
  const temporary = new Map<string, number>();
  const needed = new Set<string>();
  const failures = new Failures(signal);
  for await (const found of list()) {
    signal?.throwIfAborted();
    if ("temporary" in found) {
      await lookInto(found.temporary, (file) => {
        temporary.set(found.temporary, file.size());
      });
      continue;
    }
    const { journal } = found;
    await failures.collect(
      journal.path,
      () =>
        lookInto(journal.path, async (file) => {
          const record = await readRecord(file, journal);
          if (record === undefined) return;
          events.finished(journal, record);
          const paths = new RecordPaths(journal);
          for (const [name] of namesOf(record).temporaries) {
            const path = await paths.find(name);
            if (path !== undefined) needed.add(path);
          }
        }),
    );
  }
  failures.throwIfAny();
  for (const [path, size] of temporary) {
    if (!needed.has(path)) events.removed(size);
  }

  /** Runs a task with a file, unless a program that is writing holds a lock on it. */
  async function lookInto(
    path: string,
    task: (file: OpenFile) => void | Promise<void>,
  ): Promise<void> {
    const file = await system.open(path);
    if (file === undefined) return;
    try {
      if (await file.tryLock()) await task(file);
    } finally {
      file.close();
    }
  }
}
