import { crc32 } from "../checksum/mod.ts";
import { type DamageError, sentence } from "../errors/mod.ts";
import type { Snapshot, StoreKey } from "../stores/mod.ts";
import {
  CENTRAL_SIGNATURE,
  CENTRAL_SIZE,
  damaged,
  END_64_SIGNATURE,
  END_64_SIZE,
  END_MARK,
  END_SIZE,
  type Extent,
  EXTRA_SIZE,
  LOCAL_SIGNATURE,
  LOCAL_SIZE,
  LOCATOR_SIGNATURE,
  LOCATOR_SIZE,
  MOST_16,
  MOST_32,
  readNumber,
  UTF_8,
  viewOf,
  ZIP_64,
  type ZipFile,
} from "./zip_records.ts";

/** The central directory of a zip, as it is stored. */
export interface StoredDirectory {
  readonly bytes: Uint8Array;
  /** The offset of the directory in the file, where the bytes of entries end. */
  readonly start: number;
  /** The number of entries in the last record. */
  readonly count: number;
  /** The comment of the zip. */
  readonly comment: Uint8Array;
}

/**
 * Reads the central directory of a zip, by one or two requests.
 *
 * @throws {DamageError} If the file is not a zip, was cut, has bytes before or after the
 * zip, or is one of several volumes.
 */
export async function readZipDirectory(
  file: ZipFile,
): Promise<StoredDirectory> {
  const end = await findEnd(file);
  const { start, size, count, comment } = end;
  const before = end.recordsAt - start - size;
  if (before !== 0) {
    throw damaged(
      file,
      before > 0
        ? `has ${before} bytes before the zip, which its offsets do not count: remove them, or run zip -A`
        : `has a directory of ${size} bytes from ${start} on, where its last records start at ${end.recordsAt}: it was cut, or changed after it was written`,
    );
  }
  if (size < count * CENTRAL_SIZE || size > count * LARGEST_ENTRY) {
    throw damaged(
      file,
      `has a directory of ${size} bytes, which does not fit the ${count} entries of its last record`,
    );
  }
  if (size > LARGEST_DIRECTORY) {
    throw damaged(
      file,
      `has a directory of ${size} bytes, more than the ${LARGEST_DIRECTORY} that can be read`,
    );
  }
  const bytes = await readFrom(file, { offset: start, length: size });
  return { bytes, start, count, comment };
}

/** The longest directory that is read, in bytes: that of some ten million entries. */
const LARGEST_DIRECTORY = 2 ** 30;
/** The most bytes of an entry in the directory, with name, extra fields and comment. */
const LARGEST_ENTRY = CENTRAL_SIZE + 3 * MOST_16;
/** The most bytes from the last record to the end of a zip. */
const LONGEST_END = END_SIZE + MOST_16;
/** The number of bytes that are read first, from the end: enough for some hundred entries. */
const FIRST_READ = LONGEST_END + 2 ** 16;

/**
 * Opens a file by its last bytes, which hold all records after the directory.
 *
 * @returns The file; `undefined` if the key has no value.
 * @throws {DamageError} If the file is changed while it is read.
 */
export async function openZipFile(
  values: Pick<Snapshot, "read" | "size">,
  key: StoreKey,
): Promise<ZipFile | undefined> {
  const tail = await values.read(key, { suffixLength: FIRST_READ });
  if (tail === undefined) return undefined;
  const size = tail.length < FIRST_READ
    ? tail.length
    : await values.size(key) ?? 0;
  const file = {
    key,
    size,
    tail,
    async read(range: Extent) {
      if (range.length === 0) return new Uint8Array();
      return wholeRange(file, range, await values.read(key, range));
    },
  };
  if (size >= tail.length) return file;
  throw damaged(file, "was changed while it was read");
}

/** Refuses the bytes of a range if they are not all there. */
export function wholeRange(
  file: Pick<ZipFile, "key">,
  { offset, length }: Extent,
  bytes: Uint8Array | undefined,
): Uint8Array {
  const found = bytes?.length ?? 0;
  if (bytes !== undefined && found === length) return bytes;
  throw damaged(
    file,
    `has ${found} bytes of ${length} from ${offset} on: it was changed while it was read`,
  );
}

/** Returns bytes of the tail, or reads bytes that come before the tail. */
async function readFrom(
  file: ZipFile,
  { offset, length }: Extent,
): Promise<Uint8Array> {
  const at = offset - (file.size - file.tail.length);
  if (at >= 0) return file.tail.subarray(at, at + length);
  return await file.read({ offset, length });
}

/** The place and the length of the central directory, by the last records of the archive. */
interface ZipEnd {
  readonly count: number;
  readonly start: number;
  readonly size: number;
  /** The offset of the first record after the central directory. */
  readonly recordsAt: number;
  readonly comment: Uint8Array;
}

/**
 * Finds the last records of a zip.
 *
 * @throws {DamageError} If there are none, several, or those of one of several volumes.
 */
async function findEnd(file: ZipFile): Promise<ZipEnd> {
  const bytes = file.tail;
  const tailAt = file.size - bytes.length;
  const view = viewOf(bytes);
  // Programs that write to a pipe may fill up their last block with zeros.
  let last = bytes.length;
  while (last > 0 && bytes[last - 1] === 0) last--;
  const found: number[] = [];
  for (let at = last - END_MARK.length; at >= last - LONGEST_END; at--) {
    if (at < 0) break;
    if (!END_MARK.every((byte, i) => bytes[at + i] === byte)) continue;
    const end = at + END_SIZE <= bytes.length
      ? at + END_SIZE + view.getUint16(at + 20, true)
      : Infinity;
    if (end >= last && end <= bytes.length) found.push(at);
  }
  const [at] = found;
  if (at === undefined) {
    throw damaged(
      file,
      "does not end with the last record of a zip: it is not a zip, was cut, or has bytes after the zip",
    );
  }
  if (found.length > 1) {
    throw damaged(
      file,
      "has several records that could be the last one of the zip: write it without a comment",
    );
  }
  const [disk, firstDisk, onDisk, count] = [4, 6, 8, 10].map((field) =>
    view.getUint16(at + field, true)
  ) as [number, number, number, number];
  const size = view.getUint32(at + 12, true);
  const start = view.getUint32(at + 16, true);
  const commentAt = at + END_SIZE;
  const comment = bytes
    .subarray(commentAt, commentAt + view.getUint16(at + 20, true));
  const locatorAt = at - LOCATOR_SIZE;
  const hasLocator = locatorAt >= 0 &&
    view.getUint32(locatorAt, true) === LOCATOR_SIGNATURE;
  if (hasLocator) {
    const end64At = readNumber(view, locatorAt + 8, file);
    const end = await readEnd64(file, end64At, tailAt + locatorAt);
    return { ...end, comment };
  }
  if (count === MOST_16 || size === MOST_32 || start === MOST_32) {
    throw damaged(file, "lacks the records of zip64, which it refers to");
  }
  if (disk !== 0 || firstDisk !== 0 || onDisk !== count) throw volumes(file);
  return { count, start, size, recordsAt: tailAt + at, comment };
}

async function readEnd64(
  file: ZipFile,
  offset: number,
  locatorAt: number,
): Promise<Omit<ZipEnd, "comment">> {
  const isBefore = offset + END_64_SIZE <= locatorAt;
  const bytes = isBefore
    ? await readFrom(file, { offset, length: END_64_SIZE })
    : new Uint8Array(END_64_SIZE);
  const view = viewOf(bytes);
  if (view.getUint32(0, true) !== END_64_SIGNATURE) {
    throw damaged(
      file,
      `has no record of zip64 at ${offset}, where it should be: it was cut, or has bytes before the zip`,
    );
  }
  // The size in the record counts neither itself nor the signature.
  const isWhole = offset + 12 + readNumber(view, 4, file) === locatorAt;
  const [onDisk, count, size, start] = [24, 32, 40, 48].map((at) =>
    readNumber(view, at, file)
  ) as [number, number, number, number];
  const disks = [view.getUint32(16, true), view.getUint32(20, true)];
  if (!isWhole || disks.some((disk) => disk !== 0) || onDisk !== count) {
    throw volumes(file);
  }
  return { count, start, size, recordsAt: offset };
}

function volumes(file: ZipFile): DamageError {
  return damaged(
    file,
    "is one of several volumes, or has records of zip64 with more than their numbers: join it by zip -s 0",
  );
}

/** An entry as the central directory lists it, and the room around its bytes. */
export interface ListedEntry {
  /** The number of the entry in the directory, from 0. */
  readonly index: number;
  readonly name: string;
  /** The name as headers have it: another one than `name` if there is an extra field with the name, or `./` before it. */
  readonly headerName: string;
  /** The length of the name in the headers, in bytes. */
  readonly nameSize: number;
  /** The version of the format that is needed, times 10. */
  readonly version: number;
  /** The flags: bit 0 is set if the entry is encrypted. */
  readonly flags: number;
  /** The compression method; 0 if the bytes are stored as they are. */
  readonly method: number;
  /** The CRC-32 of the decompressed bytes. */
  readonly checksum: number;
  /** The number of bytes in the file. */
  readonly storedSize: number;
  /** The number of bytes once they are decompressed. */
  readonly size: number;
  /** The offset of the local header in the file. */
  readonly offset: number;
  /** The number of bytes up to the next local header or the directory that belong to neither the header, the name nor the contents. */
  readonly slack: number;
}

/**
 * The entries of a zip by name. Of entries with one name, the last one in the directory
 * counts, as in other programs: those that change an entry write it once more.
 *
 * An archive may have millions of entries. So the table keeps the directory as it is stored,
 * with two numbers and the name of each entry, and parses an entry when it is asked for.
 */
export class EntryTable {
  readonly #file: Pick<ZipFile, "key">;
  readonly #bytes: Uint8Array;
  /** Where each entry lies in the directory. */
  readonly #starts: Float64Array;
  /** The slack of each entry. */
  readonly #slacks: Float64Array;
  /** The numbers of the entries in the directory, by name. */
  readonly #indices = new Map<string, number>();
  /** The names that several entries have. */
  readonly #twice = new Set<string>();

  /**
   * @throws {DamageError} If the directory is damaged, or entries overlap, as only damaged and
   * hostile zips have them.
   */
  constructor(
    file: Pick<ZipFile, "key">,
    { bytes, count, start }: StoredDirectory,
  ) {
    this.#file = file;
    this.#bytes = bytes;
    this.#starts = new Float64Array(count);
    this.#slacks = new Float64Array(count);
    const view = viewOf(bytes);
    const offsets = new Float64Array(count);
    let found = 0;
    let at = 0;
    for (; at < bytes.length; found++) {
      const next = at + this.#sizeAt(view, at);
      if (found < count) {
        this.#starts[found] = at;
        const entry = this.#parse(found);
        if (this.#indices.has(entry.name)) this.#twice.add(entry.name);
        this.#indices.set(entry.name, found);
        offsets[found] = entry.offset;
        // The offset of the end, until the following entry is known.
        this.#slacks[found] = entry.offset + LOCAL_SIZE + entry.nameSize +
          entry.storedSize;
      }
      at = next;
    }
    if (found !== count) {
      throw damaged(
        file,
        `has ${found} entries in its directory, where its last record says ${count}`,
      );
    }
    this.#setSlacks(offsets, start);
  }

  /** The number of names. */
  get size(): number {
    return this.#indices.size;
  }

  /** The number of entries that later ones of the same name replace. */
  get replaced(): number {
    return this.#starts.length - this.#indices.size;
  }

  /** The names, in the order of the directory. */
  names(): Iterable<string> {
    return this.#indices.keys();
  }

  /** Returns the entry with a name. */
  get(name: string): ListedEntry | undefined {
    const index = this.#indices.get(name);
    return index === undefined ? undefined : this.#parse(index);
  }

  /** Whether several entries have a name. */
  isTwice(name: string): boolean {
    return this.#twice.has(name);
  }

  /** Returns the number of bytes of an entry in the directory. */
  #sizeAt(view: DataView, at: number): number {
    const { length } = this.#bytes;
    const hasFields = at + CENTRAL_SIZE <= length;
    if (hasFields && view.getUint32(at, true) !== CENTRAL_SIGNATURE) {
      throw damaged(
        this.#file,
        `has no entry at byte ${at} of its directory: it is damaged`,
      );
    }
    const size = hasFields
      ? CENTRAL_SIZE + view.getUint16(at + 28, true) +
        view.getUint16(at + 30, true) + view.getUint16(at + 32, true)
      : CENTRAL_SIZE;
    if (at + size <= length) return size;
    throw damaged(
      this.#file,
      "has a directory that ends within an entry",
    );
  }

  #parse(index: number): ListedEntry {
    const bytes = this.#bytes;
    const at = this.#starts[index]!;
    const view = new DataView(bytes.buffer, bytes.byteOffset + at);
    const flags = view.getUint16(8, true);
    const nameSize = view.getUint16(28, true);
    const nameEnd = at + CENTRAL_SIZE + nameSize;
    const nameBytes = bytes.subarray(at + CENTRAL_SIZE, nameEnd);
    const headerName = decodeName(nameBytes, flags);
    const extra = bytes.subarray(nameEnd, nameEnd + view.getUint16(30, true));
    let size = view.getUint32(24, true);
    let storedSize = view.getUint32(20, true);
    let offset = view.getUint32(42, true);
    if (size === MOST_32 || storedSize === MOST_32 || offset === MOST_32) {
      [size, storedSize, offset] = withZip64(
        this.#file,
        [size, storedSize, offset],
        extra,
        headerName,
      ) as [number, number, number];
    }
    return {
      index,
      name: fromRoot(unicodeName(nameBytes, extra) ?? headerName),
      headerName,
      nameSize,
      version: view.getUint8(6),
      flags,
      method: view.getUint16(10, true),
      checksum: view.getUint32(16, true),
      storedSize,
      size,
      offset,
      slack: this.#slacks[index]!,
    };
  }

  /** Turns the ends of entries into the slack after them. */
  #setSlacks(offsets: Float64Array, end: number): void {
    const inOrder = Uint32Array.from(offsets, (_, index) => index)
      .sort((a, b) => offsets[a]! - offsets[b]!);
    inOrder.forEach((index, i) => {
      const following = inOrder[i + 1];
      const next = following === undefined ? end : offsets[following]!;
      const slack = next - this.#slacks[index]!;
      if (slack < 0) this.#refuseOverlap(index, following, next);
      this.#slacks[index] = slack;
    });
  }

  #refuseOverlap(
    index: number,
    following: number | undefined,
    next: number,
  ): never {
    const { name, storedSize, offset } = this.#parse(index);
    const other = following === undefined
      ? "the directory"
      : sentence`the entry ${this.#parse(following).name}`;
    throw damaged(
      this.#file,
      sentence`has an entry ${name} of ${storedSize} bytes at ${offset}, ` +
        `which overlaps ${other} at ${next}`,
    );
  }
}

/**
 * Checks a local header up to the name, and returns the length of the extra field after it.
 *
 * @param header The bytes of the header and the name.
 * @throws {DamageError} If the header contradicts the central directory.
 */
export function assertLocalHeader(
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
    sentence`has no header of the entry ${entry.name} at ${entry.offset}, the offset in its directory: it was changed after it was written`,
  );
}

/** The offset after the name in the local header of an entry. */
export function headerEnd({ offset, nameSize }: ListedEntry): number {
  return offset + LOCAL_SIZE + nameSize;
}

/** The longest name in bytes that is decoded without a decoder, which takes longer to call. */
const LONGEST_QUICK = 64;

const utf8 = /* @__PURE__ */ new TextDecoder("utf-8", { ignoreBOM: true });
const strictUtf8 = /* @__PURE__ */ new TextDecoder("utf-8", {
  fatal: true,
  ignoreBOM: true,
});

const latin1 = /* @__PURE__ */ new TextDecoder("latin1");

/**
 * Decodes the name of an entry. Names without the flag for UTF-8 are nevertheless in UTF-8
 * if they can be: some programs leave the flag out. Others have a character for each byte.
 */
function decodeName(bytes: Uint8Array, flags: number): string {
  if (bytes.length <= LONGEST_QUICK && bytes.every((byte) => byte < 128)) {
    return String.fromCharCode(...bytes);
  }
  if ((flags & UTF_8) !== 0) return utf8.decode(bytes);
  try {
    return strictUtf8.decode(bytes);
  } catch {
    return latin1.decode(bytes);
  }
}

/** Returns a name without the `./` or `/` that some programs write before names of a packed folder. */
function fromRoot(name: string): string {
  return /^\.?\//.test(name) ? name.replace(/^(?:\.?\/+)+/, "") : name;
}

/** The identifier of the extra field with a name in UTF-8, which Info-ZIP writes. */
const UNICODE_PATH = 0x7075;

/** The name of an entry in its extra field, if the field is of the name in the header. */
function unicodeName(
  name: Uint8Array,
  extra: Uint8Array,
): string | undefined {
  const field = extraField(extra, UNICODE_PATH);
  if (field === undefined || field.length < 5 || field[0] !== 1) {
    return undefined;
  }
  const isCurrent = viewOf(field).getUint32(1, true) === crc32(name);
  return isCurrent ? utf8.decode(field.subarray(5)) || undefined : undefined;
}

/** The bytes of an extra field, or those of it that are there; `undefined` without the field. */
function extraField(
  extra: Uint8Array,
  identifier: number,
): Uint8Array | undefined {
  if (extra.length < EXTRA_SIZE) return undefined;
  const view = viewOf(extra);
  for (let at = 0; at + EXTRA_SIZE <= extra.length;) {
    const end = at + EXTRA_SIZE + view.getUint16(at + 2, true);
    if (view.getUint16(at, true) === identifier) {
      return extra.subarray(at + EXTRA_SIZE, end);
    }
    at = end;
  }
}

/** Replaces the numbers that are `MOST_32` by those in the zip64 field, which are in the same order. */
function withZip64(
  file: Pick<ZipFile, "key">,
  numbers: readonly number[],
  extra: Uint8Array,
  name: string,
): readonly number[] {
  if (!numbers.includes(MOST_32)) return numbers;
  const field = extraField(extra, ZIP_64) ?? new Uint8Array();
  const view = viewOf(field);
  let at = 0;
  return numbers.map((number) => {
    if (number !== MOST_32) return number;
    at += 8;
    if (at <= field.length) return readNumber(view, at - 8, file);
    throw damaged(
      file,
      sentence`lacks a number of zip64 for its entry ${name}`,
    );
  });
}
