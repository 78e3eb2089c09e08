import type { ByteRange } from "./store.ts";

/** Refuses a range whose numbers are not whole numbers from 0 to 2^53−1. */
export function assertByteRange(range: ByteRange): void {
  for (const [name, value] of Object.entries(range)) {
    if (!Number.isSafeInteger(value) || value < 0) {
      throw new RangeError(
        `Expected the range's ${name} to be a whole number from 0 to 2^53−1, found ${value}`,
      );
    }
  }
}

/** Where a range starts and ends (exclusive) in a value of `size` bytes. */
export function resolveByteRange(
  range: ByteRange,
  size: number,
): { start: number; end: number } {
  assertByteRange(range);
  if ("suffixLength" in range) {
    return { start: Math.max(0, size - range.suffixLength), end: size };
  }
  const start = Math.min(range.offset, size);
  return { start, end: start + Math.min(range.length, size - start) };
}
