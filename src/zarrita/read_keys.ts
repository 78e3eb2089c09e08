/** The keys that bytes were read from. */
const keys = new WeakMap<Uint8Array, string>();

/**
 * Notes the key that bytes were read from, for messages of codecs. zarrita gives a
 * codec no key, but the same object that the store has returned.
 */
export function noteKey(bytes: Uint8Array, key: string): void {
  keys.set(bytes, key);
}

/** The key noted for bytes, or an empty string. */
export function keyOf(bytes: Uint8Array): string {
  return keys.get(bytes) ?? "";
}
