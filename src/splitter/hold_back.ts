/** How much is reserved at first of what may never come. */
const AT_FIRST = 64 * 1024;

/**
 * Keeps the last bytes of a sequence whose end is not known yet, exactly so many
 * and no more, in a ring that grows as they come.
 */
export class HoldBack {
  readonly #capacity: number;
  #ring = new Uint8Array();
  #start = 0;
  #length = 0;

  /** @param capacity How many bytes are kept, from 0; any number costs nothing by itself. */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** How many bytes are kept now. */
  get length(): number {
    return this.#length;
  }

  /** Takes more bytes, and gives those that are not among the last any more. */
  exchange(bytes: Uint8Array): { held: Uint8Array; passing: Uint8Array } {
    const excess = Math.max(
      0,
      this.#length + bytes.length - this.#capacity,
    );
    const held = this.release(Math.min(excess, this.#length));
    const passing = bytes.subarray(0, excess - held.length);
    this.#keep(bytes.subarray(passing.length));
    return { held, passing };
  }

  /** Gives the first of the kept bytes, or all of them, in memory of their own. */
  release(count = this.#length): Uint8Array {
    const released = new Uint8Array(count);
    const atEnd = this.#ring.subarray(this.#start, this.#start + count);
    released.set(atEnd);
    released.set(this.#ring.subarray(0, count - atEnd.length), atEnd.length);
    this.#length -= count;
    this.#start = this.#length === 0 ? 0 : this.#place(count);
    return released;
  }

  #keep(bytes: Uint8Array): void {
    this.#reserve(this.#length + bytes.length);
    const place = this.#place(this.#length);
    const atEnd = bytes.subarray(0, this.#ring.length - place);
    this.#ring.set(atEnd, place);
    this.#ring.set(bytes.subarray(atEnd.length));
    this.#length += bytes.length;
  }

  #reserve(needed: number): void {
    if (needed <= this.#ring.length) return;
    const size = Math.max(needed, AT_FIRST, 2 * this.#ring.length);
    const length = this.#length;
    const kept = this.release();
    this.#ring = new Uint8Array(Math.min(size, this.#capacity));
    this.#ring.set(kept);
    this.#length = length;
  }

  /** The place in the ring so many bytes after the start. */
  #place(offset: number): number {
    return this.#ring.length === 0
      ? 0
      : (this.#start + offset) % this.#ring.length;
  }
}
