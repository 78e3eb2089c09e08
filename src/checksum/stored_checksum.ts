import { ChecksumError } from "./checksum_error.ts";
import { crc32c } from "./crc32c.ts";

/** The bytes that a stored checksum takes at the end: a CRC32C, the lowest byte first. */
export const CHECKSUM_SIZE = 4;

/** Bytes and after them their checksum. */
export function appendChecksum(bytes: Uint8Array): Uint8Array {
  const result = new Uint8Array(bytes.length + CHECKSUM_SIZE);
  result.set(bytes);
  new DataView(result.buffer).setUint32(bytes.length, crc32c(bytes), true);
  return result;
}

/**
 * The bytes before their checksum, once they are verified.
 *
 * @param bytes At least as many as a checksum has.
 * @param what What they are in messages, at the start of a sentence.
 * @param key The key of what they belong to.
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

/** Refuses bytes whose checksum is not the stored one. */
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
