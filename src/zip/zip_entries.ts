import { assertSizeLimit, describe } from "../errors/mod.ts";
import { runConcurrently } from "../runtime/mod.ts";
import {
  type GetOptions,
  keyProblem,
  type Store,
  type StoreKey,
} from "../stores/mod.ts";
import { decodeName, EntryTable, type ListedEntry } from "./entry_table.ts";
import { readZipDirectory } from "./zip_directory.ts";
import {
  damaged,
  type Extent,
  LOCAL_SIGNATURE,
  LOCAL_SIZE,
  viewOf,
  type ZipFile,
} from "./zip_records.ts";

/** Local headers with at most this many bytes between them are read by one request. */
const LARGEST_GAP = 32 * 1024;
/** The most bytes that are read at once for local headers, unless one is longer. */
const LARGEST_READ = 1024 * 1024;
/** The number of requests for local headers at the same time. */
const READS_AT_ONCE = 8;

/** The entries of a zip as a read-only store, whose keys are the names after `/`. */
export class ZipEntries implements Store {
  readonly #file: ZipFile;
  readonly #entries: EntryTable;

  private constructor(file: ZipFile, entries: EntryTable) {
    this.#file = file;
    this.#entries = entries;
  }

  /**
   * Reads the central directory of a zip.
   *
   * @throws {DamageError} If the file is not a zip, is damaged, or has entries that overlap.
   */
  static async open(file: ZipFile): Promise<ZipEntries> {
    const directory = await readZipDirectory(file);
    return new ZipEntries(file, new EntryTable(file, directory));
  }

  /** Returns the bytes of an entry. */
  async get(
    key: StoreKey,
    options: GetOptions = {},
  ): Promise<Uint8Array | undefined> {
    const [extent] = await this.extents([key]);
    if (extent === undefined) return undefined;
    assertSizeLimit(key, options.limit, extent.length);
    return await this.#file.read(extent);
  }

  /** Returns the CRC-32 of an entry in the directory; `undefined` without the entry. */
  checksum(key: StoreKey): number | undefined {
    return this.#entries.get(key.slice(1))?.checksum;
  }

  /** An entry whose name has a backslash, as some programs for Windows write instead of `/`. */
  get backslashed(): string | undefined {
    for (const name of this.#entries.names()) {
      if (name.includes("\\")) return name;
    }
    return undefined;
  }

  /** Lists the entries, without those that are folders. */
  async *list(prefix: StoreKey = "/"): AsyncGenerator<StoreKey> {
    for (const name of this.#entries.names()) {
      const key: StoreKey = `/${name}`;
      if (key.startsWith(prefix) && keyProblem(name) === undefined) yield key;
    }
  }

  /**
   * The extents of entries in the file; `undefined` for keys without an entry.
   *
   * @throws {RangeError} If an entry is compressed or encrypted, or there are two of
   * one name.
   * @throws {DamageError} If a local header contradicts the central directory.
   */
  async extents(keys: readonly StoreKey[]): Promise<(Extent | undefined)[]> {
    const entries = keys.map((key) => this.#entries.get(key.slice(1)));
    for (const entry of entries) if (entry) this.#assertStored(entry);
    const headers = await this.#localExtras(
      entries.filter((entry) => entry !== undefined)
        .filter(({ slack }) => slack > 0),
    );
    return entries.map((entry) =>
      entry && {
        offset: entry.offset + LOCAL_SIZE + entry.nameSize +
          (headers.get(entry) ?? 0),
        length: entry.storedSize,
      }
    );
  }

  toString(): string {
    return `zip ${describe(this.#file.key)}`;
  }

  #assertStored(
    { name, method, flags, size, storedSize }: ListedEntry,
  ) {
    const problem = this.#entries.isTwice(name)
      ? `twice: write the file again, with each entry once`
      : (flags & 1) !== 0
      ? `encrypted: unpack the file, and pack it by zip -0 without a password`
      : method !== 0
      ? `compressed by ${
        method === 8 ? "deflate" : `method ${method}`
      }: unpack the file, and pack it by zip -0, since only bytes that are stored as they are can be inner chunks`
      : undefined;
    if (problem !== undefined) {
      throw new RangeError(
        `File ${describe(this.#file.key)} has the entry ${
          describe(name)
        } ${problem}`,
      );
    }
    if (size === storedSize) return;
    throw damaged(
      this.#file,
      `has an entry ${
        describe(name)
      } that is stored as it is, with ${storedSize} bytes of ${size}`,
    );
  }

  /** Reads the lengths of the extra fields in local headers, neighbouring ones by one request. */
  async #localExtras(
    entries: readonly ListedEntry[],
  ): Promise<Map<ListedEntry, number>> {
    const lengths = new Map<ListedEntry, number>();
    const groups = groupsOf(entries);
    await runConcurrently(groups, READS_AT_ONCE, async (group) => {
      const { offset } = group[0]!;
      const length = headerEnd(group.at(-1)!) - offset;
      const bytes = await this.#file.read({ offset, length });
      for (const entry of group) {
        const header = bytes.subarray(
          entry.offset - offset,
          headerEnd(entry) - offset,
        );
        lengths.set(entry, localExtraSize(this.#file, entry, header));
      }
    });
    return lengths;
  }
}

/**
 * Checks a local header up to the name, and returns the length of the extra field after the
 * name.
 *
 * @param header The bytes of the header and the name.
 * @throws {DamageError} If the header contradicts the central directory.
 */
export function localExtraSize(
  file: Pick<ZipFile, "key">,
  entry: ListedEntry,
  header: Uint8Array,
): number {
  const view = viewOf(header);
  const name = header.subarray(LOCAL_SIZE);
  const extraSize = view.getUint16(28, true);
  const isHeader = view.getUint32(0, true) === LOCAL_SIGNATURE &&
    view.getUint16(8, true) === entry.method &&
    view.getUint16(26, true) === entry.nameSize &&
    decodeName(name, entry.flags) === entry.headerName;
  if (isHeader && extraSize <= entry.slack) return extraSize;
  throw damaged(
    file,
    `has no header of the entry ${
      describe(entry.name)
    } at ${entry.offset}, the offset in its directory: it was changed after it was written`,
  );
}

/** The offset after the name in the local header of an entry. */
export function headerEnd({ offset, nameSize }: ListedEntry): number {
  return offset + LOCAL_SIZE + nameSize;
}

/** Puts entries together whose local headers are close to each other. */
function groupsOf(entries: readonly ListedEntry[]): ListedEntry[][] {
  const groups: ListedEntry[][] = [];
  for (const entry of entries.toSorted((a, b) => a.offset - b.offset)) {
    const group = groups.at(-1);
    const isClose = group !== undefined &&
      entry.offset - headerEnd(group.at(-1)!) <= LARGEST_GAP &&
      headerEnd(entry) - group[0]!.offset <= LARGEST_READ;
    if (isClose) group.push(entry);
    else groups.push([entry]);
  }
  return groups;
}
