/** Copies the bytes of all pieces one after another into new memory. */
export function joinBytes(pieces: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(
    pieces.reduce((sum, piece) => sum + piece.length, 0),
  );
  let offset = 0;
  for (const piece of pieces) {
    joined.set(piece, offset);
    offset += piece.length;
  }
  return joined;
}

/** The 4 bytes of a number in little endian. */
export function uint32(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value, true);
  return bytes;
}

/** Copies bytes. `slice` is not used, since some stores return a `Buffer` of Node, whose `slice` makes a view. */
export function copyBytes(
  bytes: Uint8Array,
  start = 0,
  end: number = bytes.length,
): Uint8Array {
  return new Uint8Array(bytes.subarray(start, end));
}

/** Returns the bytes in memory of their own, since zarrita encodes all of the memory in which elements lie. */
export function ownBytes(bytes: Uint8Array): Uint8Array {
  return bytes.length === bytes.buffer.byteLength
    ? new Uint8Array(bytes.buffer)
    : copyBytes(bytes);
}

/** Shorter memory may be that of a pool of the runtime, and needs no care. */
const LEAST_TO_FREE = 128 * 1024;

/** Frees memory that nobody uses any more, which would wait for the collection of garbage. Node 20 cannot. */
export function freeMemory(memory: ArrayBufferLike): void {
  if (!(memory instanceof ArrayBuffer)) return;
  if (memory.byteLength < LEAST_TO_FREE) return;
  (memory as { transfer?(length: number): unknown }).transfer?.(0);
}

/** Whether two values have the same bytes, or both are absent. */
export function isSameBytes(
  a: Uint8Array | undefined,
  b: Uint8Array | undefined,
): boolean {
  if (a === undefined || b === undefined) return a === b;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/**
 * Returns a text that other bytes do not have: the beginning of their SHA-256 in
 * hexadecimal digits.
 *
 * @param length The number of bytes of the digest that the text shows, up to 32.
 */
export async function digestOf(
  bytes: Uint8Array,
  length = 16,
): Promise<string> {
  const digest = new Uint8Array(
    await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>),
    0,
    length,
  );
  return digest.toHex?.() ??
    Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Decodes Base64; throws for other text, as `atob` does. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (byte) => byte.charCodeAt(0));
}

export function encodeBase64(bytes: Iterable<number>): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

/** Whether two lists have the same items. */
export function isSameList(
  a: readonly unknown[],
  b: readonly unknown[],
): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i]);
}
