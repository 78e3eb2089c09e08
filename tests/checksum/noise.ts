/** Bytes without a pattern, the same in every run. */
export function noise(length: number, seed = 1): Uint8Array<ArrayBuffer> {
  let state = seed;
  const bytes = new Uint8Array(length);
  for (let i = 0; i < bytes.length; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    bytes[i] = state;
  }
  return bytes;
}
