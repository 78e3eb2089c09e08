import type { Files, OpenFile } from "./files.ts";
import { readRecord } from "./journal.ts";
import { Failures, type Leftover, type RecoveryEvents } from "./recovery.ts";

/**
 * Reports what `recoverFiles` would do, and changes nothing. Files of programs that are
 * writing are left out, since those programs hold locks on them.
 *
 * @param list Lists the files that writers may have left.
 * @throws {AggregateError} If journals could not be read.
 */
export async function findLeftovers(
  files: Files,
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
      await lookInto(found.temporary, async (file) => {
        temporary.set(found.temporary, await file.size());
      });
      continue;
    }
    const { journal } = found;
    await failures.collect(
      journal,
      () =>
        lookInto(journal.path, async (file) => {
          const record = await readRecord(file, journal.path);
          if (record === undefined) return;
          events.finished(journal, record);
          if (record.action === "delete") return;
          for (const [name] of record.files) {
            const path = await journal.find(name);
            if (path !== undefined) needed.add(path);
          }
        }),
    );
  }
  failures.throwIfAny();
  for (const [path, size] of temporary) {
    if (!needed.has(path)) events.removed(path, size);
  }

  /** Runs a task with a file, unless a program that is writing holds a lock on it. */
  async function lookInto(
    path: string,
    task: (file: OpenFile) => Promise<void>,
  ): Promise<void> {
    const file = await files.open(path);
    if (file === undefined) return;
    try {
      if (await file.tryLock()) await task(file);
    } finally {
      file.close();
    }
  }
}
