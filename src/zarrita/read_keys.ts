/** The keys of bytes that were read. */
const keys = new WeakMap<Uint8Array, string>();

/**
 * Remembers where bytes come from, for messages about them. zarrita gives its
 * codecs bytes and no key, but the very object that the store has returned.
 */
export function noteKey(bytes: Uint8Array, key: string): void {
  keys.set(bytes, key);
}

/** The key that bytes were noted under; empty where none was. */
export function keyOf(bytes: Uint8Array): string {
  return keys.get(bytes) ?? "";
}
