import { inverseDct, type Plane } from "./samples.ts";
import {
  type BitReader,
  type Component,
  type Frame,
  type HuffmanTable,
  type Tables,
  ZIGZAG,
} from "./segments.ts";

/** The header of a scan, which has data for some components of a frame. */
export interface Scan {
  readonly components: readonly ScanComponent[];
  /** The first and the last coefficient of each block, in the order of storage. */
  readonly first: number;
  readonly last: number;
  /** The lowest bit of coefficients that earlier scans hold; 0 if none do. */
  readonly earlierBit: number;
  /** The lowest bit of coefficients that this scan holds. */
  readonly lowBit: number;
}

/** A component in a scan. */
interface ScanComponent {
  /** Its place in the frame. */
  readonly place: number;
  readonly component: Component;
  readonly dc: HuffmanTable | undefined;
  readonly ac: HuffmanTable | undefined;
}

/** Decodes a block of a component, whose place is counted in blocks. */
interface BlockDecoder {
  /** @param reader `undefined` for blocks after the end of a scan that ends too early. */
  decodeBlock(
    reader: BitReader | undefined,
    component: ScanComponent,
    block: number,
  ): void;
  /** Starts anew after a restart marker: later blocks do not depend on earlier ones. */
  restart(): void;
}

const HIGHEST_BIT = 13;

/** Reads the header of a scan. */
export function readScan(
  segment: Uint8Array,
  frame: Frame,
  tables: Tables,
): Scan {
  const count = segment[0] ?? 0;
  if (count < 1 || count > 4 || segment.length !== 4 + 2 * count) {
    throw new SyntaxError("The header of a scan is damaged");
  }
  const components = Array.from({ length: count }, (_, i): ScanComponent => {
    const id = segment[1 + 2 * i]!;
    const numbers = segment[2 + 2 * i]!;
    const place = frame.components.findIndex((each) => each.id === id);
    if (place < 0) {
      throw new SyntaxError(
        `A scan has the component ${id}, which its frame lacks`,
      );
    }
    return {
      place,
      component: frame.components[place]!,
      dc: tables.dc[numbers >> 4],
      ac: tables.ac[numbers & 15],
    };
  });
  if (new Set(components.map(({ place }) => place)).size < count) {
    throw new SyntaxError("A scan has a component twice");
  }
  const [first, last, bits] = segment.subarray(1 + 2 * count) as unknown as [
    number,
    number,
    number,
  ];
  const scan = {
    components,
    first,
    last,
    earlierBit: bits >> 4,
    lowBit: bits & 15,
  };
  const isDcOrAc = first === 0 ? last === 0 : count === 1;
  const isRight = frame.isProgressive
    ? isDcOrAc && first <= last && last < 64 && scan.lowBit <= HIGHEST_BIT &&
      (scan.earlierBit === 0 || scan.earlierBit === scan.lowBit + 1)
    : first === 0 && last === 63 && bits === 0;
  if (isRight) return scan;
  throw new SyntaxError(
    `The header of a scan has the coefficients ${first} to ${last} with the bits ${scan.earlierBit} and ${scan.lowBit}, for ${count} components`,
  );
}

/**
 * Decodes the data of a scan.
 *
 * @param interval The number of units between restart markers; 0 for none.
 * @param reader Ends before a place after which the next marker is.
 */
export function decodeScan(
  reader: BitReader,
  frame: Frame,
  { components }: Scan,
  interval: number,
  decoder: BlockDecoder,
): void {
  const only = components.length === 1 ? components[0] : undefined;
  const unitsX = only?.component.blocksX ?? frame.unitsX;
  const unitsY = only?.component.blocksY ?? frame.unitsY;
  let done = 0;
  for (let y = 0; y < unitsY; y++) {
    for (let x = 0; x < unitsX; x++, done++) {
      if (interval > 0 && done > 0 && done % interval === 0) {
        reader.restart((done / interval - 1) % 8);
        decoder.restart();
      }
      // As in libjpeg, the unit in which the data ends is decoded from zeros.
      const source = reader.isExhausted ? undefined : reader;
      if (only !== undefined) {
        const block = y * only.component.blockStride + x;
        decoder.decodeBlock(source, only, block);
        continue;
      }
      for (const each of components) {
        const { factorX, factorY, blockStride } = each.component;
        for (let v = 0; v < factorY; v++) {
          const row = (y * factorY + v) * blockStride + x * factorX;
          for (let h = 0; h < factorX; h++) {
            decoder.decodeBlock(source, each, row + h);
          }
        }
      }
    }
  }
}

/** Decodes blocks that are stored as a whole, into samples. */
export function sequentialDecoder(
  planes: readonly Plane[],
  factors: readonly Int32Array[],
): BlockDecoder {
  /** The first coefficient of the last block of each component. */
  const earlier = new Int32Array(planes.length);
  const coefficients = new Int16Array(64);
  const read = (
    reader: BitReader,
    { place, dc, ac }: ScanComponent,
  ): void => {
    const bits = needTable(dc).read(reader);
    if (bits > 0) earlier[place]! += reader.readSigned(bits);
    coefficients[0] = earlier[place]!;
    const table = needTable(ac);
    for (let k = 1; k < 64; k++) {
      const symbol = table.read(reader);
      const bits = symbol & 15;
      const zeros = symbol >> 4;
      if (bits === 0 && zeros < 15) break;
      k += zeros;
      if (bits === 0) continue;
      if (k > 63) throw tooMany(reader);
      coefficients[ZIGZAG[k]!] = reader.readSigned(bits);
    }
  };
  return {
    decodeBlock(reader, scanned, block) {
      coefficients.fill(0);
      if (reader !== undefined) read(reader, scanned);
      const { place, component } = scanned;
      const from = { coefficients, start: 0, factors: factors[place]! };
      putBlock(from, planes[place]!, component, block);
    },
    restart() {
      earlier.fill(0);
    },
  };
}

/** Transforms the coefficients of a block into samples of a plane. */
export function putBlock(
  { coefficients, start, factors }: {
    coefficients: Int16Array;
    start: number;
    factors: Int32Array;
  },
  { samples, stride }: Plane,
  { blockStride }: Component,
  block: number,
): void {
  const x = block % blockStride;
  const y = (block - x) / blockStride;
  const place = 8 * (y * stride + x);
  inverseDct(coefficients, start, factors, samples, place, stride);
}

/** The error for a block of more than 64 coefficients. */
function tooMany(reader: BitReader): SyntaxError {
  return new SyntaxError(
    `A block has more than 64 coefficients before byte ${reader.offset}`,
  );
}

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
    reader: BitReader | undefined,
    { place, dc, ac }: ScanComponent,
    block: number,
  ): void {
    if (reader === undefined) return; // Whose scans end with an error.
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

/** A table that a scan needs. */
function needTable(table: HuffmanTable | undefined): HuffmanTable {
  if (table !== undefined) return table;
  throw new SyntaxError(
    "A scan needs a Huffman table that is missing: expected it in the picture or in tables",
  );
}
