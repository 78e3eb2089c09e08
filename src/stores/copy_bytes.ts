/** A copy of bytes. Node's `Buffer`, which some stores give, has a `slice` that makes none. */
export function copyBytes(
  bytes: Uint8Array,
  start = 0,
  end: number = bytes.length,
): Uint8Array {
  return new Uint8Array(bytes.subarray(start, end));
}
