import { nativeZlib } from "../runtime/mod.ts";

/** Sixteen tables of 256 registers. Table k starts at index 256 k and has the register that each byte leaves when k more bytes follow. */
export type CrcTables = Int32Array;

/** Makes the tables of a CRC of 32 bits by its polynomial, reflected. */
export function crcTables(polynomial: number): CrcTables {
  const made = new Int32Array(16 * 256);
  for (let byte = 0; byte < 256; byte++) {
    let register = byte;
    for (let bit = 0; bit < 8; bit++) {
      register = (register >>> 1) ^ (register & 1 ? polynomial : 0);
    }
    made[byte] = register;
  }
  for (let entry = 256; entry < made.length; entry++) {
    const before = made[entry - 256]!;
    made[entry] = (before >>> 8) ^ made[before & 255]!;
  }
  return made;
}

/** Returns the CRC of bytes that follow bytes whose CRC is `crc`. Computes sixteen bytes at a time. */
export function crcByTables(
  t: CrcTables,
  bytes: Uint8Array,
  crc: number,
): number {
  let register = ~crc;
  let i = 0;
  for (const end = bytes.length - 15; i < end; i += 16) {
    register = t[15 * 256 + ((register ^ bytes[i]!) & 255)]! ^
      t[14 * 256 + (((register >>> 8) ^ bytes[i + 1]!) & 255)]! ^
      t[13 * 256 + (((register >>> 16) ^ bytes[i + 2]!) & 255)]! ^
      t[12 * 256 + ((register >>> 24) ^ bytes[i + 3]!)]! ^
      t[11 * 256 + bytes[i + 4]!]! ^
      t[10 * 256 + bytes[i + 5]!]! ^
      t[9 * 256 + bytes[i + 6]!]! ^
      t[8 * 256 + bytes[i + 7]!]! ^
      t[7 * 256 + bytes[i + 8]!]! ^
      t[6 * 256 + bytes[i + 9]!]! ^
      t[5 * 256 + bytes[i + 10]!]! ^
      t[4 * 256 + bytes[i + 11]!]! ^
      t[3 * 256 + bytes[i + 12]!]! ^
      t[2 * 256 + bytes[i + 13]!]! ^
      t[256 + bytes[i + 14]!]! ^
      t[bytes[i + 15]!]!;
  }
  for (; i < bytes.length; i++) {
    register = (register >>> 8) ^ t[(register ^ bytes[i]!) & 255]!;
  }
  return ~register >>> 0;
}

/**
 * Returns the CRC-32 of bytes, which zip and gzip use. The runtime computes it if it can.
 * The CRC32C of Zarr has another polynomial.
 *
 * @param before The CRC-32 of bytes that come before these.
 */
export function crc32(bytes: Uint8Array, before = 0): number {
  return nativeZlib()?.crc32?.(bytes, before) ?? crc32ByTables(bytes, before);
}

/** The polynomial of CRC-32, reflected. */
const POLYNOMIAL = 0xedb88320;

/** The tables of CRC-32, made on first use. */
let tables: CrcTables | undefined;

/** Returns the CRC-32 of bytes, computed by tables. */
export function crc32ByTables(bytes: Uint8Array, before = 0): number {
  return crcByTables(tables ??= crcTables(POLYNOMIAL), bytes, before);
}
