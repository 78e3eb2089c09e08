const MODULUS = 65521;
/** The sums of this many bytes stay below 2^53. */
const PIECE = 2 ** 16;

/** The checksum at the end of zlib data. Source: https://www.rfc-editor.org/rfc/rfc1950 */
export function adler32(bytes: Uint8Array): number {
  let low = 1;
  let high = 0;
  for (let start = 0; start < bytes.length; start += PIECE) {
    const end = Math.min(start + PIECE, bytes.length);
    for (let i = start; i < end; i++) high += low += bytes[i]!;
    low %= MODULUS;
    high %= MODULUS;
  }
  return high * 2 ** 16 + low;
}
