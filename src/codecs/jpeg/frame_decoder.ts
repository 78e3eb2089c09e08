import {
  type BlockDecoder,
  type Component,
  decodeScan,
  emptyPlane,
  type Frame,
  needTable,
  type Plane,
  readScan,
  type Scan,
  type ScanComponent,
} from "./frame.ts";
import { inverseDct } from "./samples.ts";
import {
  BitReader,
  type HuffmanTable,
  type Tables,
  ZIGZAG,
} from "./segments.ts";

/** Bounds the time that a small file takes. Encoders write about 10 scans. */
const MOST_SCANS = 100;

/**
 * The coefficients that must be whole. libjpeg estimates these if they are missing,
 * and takes later ones as 0.
 */
const NEEDED_COEFFICIENTS = 10;

/** Decodes the scans of a frame. */
export class FrameDecoder {
  readonly #frame: Frame;
  readonly #planes: readonly Plane[];
  /** The coefficients of the components of a progressive frame. */
  readonly #coefficients: readonly Int16Array[];
  /** For each component, the lowest bit of each coefficient so far; -1 for none. */
  readonly #lowBits: readonly Int8Array[];
  /** The factors of each component, as they are at its first scan. */
  readonly #factors: Int32Array[] = [];
  readonly #fills: boolean;
  #scans = 0;

  /** @param isStrict Whether a baseline scan that ends too early is refused. */
  constructor(frame: Frame, isStrict = false) {
    this.#frame = frame;
    this.#fills = !isStrict && !frame.isProgressive;
    this.#planes = frame.components.map(emptyPlane);
    this.#coefficients = frame.isProgressive
      ? this.#planes.map(({ samples }) => new Int16Array(samples.length))
      : [];
    this.#lowBits = frame.components.map(() => new Int8Array(64).fill(-1));
  }

  /**
   * Decodes a scan.
   *
   * @param segment The header of the scan.
   * @param start The place of its data.
   * @param interval The number of units between restart markers; 0 for none.
   * @returns A place after which the next marker is.
   */
  decode(
    bytes: Uint8Array,
    segment: Uint8Array,
    start: number,
    tables: Tables,
    interval: number,
  ): number {
    const frame = this.#frame;
    const scan = readScan(segment, frame, tables);
    if (++this.#scans > MOST_SCANS) {
      throw new SyntaxError(`Expected ${MOST_SCANS} scans at most, found more`);
    }
    for (const { place } of scan.components) this.#begin(place, scan, tables);
    const decoder = frame.isProgressive
      ? new ProgressiveDecoder(this.#coefficients, scan)
      : sequentialDecoder(this.#planes, this.#factors);
    const reader = new BitReader(bytes, start, this.#fills);
    decodeScan(reader, frame, scan, interval, decoder);
    return reader.offset;
  }

  #begin(place: number, { first, last, lowBit }: Scan, tables: Tables): void {
    const { id, quantization } = this.#frame.components[place]!;
    const lowBits = this.#lowBits[place]!;
    if (!this.#frame.isProgressive && lowBits[0] === 0) {
      throw new SyntaxError(`The component ${id} has two scans`);
    }
    lowBits.fill(lowBit, first, last + 1);
    const factors = this.#factors[place] ?? tables.quantization[quantization];
    if (factors === undefined) {
      throw new SyntaxError(
        `The component ${id} needs the quantization table ${quantization}, which is missing: expected it in the picture or in tables`,
      );
    }
    this.#factors[place] = factors;
  }

  /** The samples of all components. */
  planes(): readonly Plane[] {
    if (!this.#isWhole()) {
      throw new SyntaxError("The picture ends before its last scan");
    }
    for (const [place, coefficients] of this.#coefficients.entries()) {
      const component = this.#frame.components[place]!;
      const factors = this.#factors[place]!;
      const count = component.blockStride * component.blockRows;
      for (let block = 0; block < count; block++) {
        const from = { coefficients, start: 64 * block, factors };
        putBlock(from, this.#planes[place]!, component, block);
      }
    }
    return this.#planes;
  }

  #isWhole(): boolean {
    return this.#lowBits.every((bits) =>
      bits.subarray(0, NEEDED_COEFFICIENTS).every((bit) => bit === 0)
    );
  }
}

/** Decodes blocks that are stored as a whole, into samples. */
function sequentialDecoder(
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
function putBlock(
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
class ProgressiveDecoder implements BlockDecoder {
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
