/** Reads the bits of an entropy-coded segment, up to the marker that ends it. */
export class BitReader {
  readonly #bytes: Uint8Array;
  /** The place of the next byte that is not in `#buffer`. */
  offset: number;
  /** The bits that are read next, in the low `#count` bits. */
  #buffer = 0;
  #count = 0;
  /** The number of bits in the buffer that come after the end of the segment. */
  #padding = 0;
  #isAtMarker = false;

  constructor(bytes: Uint8Array, offset: number) {
    this.#bytes = bytes;
    this.offset = offset;
  }

  /** Returns the next bits, at most 16, without reading them. */
  peek(count: number): number {
    if (this.#count < 16) this.#fill();
    return this.#buffer >>> (this.#count - count) & ((1 << count) - 1);
  }

  /** Reads bits that were returned by `peek`. */
  skip(count: number): void {
    this.#count -= count;
    if (this.#count < this.#padding) {
      throw new SyntaxError(
        `The data of a scan ends too early, at byte ${this.offset}`,
      );
    }
  }

  /** Reads at most 16 bits. */
  read(count: number): number {
    const bits = this.peek(count);
    this.skip(count);
    return bits;
  }

  /** Reads a number of `count` bits, of which the lower half is negative. */
  readSigned(count: number): number {
    const bits = this.read(count);
    return bits >= 1 << (count - 1) ? bits : bits - (1 << count) + 1;
  }

  /** Skips the rest of a byte and the restart marker of this number, 0 to 7. */
  restart(number: number): void {
    const { marker, end } = findMarker(this.#bytes, this.offset);
    if (marker !== RST0 + number) {
      throw new SyntaxError(
        `Expected the restart marker 0xff${
          (RST0 + number).toString(16)
        } before byte ${end}, found 0xff${marker.toString(16)}`,
      );
    }
    this.offset = end;
    this.#buffer = this.#count = this.#padding = 0;
    this.#isAtMarker = false;
  }

  #fill(): void {
    while (this.#count <= 24) {
      const byte = this.#isAtMarker ? undefined : this.#nextByte();
      if (byte === undefined) {
        this.#isAtMarker = true;
        this.#padding += 8;
      }
      this.#buffer = this.#buffer << 8 | (byte ?? 0);
      this.#count += 8;
    }
  }

  /** The next byte of data; `undefined` at a marker and at the end. */
  #nextByte(): number | undefined {
    const byte = this.#bytes[this.offset];
    if (byte !== 0xff) {
      if (byte !== undefined) this.offset++;
      return byte;
    }
    let next = this.offset + 1;
    while (this.#bytes[next] === 0xff) next++;
    if (this.#bytes[next] !== 0) return undefined;
    this.offset = next + 1;
    return byte;
  }
}

const RST0 = 0xd0;

/** The marker of the end, which may be missing. */
export const END_MARKER = 0xd9;

/**
 * Finds the next marker. Bytes before it are skipped, as libjpeg does.
 *
 * @returns The second byte of the marker, and the place after it.
 */
export function findMarker(
  bytes: Uint8Array,
  start: number,
): { marker: number; end: number } {
  for (let i = start; i < bytes.length - 1; i++) {
    const marker = bytes[i + 1]!;
    if (bytes[i] === 0xff && marker !== 0 && marker !== 0xff) {
      return { marker, end: i + 2 };
    }
  }
  return { marker: END_MARKER, end: bytes.length };
}
