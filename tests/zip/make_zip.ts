/** An entry of a zip, with what writers of zips may choose. */
export interface MadeEntry {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** Zeros before the local header. */
  readonly gap?: number;
  /** The length of an extra field of no meaning, in the local header and in the directory. */
  readonly localExtra?: number;
  readonly centralExtra?: number;
  /** Whether sizes come after the bytes, and not in the local header. */
  readonly hasDescriptor?: boolean;
  /** Whether the directory has the numbers in a zip64 field. */
  readonly isZip64?: boolean;
  readonly method?: number;
  readonly flags?: number;
  /** Other numbers in the directory. */
  readonly listed?: {
    size?: number;
    storedSize?: number;
    offset?: number;
    checksum?: number;
  };
  readonly localName?: string;
  readonly comment?: string;
}

export interface MadeZip {
  readonly file: Uint8Array;
  /** The offsets of the bytes of entries. */
  readonly offsets: readonly number[];
}

/** The CRC-32 of bytes, bit by bit. */
export function slowCrc32(bytes: Uint8Array): number {
  let state = ~0;
  for (const byte of bytes) {
    state ^= byte;
    for (let i = 0; i < 8; i++) {
      state = (state >>> 1) ^ ((state & 1) * 0xedb88320);
    }
  }
  return ~state >>> 0;
}

/** Writes a zip number by number. */
export function makeZip(
  entries: readonly MadeEntry[],
  { comment = "", isZip64 = false, end = {} }: {
    comment?: string;
    /** Whether there are records of zip64. */
    isZip64?: boolean;
    /** Other numbers in the last records. */
    end?: { count?: number; onDisk?: number; disk?: number };
  } = {},
): MadeZip {
  const file: number[] = [];
  const put = (number: number | bigint, size: number) => {
    for (let i = 0, rest = BigInt(number); i < size; i++, rest >>= 8n) {
      file.push(Number(rest & 255n));
    }
  };
  const text = (value: string) => new TextEncoder().encode(value);
  const append = (bytes: Iterable<number>) => {
    for (const byte of bytes) file.push(byte);
  };
  const extraField = (length: number) => {
    put(0x5454, 2);
    put(length - 4, 2);
    append(new Uint8Array(length - 4).fill(1));
  };

  const headers: number[] = [];
  const offsets: number[] = [];
  for (const entry of entries) {
    const { name, bytes, localName = name, hasDescriptor } = entry;
    const { gap = 0, localExtra = 0, method = 0, flags = 0 } = entry;
    append(new Uint8Array(gap));
    headers.push(file.length);
    put(0x04034b50, 4);
    put(20, 2);
    put(flags | (hasDescriptor ? 8 : 0), 2);
    put(method, 2);
    put(0, 4); // The time.
    const { checksum, storedSize, size } = entry.listed ?? {};
    const numbers = [
      checksum ?? slowCrc32(bytes),
      storedSize ?? bytes.length,
      size ?? bytes.length,
    ];
    for (const number of numbers) {
      put(hasDescriptor ? 0 : Math.min(number, 0xffffffff), 4);
    }
    put(text(localName).length, 2);
    put(localExtra, 2);
    append(text(localName));
    if (localExtra > 0) extraField(localExtra);
    offsets.push(file.length);
    append(bytes);
    if (hasDescriptor) {
      put(0x08074b50, 4);
      put(0, 4);
      for (const _ of "12") put(bytes.length, 4);
    }
  }
  const start = file.length;
  entries.forEach((entry, i) => {
    const { name, bytes, hasDescriptor, isZip64 = false, listed } = entry;
    const { centralExtra = 0, method = 0, flags = 0, comment = "" } = entry;
    const numbers = [
      listed?.size ?? bytes.length,
      listed?.storedSize ?? bytes.length,
      listed?.offset ?? headers[i]!,
    ];
    const [size, storedSize, offset] = isZip64
      ? numbers.map(() => 0xffffffff)
      : numbers;
    put(0x02014b50, 4);
    put(20, 2);
    put(20, 2);
    put(flags | (hasDescriptor ? 8 : 0), 2);
    put(method, 2);
    put(0, 4);
    put(listed?.checksum ?? slowCrc32(bytes), 4);
    put(storedSize!, 4);
    put(size!, 4);
    put(text(name).length, 2);
    put(centralExtra + (isZip64 ? 28 : 0), 2);
    put(text(comment).length, 2);
    put(0, 4);
    put(0, 4);
    put(offset!, 4);
    append(text(name));
    if (centralExtra > 0) extraField(centralExtra);
    if (isZip64) {
      put(1, 2);
      put(24, 2);
      for (const number of numbers) put(number, 8);
    }
    append(text(comment));
  });
  const directory = {
    count: entries.length,
    start,
    size: file.length - start,
    disk: 0,
    onDisk: end.count ?? entries.length,
    ...end,
  };
  const endAt = file.length;
  if (isZip64) {
    put(0x06064b50, 4);
    put(44, 8);
    put(45, 2);
    put(45, 2);
    put(directory.disk, 4);
    put(0, 4);
    put(directory.onDisk, 8);
    put(directory.count, 8);
    put(directory.size, 8);
    put(directory.start, 8);
    put(0x07064b50, 4);
    put(0, 4);
    put(endAt, 8);
    put(1, 4);
  }
  put(0x06054b50, 4);
  put(directory.disk, 2);
  put(0, 2);
  put(isZip64 ? 0xffff : directory.onDisk, 2);
  put(isZip64 ? 0xffff : directory.count, 2);
  put(isZip64 ? 0xffffffff : directory.size, 4);
  put(isZip64 ? 0xffffffff : directory.start, 4);
  put(text(comment).length, 2);
  append(text(comment));
  return { file: Uint8Array.from(file), offsets };
}
