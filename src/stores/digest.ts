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
