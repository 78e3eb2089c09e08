import type { BitReader } from "./bit_reader.ts";
import { tooMany } from "./sequential.ts";
import {
  type BlockDecoder,
  needTable,
  type Scan,
  type ScanComponent,
} from "./scan.ts";
import { type HuffmanTable, ZIGZAG } from "./tables.ts";

/** Adds the bits of a scan of a progressive picture to the coefficients of blocks. */
export class ProgressiveDecoder implements BlockDecoder {
  /** The coefficients of each component, block by block. */
  readonly #coefficients: readonly Int16Array[];
  readonly #scan: Scan;
  /** The first coefficient of the last block of each component. */
  readonly #earlier: Int32Array;
  /** The number of next blocks that have no further coefficients. */
  #ended = 0;

  constructor(coefficients: readonly Int16Array[], scan: Scan) {
    this.#coefficients = coefficients;
    this.#scan = scan;
    this.#earlier = new Int32Array(coefficients.length);
  }

  decodeBlock(
    reader: BitReader,
    { place, dc, ac }: ScanComponent,
    block: number,
  ): void {
    const all = this.#coefficients[place]!;
    const start = 64 * block;
    const { first, earlierBit, lowBit } = this.#scan;
    if (first > 0) {
      const table = needTable(ac);
      if (earlierBit === 0) this.#decodeAc(reader, table, all, start);
      else this.#refineAc(reader, table, all, start);
    } else if (earlierBit === 0) {
      const bits = needTable(dc).read(reader);
      if (bits > 0) this.#earlier[place]! += reader.readSigned(bits);
      all[start] = this.#earlier[place]! << lowBit;
    } else if (reader.read(1) === 1) all[start]! |= 1 << lowBit;
  }

  restart(): void {
    this.#earlier.fill(0);
    this.#ended = 0;
  }

  #decodeAc(
    reader: BitReader,
    table: HuffmanTable,
    all: Int16Array,
    start: number,
  ): void {
    if (this.#ended > 0) {
      this.#ended--;
      return;
    }
    const { first, last, lowBit } = this.#scan;
    for (let k = first; k <= last; k++) {
      const symbol = table.read(reader);
      const bits = symbol & 15;
      const zeros = symbol >> 4;
      if (bits === 0 && zeros < 15) {
        this.#ended = blocksThatEnd(reader, zeros) - 1;
        return;
      }
      k += zeros;
      if (bits === 0) continue;
      if (k > last) throw tooMany(reader);
      all[start + ZIGZAG[k]!] = reader.readSigned(bits) * 2 ** lowBit;
    }
  }

  /** Reads one more bit of the coefficients that are not 0, and new coefficients between them. */
  #refineAc(
    reader: BitReader,
    table: HuffmanTable,
    all: Int16Array,
    start: number,
  ): void {
    const { first, last, lowBit } = this.#scan;
    const one = 1 << lowBit;
    let k = first;
    if (this.#ended === 0) {
      for (; k <= last; k++) {
        const symbol = table.read(reader);
        let zeros = symbol >> 4;
        let added = 0;
        if ((symbol & 15) !== 0) added = reader.read(1) === 1 ? one : -one;
        else if (zeros < 15) {
          this.#ended = blocksThatEnd(reader, zeros);
          break;
        }
        for (; k <= last; k++) {
          const at = start + ZIGZAG[k]!;
          if (all[at] !== 0) this.#refine(reader, all, at, one);
          else if (zeros-- === 0) break;
        }
        if (added === 0) continue;
        if (k > last) throw tooMany(reader);
        all[start + ZIGZAG[k]!] = added;
      }
    }
    if (this.#ended === 0) return;
    for (; k <= last; k++) {
      const at = start + ZIGZAG[k]!;
      if (all[at] !== 0) this.#refine(reader, all, at, one);
    }
    this.#ended--;
  }

  #refine(reader: BitReader, all: Int16Array, at: number, one: number): void {
    if (reader.read(1) === 0) return;
    const value = all[at]!;
    // The bit is set already if scans contradict each other.
    if ((value & one) === 0) all[at] = value + (value < 0 ? -one : one);
  }
}

/** The number of blocks whose coefficients end, of which the present one is the first. */
function blocksThatEnd(reader: BitReader, bits: number): number {
  return bits === 0 ? 1 : (1 << bits) + reader.read(bits);
}
