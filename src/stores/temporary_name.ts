import { digestOf } from "./digest.ts";

const TEMPORARY = ".zarr-parts-tmp-";

/** Whether a name is that of a temporary file. */
export function isTemporary(name: string): boolean {
  return name.startsWith(TEMPORARY);
}

/** Refuses a key with a name that is reserved for temporary files. */
export function assertNotTemporary(key: string): void {
  if (!key.includes(`/${TEMPORARY}`)) return;
  throw new RangeError(
    `Key ${
      JSON.stringify(key)
    } has a name that starts with "${TEMPORARY}": such names are for temporary files`,
  );
}

/** A new path in a folder for a temporary file. */
export function temporaryPath(folder: string): string {
  return `${folder}/${TEMPORARY}${crypto.randomUUID()}`;
}

/** The name of the file that the run of a conversion in place locks, in the folder of the node. */
export const IN_PLACE_LOCK: string = `${TEMPORARY}in-place`;

const PROBE = `${TEMPORARY}probe-`;

/** A new name for a value by which a program asks what a store can do, and which it removes at once. */
export function probeName(): string {
  return PROBE + crypto.randomUUID();
}

/** Whether the name of a temporary value is that of a probe. */
export function isProbe(name: string): boolean {
  return name.startsWith(PROBE);
}

const JOURNAL = `${TEMPORARY}journal-`;
/** The longest name of a chunk that its journal has whole, in characters. */
const LONGEST_NAME = 50;

/**
 * The name of the journal of a chunk, in the folder of the chunk key. It depends on the
 * last segment of the key alone, so that stores with different roots have the same one.
 */
export async function journalName(name: string): Promise<string> {
  if (name.length <= LONGEST_NAME) return JOURNAL + name;
  const digest = await digestOf(new TextEncoder().encode(name));
  return `${JOURNAL}${name.slice(0, LONGEST_NAME)}-${digest}`;
}

/** Whether the name of a temporary file is that of a journal. */
export function isJournal(name: string): boolean {
  return name.startsWith(JOURNAL);
}
