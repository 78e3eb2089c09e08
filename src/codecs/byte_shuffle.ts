/**
 * The orders of bytes and bits of `blosc` and `numcodecs.shuffle` in TypeScript, where
 * `wasm/shuffle.ts` does not run. Each function fills all of `to`.
 */

/** Puts the first bytes of all elements first, then the second ones, and so on. */
export function shuffle(from: Uint8Array, to: Uint8Array, size: number): void {
  const count = Math.floor(from.length / size);
  for (let byte = 0; byte < size; byte++) {
    const start = byte * count;
    for (let i = 0, j = byte; i < count; i++, j += size) {
      to[start + i] = from[j]!;
    }
  }
  copyRest(from, to, count * size);
}

/** Reverses {@linkcode shuffle}. */
export function unshuffle(
  from: Uint8Array,
  to: Uint8Array,
  size: number,
): void {
  const count = Math.floor(from.length / size);
  for (let byte = 0; byte < size; byte++) {
    const start = byte * count;
    for (let i = 0, j = byte; i < count; i++, j += size) {
      to[j] = from[start + i]!;
    }
  }
  copyRest(from, to, count * size);
}

/**
 * Puts the lowest bits of all elements first, then the next ones, and so on. Bytes stay as
 * they are unless the number of elements is a multiple of 8.
 */
export function bitShuffle(
  from: Uint8Array,
  to: Uint8Array,
  size: number,
): void {
  const count = Math.floor(from.length / size);
  if (count % 8 !== 0) return to.set(from);
  const row = count / 8;
  for (let byte = 0; byte < size; byte++) {
    for (let group = 0; group < row; group++) {
      const start = group * 8 * size + byte;
      transposeBits(
        at(from, start, size, 0),
        at(from, start, size, 4),
      );
      const first = byte * 8 * row + group;
      for (let bit = 0; bit < 4; bit++) {
        to[first + bit * row] = transposedLow >>> 8 * bit;
        to[first + (bit + 4) * row] = transposedHigh >>> 8 * bit;
      }
    }
  }
  copyRest(from, to, count * size);
}

/** Reverses {@linkcode bitShuffle}. */
export function bitUnshuffle(
  from: Uint8Array,
  to: Uint8Array,
  size: number,
): void {
  const count = Math.floor(from.length / size);
  if (count % 8 !== 0) return to.set(from);
  const row = count / 8;
  for (let byte = 0; byte < size; byte++) {
    for (let group = 0; group < row; group++) {
      const first = byte * 8 * row + group;
      transposeBits(at(from, first, row, 0), at(from, first, row, 4));
      const start = group * 8 * size + byte;
      for (let i = 0; i < 4; i++) {
        to[start + i * size] = transposedLow >>> 8 * i;
        to[start + (i + 4) * size] = transposedHigh >>> 8 * i;
      }
    }
  }
  copyRest(from, to, count * size);
}

/** Four bytes at equal distances, the first one lowest. */
function at(
  bytes: Uint8Array,
  start: number,
  step: number,
  first: number,
): number {
  const i = start + first * step;
  return bytes[i]! | bytes[i + step]! << 8 | bytes[i + 2 * step]! << 16 |
    bytes[i + 3 * step]! << 24;
}

let transposedLow = 0;
let transposedHigh = 0;

/** Transposes a matrix of 8 × 8 bits. Source: Hacker's Delight, 7-3 */
function transposeBits(low: number, high: number): void {
  let x = low;
  let y = high;
  let t = (x ^ x >>> 7) & 0x00aa00aa;
  x ^= t ^ t << 7;
  t = (y ^ y >>> 7) & 0x00aa00aa;
  y ^= t ^ t << 7;
  t = (x ^ x >>> 14) & 0x0000cccc;
  x ^= t ^ t << 14;
  t = (y ^ y >>> 14) & 0x0000cccc;
  y ^= t ^ t << 14;
  transposedLow = x & 0x0f0f0f0f | y << 4 & 0xf0f0f0f0;
  transposedHigh = x >>> 4 & 0x0f0f0f0f | y & 0xf0f0f0f0;
}

/** Copies the bytes after the last whole element. */
function copyRest(from: Uint8Array, to: Uint8Array, start: number): void {
  for (let i = start; i < from.length; i++) to[i] = from[i]!;
}
