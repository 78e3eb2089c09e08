import { assertEquals } from "@std/assert";
import { slowCrc32 } from "./make_zip.ts";

/** An entry of a zip as its two headers and its bytes say. */
export interface SlowEntry {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** The offset of the bytes in the file. */
  readonly offset: number;
  /** The date and the time of MS-DOS. */
  readonly modified: number;
}

/** A zip, read from its first byte to its last one. */
export interface SlowZip {
  readonly entries: readonly SlowEntry[];
  readonly comment: Uint8Array;
}

/**
 * Parses a zip of stored entries from front to back, record by record. All headers must
 * agree. Zeros between records are passed over.
 */
export function parseSlowZip(file: Uint8Array): SlowZip {
  const view = new DataView(file.buffer, file.byteOffset, file.length);
  let at = 0;
  const number = (size: 2 | 4 | 8) => {
    const value = size === 2
      ? view.getUint16(at, true)
      : size === 4
      ? view.getUint32(at, true)
      : Number(view.getBigUint64(at, true));
    at += size;
    return value;
  };
  const take = (size: number) => file.subarray(at, at += size);
  const signature = () => {
    while (file[at] === 0) at++;
    return new TextDecoder().decode(take(4));
  };
  /** The fields that both headers of an entry have, in their order. */
  const common = () => {
    const [version, flags, method] = [number(2), number(2), number(2)];
    assertSame([flags, method], [1 << 11, 0]);
    const modified = number(4);
    const [crc, stored, size] = [number(4), number(4), number(4)];
    assertSame(stored, size);
    const [nameSize, extraSize] = [number(2), number(2)];
    return { version, modified, crc, size, nameSize, extraSize };
  };
  const zip64 = (extraSize: number) => {
    if (extraSize === 0) return [];
    assertSame(number(2), 1);
    assertSame(number(2), extraSize - 4);
    return Array.from({ length: (extraSize - 4) / 8 }, () => number(8));
  };

  const found: (SlowEntry & { header: number; size: number; crc: number })[] =
    [];
  let kind = signature();
  while (kind === "PK\x03\x04") {
    const header = at - 4;
    const { version, modified, crc, size, nameSize, extraSize } = common();
    assertSame([version, extraSize], [20, 0]);
    const name = new TextDecoder().decode(take(nameSize));
    const offset = at;
    const bytes = take(size);
    assertSame(slowCrc32(bytes), crc, name);
    found.push({ name, bytes, offset, modified, header, size, crc });
    kind = signature();
  }
  const start = at - 4;
  let count = 0;
  while (kind === "PK\x01\x02") {
    const entry = found[count++]!;
    assertSame(number(2) >> 8, 3);
    const { modified, crc, size, nameSize, extraSize } = common();
    assertSame([modified, crc, size], [
      entry.modified,
      entry.crc,
      entry.size,
    ]);
    assertSame([number(2), number(2), number(2)], [0, 0, 0]);
    assertSame(number(4), 0o100644 * 2 ** 16);
    assertSame(number(4), entry.header);
    assertSame(new TextDecoder().decode(take(nameSize)), entry.name);
    assertSame(zip64(extraSize), []);
    kind = signature();
  }
  assertSame(count, found.length);
  const size = at - 4 - start;
  if (kind === "PK\x06\x06") {
    const end64 = at - 4;
    assertSame(number(8), 44);
    take(12);
    const numbers = [number(8), number(8), number(8), number(8)];
    assertSame(numbers, [count, count, size, start]);
    assertSame(signature(), "PK\x06\x07");
    assertSame([number(4), number(8), number(4)], [0, end64, 1]);
    kind = signature();
  }
  assertSame(kind, "PK\x05\x06");
  assertSame([number(2), number(2)], [0, 0]);
  const least = Math.min(count, 0xffff);
  assertSame([number(2), number(2)], [least, least]);
  assertSame([number(4), number(4)], [size, start]);
  const comment = take(number(2));
  assertSame(at, file.length);
  return { entries: found, comment };
}

/** As assertEquals, and fast for many equal values. */
function assertSame(found: unknown, expected: unknown, message?: string): void {
  const isSame = Array.isArray(found) && Array.isArray(expected)
    ? found.length === expected.length &&
      found.every((value, i) => value === expected[i])
    : found === expected;
  if (!isSame) assertEquals(found, expected, message);
}
