import { DamageError, sentence } from "../errors/mod.ts";
import type { ShardIndex } from "../shards/mod.ts";
import type {
  ByteRange,
  Store,
  StoreKey,
  StoreOptions,
} from "../stores/mod.ts";
import { type Archive, obstacleOf } from "./archive.ts";
import { headerEnd, type ListedEntry } from "./zip_directory.ts";
import { archiveOf, ZipStore } from "./zip_store.ts";
import {
  type Extent,
  LOCAL_SIGNATURE,
  MOST_32,
  viewOf,
} from "./zip_records.ts";

/** A difference between an entry and the directory of its archive. */
interface EntryProblem {
  /** Whether the local header of the entry differs, or its bytes. */
  readonly kind: "header" | "bytes";
  /** The key of the entry in the store. */
  readonly key: StoreKey;
  /** A sentence. */
  readonly message: string;
}

/** Which entries are compared, by their names, and whether their bytes are, too. */
interface ComparedEntries extends StoreOptions {
  readonly isSelected?: (name: string) => boolean;
  readonly withBytes?: boolean;
}

/**
 * Compares the entries of a zip with its directory: their local headers, as strict readers do,
 * and their bytes with their CRC-32. Of entries that later ones replace, nothing is read.
 */
export async function* wrongEntries(
  store: ZipStore,
  { isSelected, withBytes = true, ...options }: ComparedEntries = {},
): AsyncGenerator<EntryProblem> {
  for await (const located of entriesOf(store, options, isSelected)) {
    yield* problemsOf(store, located, withBytes, options);
  }
}

/** Yields how an entry contradicts the directory. */
async function* problemsOf(
  store: ZipStore,
  { key, entry, problem }: ReturnType<typeof locate>,
  withBytes: boolean,
  options: StoreOptions,
): AsyncGenerator<EntryProblem> {
  if (problem !== undefined) {
    yield { kind: "header", key, message: problem };
    return;
  }
  if (!withBytes || obstacleOf(entry) !== undefined) return;
  try {
    await archiveOf(store).use(options, async (archive) => {
      const size = archive.sizeOf(entry);
      for await (const _ of archive.pieces(entry, 0, size, options));
    });
  } catch (error) {
    if (!(error instanceof DamageError)) throw error;
    yield { kind: "bytes", key, message: error.message };
  }
}

/** A shard that may be a zip, as {@linkcode zipContainer} makes them. */
interface ZipShard {
  readonly store: Store;
  readonly key: StoreKey;
  readonly index: ShardIndex;
  /** The length of an adopted zip in bytes, if its record and its index are joined to it. */
  readonly fileSize?: number;
  /** Whether the shard must be a zip, and not only may be one. */
  readonly isExpected: boolean;
  /** Reads a range of the shard. */
  read(range: ByteRange): Promise<Uint8Array | undefined>;
}

/**
 * Compares the entries of a shard that is a zip with its directory, and with the index of
 * the shard. Nothing is found in other shards.
 */
export async function* zipShardProblems(
  { store, key, index, fileSize, isExpected, read }: ZipShard,
  options: StoreOptions,
): AsyncGenerator<Omit<EntryProblem, "key">> {
  const start = await read({ offset: 0, length: 4 });
  const isZip = start?.length === 4 &&
    viewOf(start).getUint32(0, true) === LOCAL_SIGNATURE &&
    !index.some((entry) => entry?.offset === 0);
  if (!isZip && !isExpected) return;
  const zip = new ZipStore(
    fileSize === undefined ? store : storeOfStart(read, fileSize),
    key,
  );
  try {
    const ends = new Set<string>();
    for await (const found of entriesOf(zip, options)) {
      const obstacle = obstacleOf(found.entry);
      if (obstacle !== undefined) {
        const { name } = found.entry;
        const message = sentence`Entry ${name} of ${key} ` + obstacle;
        yield { kind: "header", message };
      }
      ends.add(`${found.offset} ${found.entry.storedSize}`);
      yield* problemsOf(zip, found, true, options);
    }
    const other = index.findIndex((entry) =>
      entry !== undefined && !ends.has(`${entry.offset} ${entry.length}`)
    );
    if (other >= 0) {
      yield {
        kind: "header",
        message:
          sentence`Inner chunk ${other} of ${key} is no entry of the zip that its shard is`,
      };
    }
  } catch (error) {
    if (!(error instanceof DamageError)) throw error;
    yield { kind: "header", message: error.message };
  }
}

/** Shows the first bytes of a shard as the value of any key. */
function storeOfStart(read: ZipShard["read"], size: number): Store {
  const getRange = async (_: StoreKey, range: ByteRange) => {
    const start = "offset" in range
      ? Math.min(range.offset, size)
      : Math.max(0, size - range.suffixLength);
    const length = "offset" in range ? range.length : size;
    return await read({
      offset: start,
      length: Math.min(length, size - start),
    });
  };
  return {
    get: (key) => getRange(key, { offset: 0, length: size }),
    getRange,
    size: () => Promise.resolve(size),
  };
}

/** The number of entries whose headers are read in one state of the archive. */
const ENTRIES_AT_ONCE = 4096;

/** Reads the local headers of the entries of an archive, in the order of the file for some thousands. */
async function* entriesOf(
  store: ZipStore,
  options: StoreOptions,
  isSelected: (name: string) => boolean = () => true,
): AsyncGenerator<ReturnType<typeof locate>> {
  const all = await archiveOf(store)
    .use(options, ({ entries }) => [...entries.names()]);
  const names = all.filter(isSelected);
  for (let at = 0; at < names.length; at += ENTRIES_AT_ONCE) {
    yield* await archiveOf(store).use(options, async (archive) => {
      const entries = names.slice(at, at + ENTRIES_AT_ONCE)
        .map((name) => archive.entries.get(name)!);
      const located: ReturnType<typeof locate>[] = [];
      for await (const { entry, header } of archive.headers(entries, options)) {
        located.push(locate(archive, entry, header));
      }
      return located;
    });
  }
}

/**
 * Finds where the bytes of an entry begin in the file, unless it has no such header, and says
 * in a sentence how its local header differs from the directory.
 */
function locate(archive: Archive, entry: ListedEntry, header: Uint8Array) {
  const key = archive.keyOf(entry);
  try {
    const offset = archive.startOf(entry, header);
    const problem = contradiction(archive, entry, header);
    return { key, entry, offset, problem };
  } catch (error) {
    if (!(error instanceof DamageError)) throw error;
    return { key, entry, offset: undefined, problem: error.message };
  }
}

/** The flag of entries whose CRC-32 and lengths follow their bytes. */
const HAS_DESCRIPTOR = 1 << 3;

/** Compares the numbers of a local header with those of the directory. */
function contradiction(
  archive: Archive,
  entry: ListedEntry,
  header: Uint8Array,
): string | undefined {
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
    ).message;
  }
}

/** An entry that is stored as it is. */
export interface StoredEntry {
  readonly name: string;
  /** Its bytes in the file. */
  readonly extent: Extent;
}

/**
 * Finds entries that are stored as they are.
 *
 * @throws {RangeError} If an entry is compressed or encrypted, or several have one name.
 * @throws {DamageError} If a local header contradicts the directory.
 */
export async function storedEntries(
  store: ZipStore,
  keys: readonly StoreKey[],
  options: StoreOptions = {},
): Promise<StoredEntry[]> {
  return await archiveOf(store).use(options, async (archive) => {
    const entries = keys.map((key) => archive.find(key)!);
    for (const entry of entries) archive.assertStored(entry);
    const offsets = new Map<ListedEntry, number>();
    const toRead = entries.filter(({ slack }) => slack > 0);
    for await (const { entry, header } of archive.headers(toRead, options)) {
      offsets.set(entry, archive.startOf(entry, header));
    }
    return entries.map((entry) => ({
      name: entry.name,
      extent: {
        offset: offsets.get(entry) ?? headerEnd(entry),
        length: entry.storedSize,
      },
    }));
  });
}
