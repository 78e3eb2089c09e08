/** Keys of what zarrita hands on without them: bytes that were read, and the options of a read. */
const keys = new WeakMap<object, string>();

/**
 * Remembers where bytes come from, or what was read with options, for messages.
 * zarrita gives its codecs bytes and no key, but the very object that the store
 * has returned, and the store the very options that a chunk was asked for with.
 */
export function noteKey(noted: object, key: string): void {
  keys.set(noted, key);
}

/** The key that was noted; empty where none was. */
export function keyOf(noted: object): string {
  return keys.get(noted) ?? "";
}
