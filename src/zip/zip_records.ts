import { DamageError, describe } from "../errors/mod.ts";
import { joinBytes } from "../runtime/mod.ts";
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

/** The identifier of the extra field with numbers of 64 bits. */
export const ZIP_64 = 1;

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
export function encodeLocalHeader(entry: ZipEntry): Uint8Array {
  const { name, size } = entry;
  // A local header has both sizes in the extra field, or none.
  const extra = encodeExtra(size >= MOST_32 ? [size, size] : []);
  const fields: Fields = [
    [4, LOCAL_SIGNATURE],
    ...commonFields(entry, extra),
  ];
  return joinBytes([encode(fields), name, extra]);
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
  const headers = joinBytes(entries.flatMap(encodeCentralHeader));
  const [count, size] = [entries.length, headers.length];
  const isZip64 = count >= MOST_16 || size >= MOST_32 || start >= MOST_32;
  return joinBytes([
    headers,
    encode([
      ...isZip64 ? zip64Fields(count, size, start) : [],
      ...END_MARK.map((byte): Field => [1, byte]),
      [4, 0], // The numbers of volumes.
      [2, Math.min(count, MOST_16)],
      [2, Math.min(count, MOST_16)],
      [4, Math.min(size, MOST_32)],
      [4, Math.min(start, MOST_32)],
      [2, commentSize],
    ]),
  ]);
}

/** A number of a record, and its length in bytes. */
type Field = readonly [size: 1 | 2 | 4 | 8, value: number];
type Fields = readonly Field[];

function encode(fields: Fields): Uint8Array {
  const size = fields.reduce((sum, [size]) => sum + size, 0);
  const bytes = new Uint8Array(size);
  const view = viewOf(bytes);
  let at = 0;
  for (const [size, value] of fields) {
    if (size === 1) view.setUint8(at, value);
    else if (size === 2) view.setUint16(at, value, true);
    else if (size === 4) view.setUint32(at, value, true);
    else view.setBigUint64(at, BigInt(value), true);
    at += size;
  }
  return bytes;
}

function encodeCentralHeader(entry: WrittenEntry): Uint8Array[] {
  const { name, size, offset } = entry;
  const extra = encodeExtra([
    ...size >= MOST_32 ? [size, size] : [],
    ...offset >= MOST_32 ? [offset] : [],
  ]);
  const fields: Fields = [
    [4, CENTRAL_SIGNATURE],
    [2, MADE_BY],
    ...commonFields(entry, extra),
    [2, 0], // The length of the comment.
    [4, 0], // The volume, and the internal attributes.
    [4, ATTRIBUTES],
    [4, Math.min(offset, MOST_32)],
  ];
  return [encode(fields), name, extra];
}

/** The fields that local and central headers have in common, up to the length of the extra field. */
function commonFields(
  { name, crc, size, modified }: ZipEntry,
  { length }: Uint8Array,
): Fields {
  return [
    [2, length > 0 ? ZIP_64_VERSION : PLAIN_VERSION],
    [2, UTF_8],
    [2, 0], // The method: stored.
    [4, modified],
    [4, crc],
    [4, Math.min(size, MOST_32)],
    [4, Math.min(size, MOST_32)],
    [2, name.length],
    [2, length],
  ];
}

/** Encodes the zip64 extra field, or nothing if no numbers need 64 bits. */
function encodeExtra(numbers: readonly number[]): Uint8Array {
  if (numbers.length === 0) return new Uint8Array();
  return encode([
    [2, ZIP_64],
    [2, 8 * numbers.length],
    ...numbers.map((number): Field => [8, number]),
  ]);
}

/** The record of zip64 with the numbers of the last record, and its locator. */
function zip64Fields(count: number, size: number, start: number): Fields {
  return [
    [4, END_64_SIGNATURE],
    // The size of the record counts neither itself nor the signature.
    [8, END_64_SIZE - 12],
    [2, MADE_BY],
    [2, ZIP_64_VERSION],
    [8, 0], // The numbers of volumes.
    [8, count],
    [8, count],
    [8, size],
    [8, start],
    [4, LOCATOR_SIGNATURE],
    [4, 0],
    [8, start + size],
    [4, 1], // One volume.
  ];
}

/** A view of bytes. */
export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}
