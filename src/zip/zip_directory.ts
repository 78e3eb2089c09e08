import { describe } from "../metadata/describe.ts";
import { findEnd, readFrom, readTail } from "./zip_end.ts";
import { damaged, readNumber, type ZipFile } from "./zip_file.ts";
import {
  CENTRAL_SIGNATURE,
  CENTRAL_SIZE,
  EXTRA_SIZE,
  MOST_32,
  viewOf,
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
export interface ZipDirectory {
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

/** Replaces numbers that stand for those of the zip64 field, which has them in the same order. */
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
