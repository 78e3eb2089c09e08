import { TooLong } from "./decoded_length.ts";
import type { GrowingBytes } from "./growing_bytes.ts";

/** The numbers of bits that LZMA models: the high bits of the byte before, the low bits of the place, and those for matches. */
export interface LzmaProperties {
  readonly lc: number;
  readonly lp: number;
  readonly pb: number;
}

/**
 * Parses the byte of the properties of LZMA.
 *
 * @throws {SyntaxError} If there are no such properties.
 */
export function parseProperties(byte: number): LzmaProperties {
  const lc = byte % 9;
  const lp = Math.floor(byte / 9) % 5;
  const pb = Math.floor(byte / 45);
  if (pb <= 4) return { lc, lp, pb };
  throw new SyntaxError(`Its properties are ${byte}, where 224 is the highest`);
}

const TOTAL_BITS = 11;
const HALF = 1 << TOTAL_BITS - 1;
const MOVE_BITS = 5;
const TOP = 2 ** 24;

const STATES = 12;
const POSITION_STATES = 16;
/** The first state after a match, in which the next literal is compared with a byte of the match. */
const FIRST_MATCHED = 7;
const LEAST_MATCH = 2;
/** Lengths have codes of 3, 3 and 8 bits. */
const LENGTH_PROBABILITIES = 2 + 2 * POSITION_STATES * 8 + 256;
const FIRST_MODELED_SLOT = 4;
const FIRST_DIRECT_SLOT = 14;
const ALIGN_BITS = 4;
const LITERAL_PROBABILITIES = 0x300;
const END_DISTANCE = 0xffffffff;

/** The places of the probabilities, of which those of literals are last. */
const IS_MATCH = 0;
const IS_REP = IS_MATCH + STATES * POSITION_STATES;
const IS_REP_0 = IS_REP + STATES;
const IS_REP_1 = IS_REP_0 + STATES;
const IS_REP_2 = IS_REP_1 + STATES;
const IS_LONG_REP_0 = IS_REP_2 + STATES;
const SLOTS = IS_LONG_REP_0 + STATES * POSITION_STATES;
const SPECIAL = SLOTS + 4 * 64;
const ALIGN = SPECIAL + 128;
const MATCH_LENGTH = ALIGN + (1 << ALIGN_BITS);
const REP_LENGTH = MATCH_LENGTH + LENGTH_PROBABILITIES;
const LITERALS = REP_LENGTH + LENGTH_PROBABILITIES;

/**
 * Decodes LZMA and LZMA2.
 *
 * Source: https://github.com/jljusten/LZMA-SDK/blob/master/DOC/lzma-specification.txt and
 * https://tukaani.org/xz/xz-file-format.txt
 */
export class LzmaDecoder {
  readonly #bytes: Uint8Array;
  readonly #output: GrowingBytes;
  /** The next byte of the input. */
  at: number;
  #range = 0;
  #code = 0;
  #probabilities = new Uint16Array(0);
  #properties: LzmaProperties = { lc: 0, lp: 0, pb: 0 };
  #state = 0;
  #distances: [number, number, number, number] = [0, 0, 0, 0];
  /** The place in the output from which on matches may repeat bytes, and from which places count. */
  #start = 0;

  constructor(bytes: Uint8Array, at: number, output: GrowingBytes) {
    this.#bytes = bytes;
    this.at = at;
    this.#output = output;
  }

  /**
   * Decodes a stream of LZMA.
   *
   * @param size The number of decoded bytes; `undefined` if a marker ends them.
   */
  decodeLzma(properties: LzmaProperties, size: number | undefined): void {
    this.#start = this.#output.length;
    this.#reset(properties);
    this.#startRange();
    const end = size === undefined ? Infinity : this.#output.length + size;
    const isMarked = this.#decodeSymbols(end);
    // Without a marker, nothing is left in the range decoder.
    if (isMarked || this.#code === 0) return;
    if (!this.#decodeSymbols(end, true)) {
      throw new SyntaxError("The data goes on after its last byte");
    }
  }

  /** Decodes chunks of LZMA2 to their end. */
  decodeLzma2(): void {
    let needsDictionary = true;
    let needsProperties = true;
    for (;;) {
      const control = this.#next();
      if (control === 0) return;
      if (control >= 0xe0 || control === 1) {
        needsDictionary = false;
        this.#start = this.#output.length;
        if (control === 1) needsProperties = true;
      } else if (needsDictionary) {
        throw new SyntaxError("The first chunk of LZMA2 has no new dictionary");
      }
      if (control < 0x80) {
        if (control > 2) {
          throw new SyntaxError(`A chunk of LZMA2 starts with ${control}`);
        }
        const size = this.#next() * 256 + this.#next() + 1;
        if (size > this.#bytes.length - this.at) throw cutShort();
        const stored = this.#bytes.subarray(this.at, this.at += size);
        if (!this.#output.append(stored)) throw new TooLong();
        continue;
      }
      const size = (control & 31) * 65536 + this.#next() * 256 + this.#next();
      const encoded = this.#next() * 256 + this.#next() + 1;
      if (control >= 0xc0) {
        const properties = parseProperties(this.#next());
        if (properties.lc + properties.lp > 4) {
          throw new SyntaxError("LZMA2 has properties with lc + lp above 4");
        }
        this.#reset(properties);
        needsProperties = false;
      } else if (needsProperties) {
        throw new SyntaxError("A chunk of LZMA2 has no properties");
      } else if (control >= 0xa0) {
        this.#reset(this.#properties);
      }
      const end = this.at + encoded;
      this.#startRange();
      const isMarked = this.#decodeSymbols(this.#output.length + size + 1);
      if (isMarked || this.at !== end || this.#code !== 0) {
        throw new SyntaxError(
          "A chunk of LZMA2 has another length than in its header",
        );
      }
    }
  }

  #next(): number {
    if (this.at < this.#bytes.length) return this.#bytes[this.at++]!;
    throw cutShort();
  }

  #reset(properties: LzmaProperties): void {
    const { lc, lp } = properties;
    const size = LITERALS + (LITERAL_PROBABILITIES << lc + lp);
    if (this.#probabilities.length !== size) {
      this.#probabilities = new Uint16Array(size);
    }
    this.#probabilities.fill(HALF);
    this.#properties = properties;
    this.#state = 0;
    this.#distances = [0, 0, 0, 0];
  }

  #startRange(): void {
    if (this.#next() !== 0) {
      throw new SyntaxError("LZMA does not start with a byte of 0");
    }
    this.#range = 0xffffffff;
    this.#code = 0;
    for (let i = 0; i < 4; i++) this.#code = this.#code * 256 + this.#next();
  }

  #normalize(): void {
    if (this.#range >= TOP) return;
    this.#range = this.#range * 256;
    this.#code = this.#code * 256 + this.#next();
  }

  /** Decodes a bit by the probability at a place. */
  #bit(place: number): number {
    const probability = this.#probabilities[place]!;
    const bound = (this.#range >>> TOTAL_BITS) * probability;
    if (this.#code < bound) {
      this.#range = bound;
      this.#probabilities[place] = probability +
        ((1 << TOTAL_BITS) - probability >> MOVE_BITS);
      this.#normalize();
      return 0;
    }
    this.#range -= bound;
    this.#code -= bound;
    this.#probabilities[place] = probability - (probability >> MOVE_BITS);
    this.#normalize();
    return 1;
  }

  /** Decodes bits, the highest one first, by a tree of probabilities. */
  #tree(place: number, bits: number): number {
    let node = 1;
    for (let i = 0; i < bits; i++) node = node * 2 + this.#bit(place + node);
    return node - (1 << bits);
  }

  #reverseTree(place: number, bits: number): number {
    let node = 1;
    let value = 0;
    for (let i = 0; i < bits; i++) {
      const bit = this.#bit(place + node);
      node = node * 2 + bit;
      value += bit << i;
    }
    return value;
  }

  #directBits(bits: number): number {
    let value = 0;
    for (let i = 0; i < bits; i++) {
      this.#range = Math.floor(this.#range / 2);
      const bit = this.#code >= this.#range ? 1 : 0;
      if (bit === 1) this.#code -= this.#range;
      value = value * 2 + bit;
      this.#normalize();
    }
    return value;
  }

  #matchLength(place: number, positionState: number): number {
    if (this.#bit(place) === 0) {
      return this.#tree(place + 2 + positionState * 8, 3);
    }
    if (this.#bit(place + 1) === 0) {
      return 8 +
        this.#tree(place + 2 + (POSITION_STATES + positionState) * 8, 3);
    }
    return 16 + this.#tree(place + 2 + 2 * POSITION_STATES * 8, 8);
  }

  #distance(length: number): number {
    const slot = this.#tree(SLOTS + 64 * Math.min(length, 3), 6);
    if (slot < FIRST_MODELED_SLOT) return slot;
    const bits = (slot >> 1) - 1;
    const base = (2 | slot & 1) * 2 ** bits;
    if (slot < FIRST_DIRECT_SLOT) {
      return base + this.#reverseTree(SPECIAL + base - slot, bits);
    }
    const high = this.#directBits(bits - ALIGN_BITS) * (1 << ALIGN_BITS);
    return base + high + this.#reverseTree(ALIGN, ALIGN_BITS);
  }

  #literal(place: number): void {
    const output = this.#output;
    const { lc, lp } = this.#properties;
    const before = output.length > this.#start ? output.before(1) : 0;
    const low = place & (1 << lp) - 1;
    const base = LITERALS +
      LITERAL_PROBABILITIES * ((low << lc) + (before >> 8 - lc));
    let symbol = 1;
    if (this.#state >= FIRST_MATCHED) {
      let matched = output.before(this.#distances[0] + 1);
      while (symbol < 256) {
        const expected = matched >> 7 & 1;
        matched <<= 1;
        const bit = this.#bit(base + (1 + expected << 8) + symbol);
        symbol = symbol * 2 + bit;
        if (bit !== expected) break;
      }
    }
    while (symbol < 256) symbol = symbol * 2 + this.#bit(base + symbol);
    if (!output.push(symbol & 255)) throw new TooLong();
  }

  /**
   * Decodes symbols up to a length of the output, or to the marker.
   *
   * @param isMarker Whether nothing but the marker may follow.
   * @returns Whether the marker was found.
   */
  #decodeSymbols(end: number, isMarker = false): boolean {
    const output = this.#output;
    const positions = (1 << this.#properties.pb) - 1;
    while (output.length < end || isMarker) {
      const place = output.length - this.#start;
      const positionState = place & positions;
      const state = this.#state;
      const byBoth = state * POSITION_STATES + positionState;
      if (this.#bit(IS_MATCH + byBoth) === 0) {
        if (isMarker) return false;
        this.#literal(place);
        this.#state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
        continue;
      }
      let length: number;
      const distances = this.#distances;
      if (this.#bit(IS_REP + state) === 0) {
        length = this.#matchLength(MATCH_LENGTH, positionState);
        const distance = this.#distance(length);
        distances.copyWithin(1, 0, 3);
        distances[0] = distance;
        this.#state = state < FIRST_MATCHED ? 7 : 10;
        if (distance === END_DISTANCE) {
          if (end === Infinity || isMarker) return true;
          throw new SyntaxError("The data ends before its length");
        }
      } else {
        if (this.#bit(IS_REP_0 + state) === 0) {
          if (this.#bit(IS_LONG_REP_0 + byBoth) === 0) {
            this.#state = state < FIRST_MATCHED ? 9 : 11;
            this.#repeat(1, end);
            continue;
          }
        } else if (this.#bit(IS_REP_1 + state) === 0) {
          distances.splice(0, 2, distances[1], distances[0]);
        } else {
          const which = this.#bit(IS_REP_2 + state) === 0 ? 2 : 3;
          const distance = distances[which]!;
          distances.copyWithin(1, 0, which);
          distances[0] = distance;
        }
        length = this.#matchLength(REP_LENGTH, positionState);
        this.#state = state < FIRST_MATCHED ? 8 : 11;
      }
      if (isMarker) return false;
      this.#repeat(length + LEAST_MATCH, end);
    }
    return false;
  }

  #repeat(length: number, end: number): void {
    const output = this.#output;
    const distance = this.#distances[0] + 1;
    if (distance > output.length - this.#start) {
      throw new SyntaxError(
        `A match lies ${distance} bytes before the byte ${
          output.length - this.#start
        }`,
      );
    }
    if (length > end - output.length) {
      throw new SyntaxError("A match goes beyond the length of the data");
    }
    if (!output.repeat(distance, length)) throw new TooLong();
  }
}

function cutShort(): SyntaxError {
  return new SyntaxError("The data is cut short");
}
