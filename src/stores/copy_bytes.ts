/** Copies bytes. `slice` would not do: that of Node's `Buffer`, which some stores return, makes a view. */
export function copyBytes(
  bytes: Uint8Array,
  start = 0,
  end: number = bytes.length,
): Uint8Array {
  return new Uint8Array(bytes.subarray(start, end));
}

/** Whether bytes fill their memory. A view would keep a whole value in memory, and its user might change what lies around it. */
export function isOwn(bytes: Uint8Array | undefined): boolean {
  return bytes?.length === bytes?.buffer.byteLength;
}
