/** Bytes that decoders append, of a length that is known at the end at the latest. */
export class GrowingBytes {
  /** The most bytes. */
  readonly limit: number;
  #bytes: Uint8Array;
  #length = 0;

  /**
   * @param limit The most bytes.
   * @param expected The number of bytes, if it is known.
   */
  constructor(limit: number, expected = 2 ** 16) {
    this.limit = limit;
    this.#bytes = new Uint8Array(Math.min(limit, expected));
  }

  /** The number of bytes so far. */
  get length(): number {
    return this.#length;
  }

  /** Appends a byte. Returns whether there is room for it. */
  push(byte: number): boolean {
    if (this.#length === this.#bytes.length && !this.#grow(1)) return false;
    this.#bytes[this.#length++] = byte;
    return true;
  }

  /** Appends the same byte some times. */
  fill(byte: number, count: number): boolean {
    if (!this.#grow(count)) return false;
    this.#bytes.fill(byte, this.#length, this.#length += count);
    return true;
  }

  /** Appends bytes. */
  append(bytes: Uint8Array): boolean {
    if (!this.#grow(bytes.length)) return false;
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
    return true;
  }

  /** Repeats bytes from some distance before the end. */
  repeat(distance: number, count: number): boolean {
    if (!this.#grow(count)) return false;
    const bytes = this.#bytes;
    let to = this.#length;
    this.#length += count;
    for (; to < this.#length; to++) bytes[to] = bytes[to - distance]!;
    return true;
  }

  /** The byte at some distance before the end. */
  before(distance: number): number {
    return this.#bytes[this.#length - distance]!;
  }

  /** The bytes so far, valid until more are appended. */
  view(start = 0): Uint8Array {
    return this.#bytes.subarray(start, this.#length);
  }

  /** The bytes, in memory of their own. */
  take(): Uint8Array {
    return this.#length === this.#bytes.length
      ? this.#bytes
      : this.#bytes.slice(0, this.#length);
  }

  #grow(count: number): boolean {
    const needed = this.#length + count;
    if (needed > this.limit) return false;
    if (needed > this.#bytes.length) {
      const size = Math.max(needed, 2 * this.#bytes.length);
      const grown = new Uint8Array(Math.min(size, this.limit));
      grown.set(this.view());
      this.#bytes = grown;
    }
    return true;
  }
}
