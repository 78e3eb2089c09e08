import { splitPath } from "../key_path.ts";
import type { StoreKey } from "../store.ts";
import {
  isJournal,
  isProbe,
  isTemporary,
  journalName,
} from "../temporary_name.ts";

/** The key of the journal of a chunk, beside the chunk. */
export async function journalKey(key: StoreKey): Promise<StoreKey> {
  const { folder, name } = splitPath(key);
  return `${folder}/${await journalName(name)}` as StoreKey;
}

/** Whether a key is that of a journal, or of another value that only this package uses. */
export function isTemporaryKey(key: StoreKey): boolean {
  return isTemporary(splitPath(key).name);
}

/** Whether a key is that of a journal. */
export function isJournalKey(key: StoreKey): boolean {
  return isJournal(splitPath(key).name);
}

/** Whether a key is that of an object that a program removes again at once. */
export function isProbeKey(key: StoreKey): boolean {
  return isProbe(splitPath(key).name);
}
