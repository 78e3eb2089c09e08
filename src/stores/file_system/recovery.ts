import type { Files, OpenFile } from "./files.ts";
import { Journal, type JournalPlace } from "./journal.ts";
import type { JournalRecord } from "./journal_record.ts";

/** The number of temporary files that are held open at the same time. */
const MOST_OPEN = 256;

/** A file that a writer may have left. */
export type Leftover =
  | { readonly temporary: string }
  | { readonly journal: JournalPlace };

/** The functions that {@linkcode recoverFiles} reports its work to. */
export interface RecoveryEvents {
  /** A change that a killed writer had begun is finished. */
  finished(journal: JournalPlace, record: JournalRecord): void;
  /** A temporary file of a killed writer is removed, of a length in bytes. */
  removed(path: string, size: number): void;
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
  files: Files,
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
        const file = await files.open(found.temporary);
        if (file === undefined) continue;
        try {
          if (await file.tryLock()) dead.set(found.temporary, file);
        } finally {
          if (!dead.has(found.temporary)) await file.close();
        }
      }
      for await (const found of list()) {
        signal?.throwIfAborted();
        if ("temporary" in found) continue;
        const { journal } = found;
        const finished = (record: JournalRecord) =>
          events.finished(journal, record);
        await failures.collect(journal, () =>
          Journal.lock(
            files,
            journal,
            () => Promise.resolve(),
            signal,
            finished,
          ));
      }
      failures.throwIfAny();
      for (const path of dead.keys()) {
        const state = await files.stat(path);
        if (state === undefined) continue;
        await files.remove(path);
        events.removed(path, state.size);
      }
    } finally {
      for (const file of dead.values()) await file.close();
    }
    if (dead.size < MOST_OPEN) return;
  }
}

/** Collects the failures of journals, so that the others are looked at. */
export class Failures {
  readonly #signal: AbortSignal | undefined;
  readonly #errors = new Map<string, unknown>();

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
  }

  async collect(
    { path }: JournalPlace,
    task: () => Promise<void>,
  ): Promise<void> {
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
