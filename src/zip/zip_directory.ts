import type { DamageError } from "../errors/mod.ts";
import type { Snapshot, StoreKey } from "../stores/mod.ts";
import {
  CENTRAL_SIZE,
  damaged,
  END_64_SIGNATURE,
  END_64_SIZE,
  END_MARK,
  END_SIZE,
  type Extent,
  LOCATOR_SIGNATURE,
  LOCATOR_SIZE,
  MOST_16,
  MOST_32,
  readNumber,
  viewOf,
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
  if (start + size !== end.recordsAt) {
    throw damaged(
      file,
      start + size < end.recordsAt
        ? `has ${
          end.recordsAt - start - size
        } bytes before the zip, which its offsets do not count: remove them, or run zip -A`
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
  if (bytes?.length === length) return bytes;
  throw damaged(
    file,
    `has ${
      bytes?.length ?? 0
    } bytes of ${length} from ${offset} on: it was changed while it was read`,
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
