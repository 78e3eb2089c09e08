import { type DamageError, describe } from "../../errors/mod.ts";
import type { Extent } from "../../shards/mod.ts";
import {
  CENTRAL_SIGNATURE,
  CENTRAL_SIZE,
  damaged,
  END_64_SIGNATURE,
  END_64_SIZE,
  END_MARK,
  END_SIZE,
  EXTRA_SIZE,
  LOCATOR_SIGNATURE,
  LOCATOR_SIZE,
  MOST_16,
  MOST_32,
  readNumber,
  viewOf,
  type ZipFile,
} from "./zip_records.ts";

/** An entry as the central directory lists it. */
export interface ListedEntry {
  readonly name: string;
  /** The length of the name in bytes. */
  readonly nameSize: number;
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
}

/** The contents of a zip. */
interface ZipDirectory {
  readonly entries: readonly ListedEntry[];
  /** The offset of the central directory, where the bytes of entries end. */
  readonly start: number;
}

/**
 * Reads the central directory of a zip, by one or two requests.
 *
 * @throws {DamageError} If the file is no zip, was cut, has bytes before or after the
 * zip, or is one of several volumes.
 */
export async function readZipDirectory(file: ZipFile): Promise<ZipDirectory> {
  const tail = await readTail(file);
  const end = await findEnd(file, tail);
  const { start, size, count } = end;
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
  const bytes = await readFrom(file, tail, { offset: start, length: size });
  return { entries: parseEntries(file, bytes, count), start };
}

function parseEntries(
  file: ZipFile,
  bytes: Uint8Array,
  count: number,
): ListedEntry[] {
  const view = viewOf(bytes);
  const decoder = new TextDecoder();
  const entries: ListedEntry[] = [];
  let at = 0;
  const assertRoom = (size: number) => {
    if (at + size <= bytes.length) return;
    throw damaged(file, `has a directory that ends within an entry`);
  };
  while (at < bytes.length) {
    assertRoom(CENTRAL_SIZE);
    if (view.getUint32(at, true) !== CENTRAL_SIGNATURE) {
      throw damaged(
        file,
        `has no entry at byte ${at} of its directory: it is damaged`,
      );
    }
    const [nameSize, extraSize, commentSize] = [28, 30, 32].map((field) =>
      view.getUint16(at + field, true)
    ) as [number, number, number];
    const next = CENTRAL_SIZE + nameSize + extraSize + commentSize;
    assertRoom(next);
    const name = decoder.decode(
      bytes.subarray(at + CENTRAL_SIZE, at + CENTRAL_SIZE + nameSize),
    );
    const numbers = [24, 20, 42].map((field) =>
      view.getUint32(at + field, true)
    );
    const extra = bytes.subarray(at + next - commentSize - extraSize)
      .subarray(0, extraSize);
    const [size, storedSize, offset] = withZip64(file, numbers, extra, name);
    entries.push({
      name,
      nameSize,
      flags: view.getUint16(at + 8, true),
      method: view.getUint16(at + 10, true),
      checksum: view.getUint32(at + 16, true),
      storedSize: storedSize!,
      size: size!,
      offset: offset!,
    });
    at += next;
  }
  if (entries.length === count) return entries;
  throw damaged(
    file,
    `has ${entries.length} entries in its directory, where its last record says ${count}`,
  );
}

/** Replaces the numbers that are `MOST_32` by those in the zip64 field, which are in the same order. */
function withZip64(
  file: ZipFile,
  numbers: readonly number[],
  extra: Uint8Array,
  name: string,
): number[] {
  if (!numbers.includes(MOST_32)) return [...numbers];
  const view = viewOf(extra);
  let at = 0;
  let rest = 0;
  while (at + EXTRA_SIZE <= extra.length && rest === 0) {
    const size = view.getUint16(at + 2, true);
    if (view.getUint16(at, true) === 1) {
      rest = Math.min(size, extra.length - at - EXTRA_SIZE);
      at += EXTRA_SIZE;
    } else at += EXTRA_SIZE + size;
  }
  return numbers.map((number) => {
    if (number !== MOST_32) return number;
    if (rest < 8) {
      throw damaged(
        file,
        `lacks a number of zip64 for its entry ${describe(name)}`,
      );
    }
    rest -= 8;
    at += 8;
    return readNumber(view, at - 8, file);
  });
}

/** The most bytes from the last record to the end of a zip. */
const LONGEST_END = END_SIZE + MOST_16;
/** The number of bytes that are read first, from the end: enough for some hundred entries. */
const FIRST_READ = LONGEST_END + 2 ** 16;

/** The last bytes of a file, with their offset. */
interface Tail {
  readonly bytes: Uint8Array;
  readonly offset: number;
}

/** Reads the last bytes of a file, which hold all records after the directory. */
async function readTail(file: ZipFile): Promise<Tail> {
  const length = Math.min(file.size, FIRST_READ);
  const offset = file.size - length;
  return { bytes: await file.read({ offset, length }), offset };
}

/** Returns bytes of the tail, or reads bytes that come before the tail. */
async function readFrom(
  file: ZipFile,
  tail: Tail,
  { offset, length }: Extent,
): Promise<Uint8Array> {
  const at = offset - tail.offset;
  if (at >= 0) return tail.bytes.subarray(at, at + length);
  return await file.read({ offset, length });
}

/** What the last records say of the central directory. */
interface ZipEnd {
  readonly count: number;
  readonly start: number;
  readonly size: number;
  /** The offset of the first record after the central directory. */
  readonly recordsAt: number;
}

/**
 * Finds the last records of a zip.
 *
 * @throws {DamageError} If there are none, several, or those of one of several volumes.
 */
async function findEnd(file: ZipFile, tail: Tail): Promise<ZipEnd> {
  const { bytes } = tail;
  const view = viewOf(bytes);
  const from = Math.max(0, bytes.length - LONGEST_END);
  const found: number[] = [];
  for (let at = bytes.length - END_SIZE; at >= from; at--) {
    const isEnd = END_MARK.every((byte, i) => bytes[at + i] === byte) &&
      at + END_SIZE + view.getUint16(at + 20, true) === bytes.length;
    if (isEnd) found.push(at);
  }
  const [at] = found;
  if (at === undefined) {
    throw damaged(
      file,
      "does not end with the last record of a zip: it is no zip, was cut, or has bytes after the zip",
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
  const locatorAt = at - LOCATOR_SIZE;
  const hasLocator = locatorAt >= 0 &&
    view.getUint32(locatorAt, true) === LOCATOR_SIGNATURE;
  if (hasLocator) {
    const end64At = readNumber(view, locatorAt + 8, file);
    return await readEnd64(file, tail, end64At, tail.offset + locatorAt);
  }
  if (count === MOST_16 || size === MOST_32 || start === MOST_32) {
    throw damaged(file, "lacks the records of zip64, which it refers to");
  }
  if (disk !== 0 || firstDisk !== 0 || onDisk !== count) throw volumes(file);
  return { count, start, size, recordsAt: tail.offset + at };
}

async function readEnd64(
  file: ZipFile,
  tail: Tail,
  offset: number,
  locatorAt: number,
): Promise<ZipEnd> {
  const isBefore = offset + END_64_SIZE <= locatorAt;
  const bytes = isBefore
    ? await readFrom(file, tail, { offset, length: END_64_SIZE })
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
