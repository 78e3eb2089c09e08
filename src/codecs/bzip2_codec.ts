import { type CodecEntry, Configuration } from "./codec.ts";
import { bytesCodec, decodedLength, TooLong } from "./decoded_length.ts";

/**
 * The codec `numcodecs.bz2`, which decodes only.
 *
 * Source: https://numcodecs.readthedocs.io/en/stable/compression/bz2.html
 */
export const BZ2: CodecEntry = {
  fromConfig(configuration, metadata) {
    const name = "numcodecs.bz2";
    new Configuration(name, ["level"], configuration).whole("level", 1, 9, 1);
    const length = decodedLength(name, metadata);
    return bytesCodec("bz2", length, {
      encode() {
        throw new TypeError(
          `${name} is read, and not written; "zstd" and "numcodecs.zlib" are written`,
        );
      },
      decode(encoded) {
        const output = new GrowingBytes(length.limit, length.exact);
        if (!decodeBzip2(encoded, output)) throw new TooLong();
        return output.take();
      },
    });
  },
};

const STREAM_MAGIC = 0x425a68;
const BLOCK_MAGIC = 0x314159265359;
const END_MAGIC = 0x177245385090;
/** The length of a block at level 1. */
const BLOCK_UNIT = 100_000;
/** The number of symbols that one table decodes. */
const GROUP_SIZE = 50;
const MOST_TABLES = 6;
const LONGEST_CODE = 20;
/** The most selectors that decoders accept; the standard encoder writes fewer. */
const MOST_SELECTORS = 18_002;

/**
 * Decodes streams of bzip2, one after another.
 *
 * Source: https://github.com/dsnet/compress/blob/master/doc/bzip2-format.pdf
 *
 * @returns Whether the output has room for all bytes.
 * @throws {SyntaxError} If the data is damaged.
 */
function decodeBzip2(bytes: Uint8Array, output: GrowingBytes): boolean {
  const bits = new BitReader(bytes);
  do {
    if (bits.read(24) !== STREAM_MAGIC) {
      throw new SyntaxError("It does not start as bzip2 does");
    }
    const level = bits.read(8) - 48;
    if (level < 1 || level > 9) {
      throw new SyntaxError("Its level is not from 1 to 9");
    }
    // The first encoding makes 5 bytes of 4 at most.
    const most = Math.min(level * BLOCK_UNIT, Math.ceil(1.25 * output.limit));
    const last = new Uint32Array(most);
    let combined = 0;
    for (;;) {
      const magic = bits.read(24) * 2 ** 24 + bits.read(24);
      const stored = bits.readUint32();
      if (magic === END_MAGIC) {
        if (stored !== combined) throw new SyntaxError(CHECKSUM_MESSAGE);
        break;
      }
      if (magic !== BLOCK_MAGIC) {
        throw new SyntaxError("A block does not start as one of bzip2");
      }
      const crc = decodeBlock(bits, last, output);
      if (crc === undefined) return false;
      if (crc !== stored) throw new SyntaxError(CHECKSUM_MESSAGE);
      combined = ((combined << 1 | combined >>> 31) ^ crc) >>> 0;
    }
    bits.skipToByte();
  } while (!bits.isAtEnd);
  return true;
}

const CHECKSUM_MESSAGE = "Its checksum does not match";

/** Decodes a block, and returns its checksum; `undefined` if it is too long. */
function decodeBlock(
  bits: BitReader,
  last: Uint32Array,
  output: GrowingBytes,
): number | undefined {
  if (bits.read(1) === 1) {
    throw new SyntaxError(
      "A block is randomized, as only bzip2 0.9.0 wrote it",
    );
  }
  const origin = bits.read(24);
  const symbols = readSymbols(bits);
  const tables = bits.read(3);
  if (tables < 2 || tables > MOST_TABLES) {
    throw new SyntaxError(`A block has ${tables} tables, not 2 to 6`);
  }
  const selectors = readSelectors(bits, tables);
  const codes = Array.from(
    { length: tables },
    () => readCode(bits, symbols.length + 2),
  );
  const length = readMoves(bits, symbols, codes, selectors, last);
  if (origin >= length && length > 0) {
    throw new SyntaxError(`A block of ${length} bytes starts at ${origin}`);
  }
  return length === 0 ? 0 : writeBlock(last, length, origin, output);
}

/** The bytes that a block has. */
function readSymbols(bits: BitReader): Uint8Array {
  const used = bits.read(16);
  const symbols: number[] = [];
  for (let high = 0; high < 16; high++) {
    if ((used >> (15 - high) & 1) === 0) continue;
    const row = bits.read(16);
    for (let low = 0; low < 16; low++) {
      if (row >> (15 - low) & 1) symbols.push(16 * high + low);
    }
  }
  if (symbols.length > 0) return Uint8Array.from(symbols);
  throw new SyntaxError("A block has no symbols");
}

/** The tables of the groups of symbols. */
function readSelectors(bits: BitReader, tables: number): Uint8Array {
  const count = bits.read(15);
  if (count === 0) throw new SyntaxError("A block has no groups of symbols");
  const selectors = new Uint8Array(Math.min(count, MOST_SELECTORS));
  const order = Uint8Array.from({ length: tables }, (_, i) => i);
  for (let i = 0; i < count; i++) {
    let place = 0;
    while (bits.read(1) === 1) {
      place++;
      if (place >= tables) {
        throw new SyntaxError("A group of symbols has an unknown table");
      }
    }
    const table = order[place]!;
    order.copyWithin(1, 0, place);
    order[0] = table;
    if (i < selectors.length) selectors[i] = table;
  }
  return selectors;
}

/** A canonical code of Huffman, whose codes of each length are consecutive. */
interface Code {
  /** The first code of each length, and how many there are. */
  readonly first: Int32Array;
  readonly count: Int32Array;
  /** The place in `sorted` of the first symbol of each length. */
  readonly place: Int32Array;
  /** The symbols by their codes. */
  readonly sorted: Uint16Array;
  /** The symbol times 32 plus the length for the next bits, 0 for longer codes. */
  readonly short: Uint16Array;
}

const SHORT_BITS = 10;

function readCode(bits: BitReader, symbols: number): Code {
  const lengths = new Uint8Array(symbols);
  let length = bits.read(5);
  for (let symbol = 0; symbol < symbols; symbol++) {
    while (bits.read(1) === 1) length += bits.read(1) === 0 ? 1 : -1;
    if (length < 1 || length > LONGEST_CODE) {
      throw new SyntaxError(`A code has ${length} bits, not 1 to 20`);
    }
    lengths[symbol] = length;
  }
  const count = new Int32Array(LONGEST_CODE + 2);
  for (const length of lengths) count[length]!++;
  const first = new Int32Array(LONGEST_CODE + 2);
  const place = new Int32Array(LONGEST_CODE + 2);
  for (let length = 1; length <= LONGEST_CODE; length++) {
    place[length + 1] = place[length]! + count[length]!;
    first[length + 1] = first[length]! + count[length]! << 1;
  }
  const next = place.slice();
  const sorted = new Uint16Array(symbols);
  const short = new Uint16Array(1 << SHORT_BITS);
  lengths.forEach((length, symbol) => {
    const i = next[length]!++;
    sorted[i] = symbol;
    if (length > SHORT_BITS) return;
    const code = first[length]! + i - place[length]!;
    const shift = SHORT_BITS - length;
    short.fill(symbol << 5 | length, code << shift, code + 1 << shift);
  });
  return { first, count, place, sorted, short };
}

function readSymbol(bits: BitReader, code: Code): number {
  const short = code.short[bits.peek(SHORT_BITS)]!;
  if (short !== 0) {
    bits.skip(short & 31);
    return short >> 5;
  }
  for (let length = SHORT_BITS + 1; length <= LONGEST_CODE; length++) {
    const above = bits.peek(length) - code.first[length]!;
    if (above >= 0 && above < code.count[length]!) {
      bits.skip(length);
      return code.sorted[code.place[length]! + above]!;
    }
  }
  throw new SyntaxError("A code is unknown");
}

/** Decodes the symbols of a block to the last column of its rotations, and returns their number. */
function readMoves(
  bits: BitReader,
  symbols: Uint8Array,
  codes: readonly Code[],
  selectors: Uint8Array,
  last: Uint32Array,
): number {
  const order = symbols.slice();
  const end = symbols.length + 1;
  let length = 0;
  let run = 0;
  let place = 1;
  for (let group = 0; group < selectors.length; group++) {
    const code = codes[selectors[group]!]!;
    for (let left = GROUP_SIZE; left > 0; left--) {
      const symbol = readSymbol(bits, code);
      if (symbol <= 1) {
        // Digits of the length of a run in the bijective numeral system of base 2.
        if (place > last.length) throw new SyntaxError(LONG_BLOCK_MESSAGE);
        run += place << symbol;
        place <<= 1;
        continue;
      }
      if (run > 0) {
        if (run > last.length - length) {
          throw new SyntaxError(LONG_BLOCK_MESSAGE);
        }
        last.fill(order[0]!, length, length + run);
        length += run;
        run = 0;
        place = 1;
      }
      if (symbol === end) return length;
      if (length >= last.length) throw new SyntaxError(LONG_BLOCK_MESSAGE);
      const byte = order[symbol - 1]!;
      order.copyWithin(1, 0, symbol - 1);
      order[0] = byte;
      last[length++] = byte;
    }
  }
  throw new SyntaxError("A block has more symbols than groups of them");
}

const LONG_BLOCK_MESSAGE = "A block is longer than its level allows";

/** Reverses the transform of Burrows and Wheeler and the first encoding of runs. */
function writeBlock(
  last: Uint32Array,
  length: number,
  origin: number,
  output: GrowingBytes,
): number | undefined {
  const starts = new Uint32Array(256);
  for (let i = 0; i < length; i++) starts[last[i]!]!++;
  let sum = 0;
  for (let byte = 0; byte < 256; byte++) {
    const count = starts[byte]!;
    starts[byte] = sum;
    sum += count;
  }
  // The high 24 bits of an entry are the place of the next byte.
  for (let i = 0; i < length; i++) {
    const byte = last[i]! & 0xff;
    const to = starts[byte]!++;
    last[to] = last[to]! | i << 8;
  }
  let next = last[origin]! >>> 8;
  let crc = 0xffffffff;
  const table = crcTable();
  let previous = -1;
  let repeats = 0;
  for (let i = 0; i < length; i++) {
    const entry = last[next]!;
    next = entry >>> 8;
    const byte = entry & 0xff;
    if (repeats === 4) {
      if (!output.fill(previous, byte)) return undefined;
      for (let j = 0; j < byte; j++) {
        crc = crc << 8 ^ table[crc >>> 24 ^ previous]!;
      }
      repeats = 0;
      previous = -1;
      continue;
    }
    repeats = byte === previous ? repeats + 1 : 1;
    previous = byte;
    if (!output.push(byte)) return undefined;
    crc = crc << 8 ^ table[crc >>> 24 ^ byte]!;
  }
  return ~crc >>> 0;
}

let crcs: Int32Array | undefined;

/** The table of CRC-32 with the highest bit first. */
function crcTable(): Int32Array {
  return crcs ??= Int32Array.from({ length: 256 }, (_, byte) => {
    let register = byte << 24;
    for (let bit = 0; bit < 8; bit++) {
      register = register << 1 ^ (register < 0 ? 0x04c11db7 : 0);
    }
    return register;
  });
}

/** Reads bits from the highest one of each byte on. Bits after the end are 0, and an error once they are passed. */
class BitReader {
  readonly #bytes: Uint8Array;
  #at = 0;
  #held = 0;
  #count = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** The next bits, up to 24. */
  peek(count: number): number {
    while (this.#count < count) {
      this.#held = this.#held << 8 | (this.#bytes[this.#at++] ?? 0);
      this.#count += 8;
    }
    return this.#held >>> this.#count - count & (1 << count) - 1;
  }

  skip(count: number): void {
    this.#count -= count;
    if (this.#at - (this.#count >> 3) > this.#bytes.length) {
      throw new SyntaxError("The data is cut short");
    }
  }

  read(count: number): number {
    const value = this.peek(count);
    this.skip(count);
    return value;
  }

  readUint32(): number {
    return this.read(16) * 2 ** 16 + this.read(16);
  }

  skipToByte(): void {
    this.skip(this.#count & 7);
  }

  /** Whether all bytes are read. */
  get isAtEnd(): boolean {
    return this.#at - (this.#count >> 3) >= this.#bytes.length;
  }
}

/** Bytes that the decoder appends. */
class GrowingBytes {
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

  /** Appends a byte. Returns whether there is room for it. */
  push(byte: number): boolean {
    if (this.#length === this.#bytes.length && !this.#grow(1)) return false;
    this.#bytes[this.#length++] = byte;
    return true;
  }

  /** Appends the same byte some times. Returns whether there is room for all. */
  fill(byte: number, count: number): boolean {
    if (!this.#grow(count)) return false;
    this.#bytes.fill(byte, this.#length, this.#length += count);
    return true;
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
      grown.set(this.#bytes);
      this.#bytes = grown;
    }
    return true;
  }
}
