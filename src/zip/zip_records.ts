import { DamageError, describe } from "../errors/mod.ts";
import type { ByteRange } from "../stores/mod.ts";

/** A range of a file by its first byte and its length. */
export type Extent = Extract<ByteRange, { offset: number }>;

/** An entry of a zip that is written. Its place is known once all entries are laid out. */
export interface ZipEntry {
  /** The name in UTF-8. */
  readonly name: Uint8Array;
  /** The CRC-32 of its bytes. */
  readonly crc: number;
  /** The number of its bytes. */
  readonly size: number;
  /** The date and the time of MS-DOS, in one number of 32 bits. */
  readonly modified: number;
}

/** An entry with the offset of its local header in the file. */
export interface WrittenEntry extends ZipEntry {
  readonly offset: number;
}

/** The value of a field of 32 bits whose number is in a record of zip64. */
export const MOST_32 = 0xffffffff;
/** The value of a field of 16 bits whose number is in a record of zip64. */
export const MOST_16 = 0xffff;

export const LOCAL_SIGNATURE = 0x04034b50;
export const CENTRAL_SIGNATURE = 0x02014b50;
/** The bytes with which the last record of a zip starts. */
export const END_MARK: readonly number[] = [0x50, 0x4b, 5, 6];
export const END_64_SIGNATURE = 0x06064b50;
export const LOCATOR_SIGNATURE = 0x07064b50;

export const LOCAL_SIZE = 30;
export const CENTRAL_SIZE = 46;
export const END_SIZE = 22;
export const END_64_SIZE = 56;
export const LOCATOR_SIZE = 20;
/** The size of the identifier and the length before the numbers of a zip64 extra field. */
export const EXTRA_SIZE = 4;

/** Unix, and version 4.5 of the specification, the first with zip64. */
const MADE_BY = 3 << 8 | 45;
const PLAIN_VERSION = 20;
const ZIP_64_VERSION = 45;
/** The flag for names in UTF-8. */
export const UTF_8: number = 1 << 11;
/** An ordinary file that its owner may write and all may read. */
const ATTRIBUTES = 0o100644 * 2 ** 16;

/** A zip to read. */
export interface ZipFile {
  /** Its key, for messages. */
  readonly key: string;
  /** Its length in bytes. */
  readonly size: number;
  /** Its last bytes. */
  readonly tail: Uint8Array;
  /** Reads a range that lies in the file. */
  read(extent: Extent): Promise<Uint8Array>;
}

/** An error about a file that cannot be read as a zip. */
export function damaged(
  { key }: Pick<ZipFile, "key">,
  problem: string,
): DamageError {
  return new DamageError(`File ${describe(key)} ${problem}`, { key });
}

/** Reads a number of 64 bits. */
export function readNumber(
  view: DataView,
  at: number,
  file: Pick<ZipFile, "key">,
): number {
  const number = view.getBigUint64(at, true);
  if (number <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(number);
  throw damaged(
    file,
    `holds the offset or the size ${number}, where 2^53−1 is the most that can be read`,
  );
}

/** Encodes the header that comes before the bytes of an entry. */
export function encodeLocalHeader(
  { name, crc, size, modified }: ZipEntry,
): Uint8Array {
  // A local header has both sizes in the extra field, or none.
  const extra = size >= MOST_32 ? [size, size] : [];
  const { bytes, view } = allocate(
    LOCAL_SIZE + name.length + extraSize(extra),
  );
  view.setUint32(0, LOCAL_SIGNATURE, true);
  writeCommon(view, 4, { crc, size, modified }, extra);
  view.setUint16(26, name.length, true);
  view.setUint16(28, extraSize(extra), true);
  bytes.set(name, LOCAL_SIZE);
  writeExtra(view, LOCAL_SIZE + name.length, extra);
  return bytes;
}

/**
 * Encodes the end of a zip: the central directory and the records after it, up to the
 * comment.
 *
 * @param start The offset of the central directory in the file.
 * @param commentSize The number of bytes of the comment, which the caller writes.
 */
export function encodeDirectory(
  entries: readonly WrittenEntry[],
  start: number,
  commentSize: number,
): Uint8Array {
  const sizes = entries.map((entry) =>
    CENTRAL_SIZE + entry.name.length + extraSize(centralExtra(entry))
  );
  const size = sizes.reduce((sum, size) => sum + size, 0);
  const isZip64 = entries.length >= MOST_16 || size >= MOST_32 ||
    start >= MOST_32;
  const { bytes, view } = allocate(
    size + (isZip64 ? END_64_SIZE + LOCATOR_SIZE : 0) + END_SIZE,
  );
  let at = 0;
  entries.forEach((entry, i) => {
    writeCentralHeader(bytes.subarray(at, at += sizes[i]!), entry);
  });
  const directory = { count: entries.length, size, start };
  if (isZip64) {
    writeEnd64(view, at, directory);
    at += END_64_SIZE + LOCATOR_SIZE;
  }
  writeEnd(view, at, directory, commentSize);
  return bytes;
}

interface Directory {
  readonly count: number;
  readonly size: number;
  readonly start: number;
}

function writeCentralHeader(bytes: Uint8Array, entry: WrittenEntry): void {
  const view = viewOf(bytes);
  const { name, offset } = entry;
  const extra = centralExtra(entry);
  view.setUint32(0, CENTRAL_SIGNATURE, true);
  view.setUint16(4, MADE_BY, true);
  writeCommon(view, 6, entry, extra);
  view.setUint16(28, name.length, true);
  view.setUint16(30, extraSize(extra), true);
  view.setUint32(38, ATTRIBUTES, true);
  view.setUint32(42, Math.min(offset, MOST_32), true);
  bytes.set(name, CENTRAL_SIZE);
  writeExtra(view, CENTRAL_SIZE + name.length, extra);
}

/** Writes the fields that local and central headers have in common, except the lengths of the name and the extra field. */
function writeCommon(
  view: DataView,
  at: number,
  { crc, size, modified }: Omit<ZipEntry, "name">,
  extra: readonly number[],
): void {
  const version = extra.length > 0 ? ZIP_64_VERSION : PLAIN_VERSION;
  view.setUint16(at, version, true);
  view.setUint16(at + 2, UTF_8, true);
  // The method at + 4 is 0: stored.
  view.setUint32(at + 6, modified, true);
  view.setUint32(at + 10, crc, true);
  view.setUint32(at + 14, Math.min(size, MOST_32), true);
  view.setUint32(at + 18, Math.min(size, MOST_32), true);
}

/** The numbers of an entry that need 64 bits, in the order of the extra field. */
function centralExtra({ size, offset }: WrittenEntry): number[] {
  return [
    ...size >= MOST_32 ? [size, size] : [],
    ...offset >= MOST_32 ? [offset] : [],
  ];
}

function extraSize(numbers: readonly number[]): number {
  return numbers.length === 0 ? 0 : EXTRA_SIZE + 8 * numbers.length;
}

/** Writes a zip64 extra field, or nothing if there are no numbers. */
function writeExtra(
  view: DataView,
  at: number,
  numbers: readonly number[],
): void {
  if (numbers.length === 0) return;
  view.setUint16(at, 1, true);
  view.setUint16(at + 2, 8 * numbers.length, true);
  numbers.forEach((number, i) => {
    setNumber(view, at + EXTRA_SIZE + 8 * i, number);
  });
}

function writeEnd64(
  view: DataView,
  at: number,
  { count, size, start }: Directory,
): void {
  view.setUint32(at, END_64_SIGNATURE, true);
  // The size in the record counts neither itself nor the signature.
  setNumber(view, at + 4, END_64_SIZE - 12);
  view.setUint16(at + 12, MADE_BY, true);
  view.setUint16(at + 14, ZIP_64_VERSION, true);
  setNumber(view, at + 24, count);
  setNumber(view, at + 32, count);
  setNumber(view, at + 40, size);
  setNumber(view, at + 48, start);
  const locator = at + END_64_SIZE;
  view.setUint32(locator, LOCATOR_SIGNATURE, true);
  setNumber(view, locator + 8, start + size);
  view.setUint32(locator + 16, 1, true);
}

function writeEnd(
  view: DataView,
  at: number,
  { count, size, start }: Directory,
  commentSize: number,
): void {
  END_MARK.forEach((byte, i) => view.setUint8(at + i, byte));
  view.setUint16(at + 8, Math.min(count, MOST_16), true);
  view.setUint16(at + 10, Math.min(count, MOST_16), true);
  view.setUint32(at + 12, Math.min(size, MOST_32), true);
  view.setUint32(at + 16, Math.min(start, MOST_32), true);
  view.setUint16(at + 20, commentSize, true);
}

function allocate(size: number): { bytes: Uint8Array; view: DataView } {
  const bytes = new Uint8Array(size);
  return { bytes, view: viewOf(bytes) };
}

/** A view of bytes. */
export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

function setNumber(view: DataView, at: number, number: number): void {
  view.setBigUint64(at, BigInt(number), true);
}
