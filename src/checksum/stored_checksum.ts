import { ChecksumError } from "./checksum_error.ts";
import { crc32c } from "./crc32c.ts";

/** The length of a stored checksum in bytes: a CRC32C, the lowest byte first. */
export const CHECKSUM_SIZE = 4;

/** Returns a copy of bytes with their checksum appended. */
export function appendChecksum(bytes: Uint8Array): Uint8Array {
  const result = new Uint8Array(bytes.length + CHECKSUM_SIZE);
  result.set(bytes);
  new DataView(result.buffer).setUint32(bytes.length, crc32c(bytes), true);
  return result;
}

/**
 * Returns a view of bytes without the checksum at their end, after verifying it.
 *
 * @param bytes At least {@linkcode CHECKSUM_SIZE} bytes.
 * @param what The name of the bytes in messages, at the start of a sentence.
 * @param key The key of the bytes.
 * @throws {ChecksumError} If the checksum is wrong.
 */
export function verifyChecksum(
  bytes: Uint8Array,
  what: string,
  key: string,
): Uint8Array {
  const { buffer, byteOffset } = bytes;
  const size = bytes.length - CHECKSUM_SIZE;
  const checked = new Uint8Array(buffer, byteOffset, size);
  const expected = new DataView(buffer, byteOffset).getUint32(size, true);
  assertChecksum({ expected, actual: crc32c(checked) }, what, key);
  return checked;
}

/** Throws if a computed checksum is not the stored one. */
export function assertChecksum(
  { expected, actual }: { expected: number; actual: number },
  what: string,
  key: string,
): void {
  if (actual === expected) return;
  throw new ChecksumError(
    `${what} has the CRC32C ${hexadecimal(actual)}, where ${
      hexadecimal(expected)
    } is stored in its last ${CHECKSUM_SIZE} bytes`,
    { key, expected, actual },
  );
}

function hexadecimal(checksum: number): string {
  return `0x${checksum.toString(16).padStart(8, "0")}`;
}
