/** The places of coefficients in a block, in the order in which they are stored. */
// deno-fmt-ignore
export const ZIGZAG: Uint8Array = /* @__PURE__ */ new Uint8Array([
   0,  1,  8, 16,  9,  2,  3, 10, 17, 24, 32, 25, 18, 11,  4,  5,
  12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13,  6,  7, 14, 21, 28,
  35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
  58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
]);

/** The tables that segments define, by their numbers, 0 to 3. */
export interface Tables {
  /** The factors of the coefficients, in the order of a block. */
  readonly quantization: Int32Array[];
  readonly dc: HuffmanTable[];
  readonly ac: HuffmanTable[];
}

/**
 * Reads the tables in a JPEG file, which may lack a picture.
 *
 * @throws {SyntaxError} If the file is damaged.
 */
export function readJpegTables(bytes: Uint8Array): Tables {
  const tables: Tables = { quantization: [], dc: [], ac: [] };
  for (const { marker, segment } of segments(bytes)) {
    readTables(marker, segment, tables);
  }
  return tables;
}

const DHT = 0xc4;
const SOI = 0xd8;
const DQT = 0xdb;

/** Reads the tables of a segment, if it has some. */
export function readTables(
  marker: number,
  segment: Uint8Array,
  tables: Tables,
): void {
  if (marker === DQT) readQuantization(segment, tables);
  if (marker === DHT) readHuffman(segment, tables);
}

/** A marker with the bytes of its segment, which ends at `end`. */
interface Segment {
  readonly marker: number;
  readonly segment: Uint8Array;
  readonly end: number;
}

/**
 * Finds the segments of a JPEG file, up to its end.
 *
 * @returns A generator whose `next` takes the place where to continue; by default the
 * end of the segment.
 * @throws {SyntaxError} If the file starts otherwise, or a segment is cut short.
 */
export function* segments(
  bytes: Uint8Array,
): Generator<Segment, void, number | undefined> {
  if (bytes[0] !== 0xff || bytes[1] !== SOI) {
    throw new SyntaxError(
      "Expected a JPEG file, which starts with the bytes 0xff and 0xd8",
    );
  }
  let place = 2;
  while (true) {
    const { marker, end } = findMarker(bytes, place);
    if (marker === END_MARKER) return;
    place = end;
    if (isAlone(marker)) continue;
    if (!isKnown(marker)) {
      throw new SyntaxError(
        `Unexpected marker 0xff${
          marker.toString(16).padStart(2, "0")
        } before byte ${end}`,
      );
    }
    const length = numberAt(bytes, end);
    if (length < 2 || end + length > bytes.length) {
      throw new SyntaxError(
        `The segment at ${end - 2} has ${length} bytes, of ${bytes.length}`,
      );
    }
    place = end + length;
    const segment = bytes.subarray(end + 2, place);
    place = (yield { marker, segment, end: place }) ?? place;
  }
}

/** Whether a marker has no segment: TEM, and the restart markers. */
function isAlone(marker: number): boolean {
  return marker === 1 || marker >= 0xd0 && marker <= 0xd7;
}

/** Whether a marker is defined, but not for hierarchical files or extensions. */
function isKnown(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xef &&
      ![0xc8, SOI, 0xde, 0xdf].includes(marker) || marker === 0xfe;
}

/** The number of two bytes at a place; 0 beyond the end. */
export function numberAt(bytes: Uint8Array, place: number): number {
  return (bytes[place] ?? 0) << 8 | (bytes[place + 1] ?? 0);
}

/** A picture of a JPEG file, before it is decoded. */
export interface Frame {
  readonly width: number;
  readonly height: number;
  readonly isProgressive: boolean;
  readonly components: readonly Component[];
  /** The number of units of `8 * most samples` pixels along x and y. */
  readonly unitsX: number;
  readonly unitsY: number;
}

/** One of the colors of a picture. */
export interface Component {
  readonly id: number;
  /** The blocks in a unit along x and y, 1 to 4. */
  readonly factorX: number;
  readonly factorY: number;
  readonly quantization: number;
  /** The number of samples along x and y. */
  readonly width: number;
  readonly height: number;
  /** The number of blocks along x and y that hold them. */
  readonly blocksX: number;
  readonly blocksY: number;
  /** The number of blocks from one row of blocks to the next, up to whole units. */
  readonly blockStride: number;
  /** The number of rows of blocks, up to whole units. */
  readonly blockRows: number;
}

const SOF0 = 0xc0;
const SOF2 = 0xc2;

/** The kinds of frames that are not decoded, by their markers. */
const OTHER_KINDS: Readonly<Record<number, string>> = {
  0xc3: "lossless",
  0xc5: "hierarchical",
  0xc6: "hierarchical",
  0xc7: "lossless",
  0xc9: "arithmetic coding",
  0xca: "arithmetic coding",
  0xcb: "lossless or hierarchical",
  0xcd: "lossless or hierarchical",
  0xce: "lossless or hierarchical",
  0xcf: "lossless or hierarchical",
};

/** Whether a marker begins a frame, of any kind. */
export function isFrameMarker(marker: number): boolean {
  return marker >= SOF0 && marker <= SOF2 || marker in OTHER_KINDS;
}

/**
 * Says why a frame is not decoded; `undefined` for a frame that is.
 *
 * @param bits The number of bits of a sample.
 */
function refusalOf(marker: number, bits: number): string | undefined {
  if (marker in OTHER_KINDS) {
    return `Expected a picture with Huffman coding, baseline or progressive, found ${
      OTHER_KINDS[marker]
    }`;
  }
  return bits === 8 ? undefined : `Expected samples of 8 bits, found ${bits}`;
}

/** The properties of a picture in the first frame of a JPEG file. */
interface JpegHeader {
  /** The height, the width, and the number of samples of a pixel. */
  readonly shape: readonly [number, number, number];
  /** Why the picture cannot be decoded; `undefined` if it can be. */
  readonly refusal: string | undefined;
}

/**
 * Finds the header of the picture in a JPEG file.
 *
 * @param bytes The start of the file.
 * @returns `undefined` if the bytes hold no header, or are damaged before it.
 */
export function findJpegHeader(bytes: Uint8Array): JpegHeader | undefined {
  try {
    for (const { marker, segment } of segments(bytes)) {
      if (!isFrameMarker(marker)) continue;
      const [bits = 0, , , , , samples = 0] = segment;
      return {
        shape: [numberAt(segment, 1), numberAt(segment, 3), samples],
        refusal: refusalOf(marker, bits),
      };
    }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  return undefined;
}

/** Reads the header of a frame. */
export function readFrame(marker: number, segment: Uint8Array): Frame {
  const [bits = 0, , , , , count = 0] = segment;
  const refusal = refusalOf(marker, bits);
  if (refusal !== undefined) throw new SyntaxError(refusal);
  if (segment.length < 6 || segment.length !== 6 + 3 * count || count === 0) {
    throw new SyntaxError("The header of the frame is damaged");
  }
  const height = segment[1]! << 8 | segment[2]!;
  const width = segment[3]! << 8 | segment[4]!;
  if (width === 0 || height === 0 || count > 4) {
    throw new SyntaxError(
      `Expected a picture of 1 pixel or more with 1 to 4 components, found ${width} by ${height} pixels with ${count}`,
    );
  }
  const raw = Array.from({ length: count }, (_, i) => {
    const at = 6 + 3 * i;
    const factors = segment[at + 1]!;
    return {
      id: segment[at]!,
      factorX: factors >> 4,
      factorY: factors & 15,
      quantization: segment[at + 2]!,
    };
  });
  const mostX = Math.max(...raw.map(({ factorX }) => factorX));
  const mostY = Math.max(...raw.map(({ factorY }) => factorY));
  const unitsX = Math.ceil(width / (8 * mostX));
  const unitsY = Math.ceil(height / (8 * mostY));
  const components = raw.map((component): Component => {
    const { id, factorX, factorY } = component;
    const isWhole = mostX % factorX === 0 && mostY % factorY === 0;
    if (!isWhole || mostX > 4 || mostY > 4) {
      throw new SyntaxError(
        `Expected sampling factors of 1 to 4 that divide ${mostX} and ${mostY}, found ${factorX} and ${factorY}`,
      );
    }
    if (raw.some((other) => other !== component && other.id === id)) {
      throw new SyntaxError(`Two components have the identifier ${id}`);
    }
    const samplesX = Math.ceil(width * factorX / mostX);
    const samplesY = Math.ceil(height * factorY / mostY);
    return {
      ...component,
      width: samplesX,
      height: samplesY,
      blocksX: Math.ceil(samplesX / 8),
      blocksY: Math.ceil(samplesY / 8),
      blockStride: unitsX * factorX,
      blockRows: unitsY * factorY,
    };
  });
  const isProgressive = marker === SOF2;
  return { width, height, isProgressive, components, unitsX, unitsY };
}

const HIGHEST_TABLE = 3;
/** The most bits of a first coefficient; its symbol is the number of bits. */
const MOST_BITS = 15;

/** Reads the tables of a DQT segment. */
function readQuantization(segment: Uint8Array, tables: Tables): void {
  for (let i = 0; i < segment.length;) {
    const size = segment[i]! >> 4 ? 2 : 1;
    const number = segment[i]! & 15;
    const end = i + 1 + 64 * size;
    if (number > HIGHEST_TABLE || end > segment.length) {
      throw new SyntaxError("A segment of quantization tables is damaged");
    }
    const table = new Int32Array(64);
    for (let k = 0; k < 64; k++) {
      const at = i + 1 + k * size;
      table[ZIGZAG[k]!] = size === 1
        ? segment[at]!
        : segment[at]! << 8 | segment[at + 1]!;
    }
    tables.quantization[number] = table;
    i = end;
  }
}

/** Reads the tables of a DHT segment. */
function readHuffman(segment: Uint8Array, tables: Tables): void {
  for (let i = 0; i < segment.length;) {
    const isAc = segment[i]! >> 4;
    const number = segment[i]! & 15;
    const counts = segment.subarray(i + 1, i + 17);
    const total = counts.reduce((sum, count) => sum + count, 0);
    const end = i + 17 + total;
    const symbols = segment.slice(i + 17, end);
    const isDamaged = isAc > 1 || number > HIGHEST_TABLE ||
      end > segment.length || !isAc && symbols.some((bits) => bits > MOST_BITS);
    if (isDamaged) {
      throw new SyntaxError("A segment of Huffman tables is damaged");
    }
    const table = new HuffmanTable(counts, symbols);
    (isAc ? tables.ac : tables.dc)[number] = table;
    i = end;
  }
}

/** The length of the codes that are found in a table, in bits. */
const SHORT = 9;
const LONGEST = 16;

/** The codes of a DHT segment. */
export class HuffmanTable {
  /** The length and the symbol of each short code, followed by any bits. */
  readonly #short = new Uint16Array(2 ** SHORT);
  readonly #symbols: Uint8Array;
  /** For each length, the code after the last one. */
  readonly #ends = new Int32Array(LONGEST + 1);
  /** For each length, the difference between the place of a symbol and its code. */
  readonly #places = new Int32Array(LONGEST + 1);

  constructor(counts: Uint8Array, symbols: Uint8Array) {
    this.#symbols = symbols;
    let code = 0;
    let place = 0;
    for (let length = 1; length <= LONGEST; length++) {
      this.#places[length] = place - code;
      const end = code + counts[length - 1]!;
      if (end >= 2 ** length) { // No code has only ones.
        throw new SyntaxError(
          `A Huffman table has too many codes of ${length} bits`,
        );
      }
      for (; code < end; code++, place++) {
        if (length > SHORT) continue;
        const free = SHORT - length;
        this.#short.fill(
          length << 8 | symbols[place]!,
          code << free,
          code + 1 << free,
        );
      }
      this.#ends[length] = code;
      code *= 2;
    }
  }

  /** Reads a code, and returns its symbol. */
  read(reader: BitReader): number {
    const bits = reader.peek(LONGEST);
    const short = this.#short[bits >> LONGEST - SHORT]!;
    if (short !== 0) {
      reader.skip(short >> 8);
      return short & 255;
    }
    for (let length = SHORT + 1; length <= LONGEST; length++) {
      const code = bits >> LONGEST - length;
      if (code >= this.#ends[length]!) continue;
      reader.skip(length);
      return this.#symbols[code + this.#places[length]!]!;
    }
    throw new SyntaxError(
      `The data of a scan has an unknown code before byte ${reader.offset}`,
    );
  }
}

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
  readonly #fills: boolean;
  /** Whether bits were read that come after the end of the segment. */
  isExhausted = false;

  /** @param fills Whether zeros follow the end of the segment, as in libjpeg; otherwise reading them throws. */
  constructor(bytes: Uint8Array, offset: number, fills: boolean) {
    this.#bytes = bytes;
    this.offset = offset;
    this.#fills = fills;
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
      this.isExhausted = true;
      if (this.#fills) return;
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
    this.#buffer = this.#count = this.#padding = 0;
    if (this.#fills && marker > RST0 + 7) {
      this.#isAtMarker = true; // Which ends the scan too early.
      return;
    }
    if (marker !== RST0 + number) {
      throw new SyntaxError(
        `Expected the restart marker 0xff${
          (RST0 + number).toString(16)
        } before byte ${end}, found 0xff${marker.toString(16)}`,
      );
    }
    this.offset = end;
    this.#isAtMarker = this.isExhausted = false;
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
const END_MARKER = 0xd9;

/**
 * Finds the next marker. Bytes before it are skipped, as libjpeg does.
 *
 * @returns The second byte of the marker, and the place after it.
 */
function findMarker(
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
