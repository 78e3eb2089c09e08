/**
 * Bands of LERC: a header, a mask of the pixels with values, and the values.
 *
 * Sources: https://github.com/Esri/lerc, `src/LercLib/Lerc2.h`, `BitStuffer2.cpp` and
 * `Huffman.cpp`
 */
import { sentence } from "../errors/mod.ts";
import { TYPED_ARRAYS } from "./cast_elements.ts";

/** The data types of LERC, in the order of their numbers in its header. */
const DATA_TYPES = [
  "int8",
  "uint8",
  "int16",
  "uint16",
  "int32",
  "uint32",
  "float32",
  "float64",
] as const;
type DataType = typeof DATA_TYPES[number];

/** Whether LERC has a data type. */
export function hasLercType(dataType: string): dataType is DataType {
  return DATA_TYPES.includes(dataType as DataType);
}

/** Elements of a data type, all 0. */
export function lercArray(
  dataType: DataType,
  length: number,
): InstanceType<typeof TYPED_ARRAYS[DataType]> {
  return new TYPED_ARRAYS[dataType](length);
}

/** The header of a band. */
export interface LercBand {
  readonly version: number;
  readonly height: number;
  readonly width: number;
  /** The number of samples of a pixel. */
  readonly samples: number;
  readonly dataType: DataType;
  /** The number of pixels that have values. */
  readonly valid: number;
  readonly blockSize: number;
  /** The greatest error of a value. */
  readonly error: number;
  readonly least: number;
  readonly most: number;
  /** The bytes after the header. */
  readonly bytes: Uint8Array;
  /** The length of the band in bytes, its header included. */
  readonly length: number;
}

const MAGIC = "Lerc2 ";
/** Where the bytes begin that the checksum is of. */
const SUMMED = 14;
/** The greatest length of a side of a block that is accepted; those of encoders are 8, 16 and 32. */
const MOST_BLOCK = 256;

/**
 * Reads the header of the first band, and compares the checksum.
 *
 * @throws {SyntaxError} If the band is damaged.
 */
export function readLercBand(encoded: Uint8Array): LercBand {
  const magic = String.fromCharCode(...encoded.subarray(0, MAGIC.length));
  if (magic !== MAGIC) {
    throw new SyntaxError(
      sentence`Expected ${MAGIC} at its start, found ${magic}`,
    );
  }
  const bytes = new ByteCursor(encoded.subarray(MAGIC.length));
  const version = bytes.next("int32");
  // Later versions are not known, and earlier ones have no checksum.
  if (version < 3 || version > 5) {
    throw new SyntaxError(`Expected LERC 2.3 to 2.5, found 2.${version}`);
  }
  const checksum = bytes.next("uint32");
  const [height, width] = [bytes.next("uint32"), bytes.next("uint32")];
  const samples = version >= 4 ? bytes.next("uint32") : 1;
  const [valid, blockSize] = [bytes.next("uint32"), bytes.next("uint32")];
  const length = bytes.next("uint32");
  const dataType = DATA_TYPES[bytes.next("uint32")];
  const [error, least, most] = [1, 2, 3].map(() => bytes.next("float64")) as [
    number,
    number,
    number,
  ];
  const start = MAGIC.length + bytes.at;
  if (length < start || length > encoded.length) {
    throw new SyntaxError(`A band has ${length} bytes, of ${encoded.length}`);
  }
  if (fletcher32(encoded.subarray(SUMMED, length)) !== checksum) {
    throw new SyntaxError("Its checksum does not match");
  }
  if (
    dataType === undefined || valid > height * width || blockSize < 1 ||
    blockSize > MOST_BLOCK
  ) throw new SyntaxError("Its header is damaged");
  return {
    version,
    height,
    width,
    samples,
    dataType,
    valid,
    blockSize,
    error,
    least,
    most,
    bytes: encoded.subarray(start, length),
    length,
  };
}

function fletcher32(bytes: Uint8Array): number {
  let [sum, sums] = [0xffff, 0xffff];
  const fold = (n: number) => (n & 0xffff) + (n >>> 16);
  for (let at = 0; at < bytes.length;) {
    // So many pairs of bytes do not exceed 32 bits.
    const end = Math.min(bytes.length, at + 2 * 359);
    for (; at < end; at += 2) {
      sum += bytes[at]! << 8 | (bytes[at + 1] ?? 0);
      sums += sum;
    }
    [sum, sums] = [fold(sum), fold(sums)];
  }
  return (fold(sums) << 16 | fold(sum)) >>> 0;
}

/** The decoded values of a band. */
export interface LercValues {
  /** The samples of the pixels one after another, 0 for pixels without a value. */
  readonly values: ReturnType<typeof lercArray>;
  /** 0 for each pixel without a value; `undefined` where all have one. */
  readonly mask: Uint8Array | undefined;
}

/**
 * Decodes a band, in time and memory that its height, width and samples limit.
 *
 * @param earlier The mask of an earlier band, which later ones may share.
 * @throws {SyntaxError} If the band is damaged.
 */
export function decodeLercBand(
  band: LercBand,
  earlier: Uint8Array | undefined,
): LercValues {
  const { height, width, samples, dataType, valid, version } = band;
  const bytes = new ByteCursor(band.bytes);
  const values = lercArray(dataType, height * width * samples);
  const mask = readMask(band, bytes, earlier);
  const decoding: Decoding = { ...band, bytes, values, mask, mosts: [] };
  if (valid === 0) return decoding;
  const least = new Array<number>(samples).fill(band.least);
  decoding.mosts.push(...new Array<number>(samples).fill(band.most));
  if (band.least !== band.most && version >= 4) {
    for (let i = 0; i < samples; i++) least[i] = bytes.next(dataType);
    const mosts = least.map(() => bytes.next(dataType));
    decoding.mosts.splice(0, samples, ...mosts);
  }
  if (least.every((value, i) => value === decoding.mosts[i])) {
    forEachPixel(decoding, (to) => values.set(least, to));
  } else if (bytes.next("uint8") !== 0) {
    forEachPixel(decoding, (to) => {
      for (let i = 0; i < samples; i++) values[to + i] = bytes.next(dataType);
    });
  } else {
    const isByte = dataType === "int8" || dataType === "uint8";
    const mayBeCoded = isByte && Math.abs(band.error - 0.5) < 1e-5;
    const code = mayBeCoded ? bytes.next("uint8") : 0;
    if (code > 2) throw new SyntaxError(`Its values have the code ${code}`);
    if (code === 0) decodeBlocks(decoding);
    else decodeHuffman(decoding, code === 1);
  }
  return decoding;
}

/** A band that is being decoded. */
interface Decoding extends Omit<LercBand, "bytes">, LercValues {
  readonly bytes: ByteCursor;
  /** The greatest value of each sample. */
  readonly mosts: number[];
}

/** Calls a function with the place of each pixel that has values. */
function forEachPixel(
  { height, width, samples, mask }: Decoding,
  task: (to: number) => void,
): void {
  for (let pixel = 0; pixel < height * width; pixel++) {
    if (mask?.[pixel] !== 0) task(pixel * samples);
  }
}

/** Reads runs of bytes, whose bits say which pixels have values. */
function readMask(
  { valid, height, width }: LercBand,
  bytes: ByteCursor,
  earlier: Uint8Array | undefined,
): Uint8Array | undefined {
  const count = height * width;
  const length = bytes.next("uint32");
  if (valid === 0 || valid === count) {
    if (length > 0) throw new SyntaxError("Its mask is damaged");
    return valid === 0 ? new Uint8Array(count) : undefined;
  }
  if (length === 0) {
    if (earlier) return earlier;
    throw new SyntaxError("Its mask is missing");
  }
  const runs = new ByteCursor(bytes.take(length));
  const bits = new Uint8Array(Math.ceil(count / 8));
  for (let to = 0; to < bits.length;) {
    const run = runs.next("int16");
    const end = to + Math.abs(run);
    if (run === 0 || end > bits.length) {
      throw new SyntaxError("Its mask is damaged");
    }
    if (run > 0) bits.set(runs.take(run), to);
    else bits.fill(runs.next("uint8"), to, end);
    to = end;
  }
  return Uint8Array.from(
    { length: count },
    (_, i) => bits[i >> 3]! >> (7 - (i & 7)) & 1,
  );
}

/** Decodes blocks of pixels, one after another for each sample. */
function decodeBlocks(decoding: Decoding): void {
  const { height, width, samples, blockSize } = decoding;
  for (let top = 0; top < height; top += blockSize) {
    for (let left = 0; left < width; left += blockSize) {
      for (let sample = 0; sample < samples; sample++) {
        decodeBlock(decoding, top, left, sample);
      }
    }
  }
}

/** The data types in which offsets of blocks are stored, by the data type of the band. */
const OFFSETS: Readonly<Record<DataType, readonly DataType[]>> = {
  int8: ["int8"],
  uint8: ["uint8"],
  int16: ["int16", "uint8", "int8"],
  uint16: ["uint16", "uint8"],
  int32: ["int32", "uint16", "int16", "uint8"],
  uint32: ["uint32", "uint16", "uint8"],
  float32: ["float32", "int16", "uint8"],
  float64: ["float64", "float32", "int32", "int16"],
};

function decodeBlock(
  decoding: Decoding,
  top: number,
  left: number,
  sample: number,
): void {
  const { height, width, samples, blockSize, version, dataType, error } =
    decoding;
  const { bytes, values, mask, mosts } = decoding;
  const header = bytes.next("uint8");
  const isDifference = version >= 5 && (header & 4) !== 0;
  const check = version >= 5 ? 14 : 15;
  const isExpected = (header >> 2 & check) === (left >> 3 & check);
  const kind = header & 3;
  if (!isExpected || isDifference && (sample === 0 || kind === 0)) {
    throw new SyntaxError("The header of a block is damaged");
  }
  const bottom = Math.min(height, top + blockSize);
  const right = Math.min(width, left + blockSize);
  /** Sets the pixels that have values, to the sample before and what the function returns. */
  const fill = (next: () => number) => {
    for (let row = top; row < bottom; row++) {
      for (let column = left; column < right; column++) {
        const pixel = row * width + column;
        if (mask?.[pixel] === 0) continue;
        const to = pixel * samples + sample;
        values[to] = isDifference
          ? Math.min(next() + values[to - 1]!, mosts[sample]!)
          : next();
      }
    }
  };
  if (kind === 0) return fill(() => bytes.next(dataType));
  if (kind === 2) return fill(() => 0);
  const isFloat = dataType.startsWith("float");
  const type = OFFSETS[isDifference && !isFloat ? "int32" : dataType];
  const offsetType = type[header >> 6];
  if (offsetType === undefined) {
    throw new SyntaxError("The header of a block is damaged");
  }
  const offset = bytes.next(offsetType);
  if (kind === 3) return fill(() => offset);
  const packed = readPacked(bytes, (bottom - top) * (right - left));
  let place = 0;
  fill(() => {
    const value = packed[place++];
    if (value === undefined) throw new SyntaxError("A block is too short");
    const sum = offset + 2 * error * value;
    return isDifference ? sum : Math.min(sum, mosts[sample]!);
  });
}

/** Reads packed integers, or places in a table of such integers. */
function readPacked(bytes: ByteCursor, most: number): ArrayLike<number> {
  const header = bytes.next("uint8");
  const type = (["uint32", "uint16", "uint8"] as const)[header >> 6];
  const bits = header & 31;
  const count = type ? bytes.next(type) : Infinity;
  if (count > most) throw new SyntaxError("A block is too long");
  if ((header & 32) === 0) return unpack(bytes, count, bits);
  const size = bytes.next("uint8");
  if (size === 0) throw new SyntaxError("The table of a block is empty");
  const table = [0, ...unpack(bytes, size - 1, bits)];
  const places = unpack(bytes, count, 32 - Math.clz32(size - 1));
  return Array.from(places, (place) => table[place] ?? NaN);
}

function unpack(bytes: ByteCursor, count: number, bits: number): Uint32Array {
  const packed = bytes.take(Math.ceil(count * bits / 8));
  const values = new Uint32Array(count);
  for (let i = 0; i < count; i++) {
    let value = 0;
    for (let bit = 0; bit < bits;) {
      const at = i * bits + bit;
      const taken = Math.min(8 - (at & 7), bits - bit);
      const piece = packed[at >> 3]! >> (at & 7) & (1 << taken) - 1;
      value |= piece << bit;
      bit += taken;
    }
    values[i] = value;
  }
  return values;
}

/** The most symbols of a Huffman code in LERC. */
const MOST_SYMBOLS = 2 ** 15;
const LONGEST_CODE = 32;

/** Decodes values of a byte, or their differences to the pixel before. */
function decodeHuffman(decoding: Decoding, isDifference: boolean): void {
  const { bytes, height, width, samples, values, mask, dataType } = decoding;
  const [, size, first, end] = [1, 2, 3, 4]
    .map(() => bytes.next("int32")) as [number, number, number, number];
  const isTable = size > 0 && first >= 0 && first < end &&
    Math.max(size, end) <= MOST_SYMBOLS;
  if (!isTable) throw new SyntaxError("The table of its code is damaged");
  const lengths = readPacked(bytes, end - first);
  const bits = new CodeBits(bytes);
  const tree = new CodeTree();
  for (let i = first; i < end; i++) {
    const length = lengths[i - first] ?? 0;
    if (!(length <= LONGEST_CODE)) {
      throw new SyntaxError("A code is too long");
    }
    if (length > 0) tree.add(bits, length, i < size ? i : i - size);
  }
  bits.align();
  const offset = dataType === "int8" ? 128 : 0;
  if (!isDifference) {
    forEachPixel(decoding, (to) => {
      for (let i = 0; i < samples; i++) {
        values[to + i] = tree.next(bits) - offset;
      }
    });
    return;
  }
  for (let sample = 0; sample < samples; sample++) {
    let latest = 0;
    for (let pixel = 0; pixel < height * width; pixel++) {
      if (mask?.[pixel] === 0) continue;
      const has = (other: number) => mask?.[other] !== 0;
      const isAfter = pixel % width > 0 && has(pixel - 1);
      const isBelow = !isAfter && pixel >= width && has(pixel - width);
      if (isBelow) latest = values[(pixel - width) * samples + sample]!;
      values[pixel * samples + sample] = latest + tree.next(bits) - offset;
      latest = values[pixel * samples + sample]!;
    }
  }
}

/** The bits of words of 32 bits, the highest first. */
class CodeBits {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: ByteCursor) {
    this.#bytes = bytes.rest();
  }

  next(): number {
    const at = this.#at++;
    // Each word has its lowest byte first.
    const byte = this.#bytes[(at >> 5) * 4 + 3 - (at >> 3 & 3)];
    // The last word may lack its end.
    if (byte === undefined && at >> 3 >= this.#bytes.length) {
      throw new SyntaxError("Its codes end too early");
    }
    return (byte ?? 0) >> (7 - (at & 7)) & 1;
  }

  /** Goes to the start of a word. */
  align(): void {
    this.#at = Math.ceil(this.#at / 32) * 32;
  }
}

/** A tree of codes: for each node, the next nodes, or the symbol of a leaf. */
class CodeTree {
  readonly #nodes: number[] = [0, 0];

  /** Adds a symbol whose code is the next bits. */
  add(bits: CodeBits, length: number, symbol: number): void {
    const nodes = this.#nodes;
    let at = 0;
    for (let i = 1; i <= length; i++) {
      const to = at + bits.next();
      if (i === length) nodes[to] = -1 - symbol;
      else {
        if (nodes[to]! <= 0) {
          nodes[to] = nodes.length;
          nodes.push(0, 0);
        }
        at = nodes[to]!;
      }
    }
  }

  /** Reads a symbol. */
  next(bits: CodeBits): number {
    let at = 0;
    do {
      at = this.#nodes[at + bits.next()]!;
    } while (at > 0);
    if (at === 0) throw new SyntaxError("It has an unknown code");
    return -1 - at;
  }
}

const GETTERS = {
  int8: ["getInt8", 1],
  uint8: ["getUint8", 1],
  int16: ["getInt16", 2],
  uint16: ["getUint16", 2],
  int32: ["getInt32", 4],
  uint32: ["getUint32", 4],
  float32: ["getFloat32", 4],
  float64: ["getFloat64", 8],
} as const;

/** Reads numbers one after another, and refuses what lies beyond the end. */
class ByteCursor {
  at = 0;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;

  constructor(bytes: Uint8Array) {
    const { buffer, byteOffset, byteLength } = bytes;
    this.#bytes = bytes;
    this.#view = new DataView(buffer, byteOffset, byteLength);
  }

  next(type: DataType): number {
    const [getter, size] = GETTERS[type];
    this.#assert(size);
    const value = this.#view[getter](this.at, true);
    this.at += size;
    return value;
  }

  take(length: number): Uint8Array {
    this.#assert(length);
    return this.#bytes.subarray(this.at, this.at += length);
  }

  rest(): Uint8Array {
    return this.#bytes.subarray(this.at);
  }

  #assert(length: number): void {
    if (this.at + length <= this.#bytes.length) return;
    throw new SyntaxError("It ends too early");
  }
}
