import type { StoreKey } from "../store.ts";

const PREFIX = ".zarr-parts-tmp-";

/** The key of the journal of a chunk, beside the chunk. */
export async function journalKey(key: StoreKey): Promise<StoreKey> {
  const bytes = new TextEncoder().encode(key);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const name = Array.from(
    hash.subarray(0, 16),
    (byte) => byte.toString(16).padStart(2, "0"),
  ).join("");
  const folder = key.slice(0, key.lastIndexOf("/") + 1);
  return `${folder}${PREFIX}journal-${name}` as StoreKey;
}

/** A key that no value has, for a value that is stored for a moment. */
export function probeKey(): StoreKey {
  return `/${PREFIX}probe-${crypto.randomUUID()}`;
}

/** Whether a key is that of a journal, or of another value that only this package uses. */
export function isTemporaryKey(key: string): boolean {
  return key.slice(key.lastIndexOf("/") + 1).startsWith(PREFIX);
}

/** Whether a key is that of a journal. */
export function isJournalKey(key: string): boolean {
  return key.slice(key.lastIndexOf("/") + 1).startsWith(`${PREFIX}journal-`);
}
