import type { DamageError } from "../errors/mod.ts";
import type { StoreKey, StoreOptions } from "../stores/mod.ts";
import type { Archive } from "./archive.ts";
import { headerEnd, type ListedEntry } from "./entry_table.ts";
import { archiveOf, type ZipStore } from "./zip_store.ts";
import { type Extent, MOST_32, viewOf } from "./zip_records.ts";

/** A difference between an archive and its directory. */
export interface EntryProblem {
  /** The key of the entry in the store. */
  readonly key: StoreKey;
  /** A sentence. */
  readonly message: string;
}

/** The number of entries whose headers are read one after another. */
const ENTRIES_AT_ONCE = 4096;

/**
 * Compares the local headers of an archive with its directory, as strict readers do. Of
 * entries that later ones replace, nothing is read.
 *
 * @param isSelected Which entries are compared.
 */
export async function* wrongHeaders(
  store: ZipStore,
  options: StoreOptions = {},
  isSelected: (key: StoreKey) => boolean = () => true,
): AsyncGenerator<EntryProblem> {
  const names = await archiveOf(store)
    .use(options, ({ entries }) => entries.names());
  let found: string[] = [];
  for (const name of names) {
    if (isSelected(`/${name}`)) found.push(name);
    if (found.length < ENTRIES_AT_ONCE) continue;
    yield* await problemsOf(store, found, options);
    found = [];
  }
  yield* await problemsOf(store, found, options);
}

async function problemsOf(
  store: ZipStore,
  names: readonly string[],
  options: StoreOptions,
): Promise<EntryProblem[]> {
  return await archiveOf(store).use(options, async (archive) => {
    const problems: EntryProblem[] = [];
    const entries = names.map((name) => archive.entries.get(name)!);
    for await (const found of archive.headers(entries, options)) {
      const message = "error" in found
        ? found.error.message
        : contradiction(archive, found.entry, found.header)?.message;
      const key = archive.keyOf(found.entry);
      if (message !== undefined) problems.push({ key, message });
    }
    return problems;
  });
}

/** The flag of entries whose CRC-32 and lengths follow their bytes. */
const HAS_DESCRIPTOR = 1 << 3;

/** Compares the numbers of a local header with those of the directory. */
function contradiction(
  archive: Archive,
  entry: ListedEntry,
  header: Uint8Array,
): DamageError | undefined {
  const view = viewOf(header);
  if ((view.getUint16(6, true) & HAS_DESCRIPTOR) !== 0) return undefined;
  const numbers = [
    ["CRC-32", view.getUint32(14, true), entry.checksum],
    ["stored length", view.getUint32(18, true), entry.storedSize],
    ["length", view.getUint32(22, true), entry.size],
  ] as const;
  for (const [what, found, expected] of numbers) {
    // The lengths of long entries are in an extra field.
    if (found === expected || what !== "CRC-32" && found === MOST_32) continue;
    return archive.damaged(
      entry,
      `has the ${what} ${found} in its local header, where the directory says ${expected}: it was changed after it was written; get the archive again`,
    );
  }
}

/** The bytes of an entry in the file. */
export interface StoredExtent {
  readonly extent: Extent;
  /** The CRC-32 of the entry in the directory. */
  readonly checksum: number;
}

/**
 * Finds where entries lie that are stored as they are.
 *
 * @throws {RangeError} If an entry is compressed or encrypted, or several have one name.
 * @throws {DamageError} If a local header contradicts the directory.
 */
export async function storedExtents(
  store: ZipStore,
  keys: readonly StoreKey[],
  options: StoreOptions = {},
): Promise<StoredExtent[]> {
  return await archiveOf(store).use(options, async (archive) => {
    const entries = keys.map((key) => archive.find(key)!);
    for (const entry of entries) archive.assertStored(entry);
    const offsets = new Map<ListedEntry, number>();
    const toRead = entries.filter(({ slack }) => slack > 0);
    for await (const found of archive.headers(toRead, options)) {
      if ("error" in found) throw found.error;
      offsets.set(found.entry, found.offset);
    }
    return entries.map((entry) => ({
      extent: {
        offset: offsets.get(entry) ?? headerEnd(entry),
        length: entry.storedSize,
      },
      checksum: entry.checksum,
    }));
  });
}
