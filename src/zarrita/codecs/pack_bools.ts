/** Writes a bit for each element: 1 unless its byte is 0. */
export function packBools(elements: Uint8Array, packed: Uint8Array): void {
  for (let i = 0; i < elements.length; i++) {
    packed[i >>> 3]! |= +(elements[i] !== 0) << (i & 7);
  }
}

/** Writes a byte for each bit, 0 or 1. */
export function unpackBools(packed: Uint8Array, elements: Uint8Array): void {
  for (let i = 0; i < elements.length; i++) {
    elements[i] = packed[i >>> 3]! >> (i & 7) & 1;
  }
}
