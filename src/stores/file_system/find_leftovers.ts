import type { Files } from "./files.ts";
import { decodeRecord } from "./journal_record.ts";
import type { Leftover, RecoveryEvents } from "./recovery.ts";

/**
 * Reports what `recoverFiles` would do, and changes nothing. Files of programs that are
 * writing are left out, since those programs hold locks on them.
 *
 * @param list Lists the files that writers may have left.
 */
export async function findLeftovers(
  files: Files,
  list: () => AsyncIterable<Leftover>,
  events: RecoveryEvents,
  signal?: AbortSignal,
): Promise<void> {
  const temporary = new Map<string, number>();
  const needed = new Set<string>();
  for await (const found of list()) {
    signal?.throwIfAborted();
    const path = "temporary" in found ? found.temporary : found.journal.path;
    const file = await files.open(path);
    if (file === undefined) continue;
    try {
      if (!await file.tryLock()) continue;
      if ("temporary" in found) {
        temporary.set(path, await file.size());
        continue;
      }
      const record = decodeRecord(await file.contents());
      if (record === undefined) continue;
      events.finished(found.journal, record);
      if (record.action === "delete") continue;
      for (const [name] of record.files) {
        const path = await found.journal.find(name);
        if (path !== undefined) needed.add(path);
      }
    } finally {
      file.close();
    }
  }
  for (const [path, size] of temporary) {
    if (!needed.has(path)) events.removed(path, size);
  }
}
