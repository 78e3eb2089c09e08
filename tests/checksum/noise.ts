/** Bytes without a pattern, the same in every run. */
export function noise(length: number, seed = 1): Uint8Array<ArrayBuffer> {
  let state = seed;
  return Uint8Array.from({ length }, () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state;
  });
}
