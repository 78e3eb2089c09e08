import { crc32 } from "../checksum/mod.ts";
import { isWhole, refuse } from "../metadata/mod.ts";
import {
  type BytesCodec,
  checkWhole,
  type CodecEntry,
  damaged,
  parseCodecConfiguration,
} from "./codec.ts";
import {
  type DecodedLength,
  decodedLength,
  TooLong,
  tooLong,
  wholeChunk,
} from "./decoded_length.ts";
import { GrowingBytes } from "./growing_bytes.ts";
import {
  LzmaDecoder,
  type LzmaProperties,
  parseProperties,
} from "./lzma_decoder.ts";

/** The formats, at the numbers of Python's module `lzma`. */
const FORMATS = ["auto", "xz", "alone", "raw"] as const;

const DELTA = 3;
const LZMA2 = 0x21;
const LZMA1 = 0x4000000000000001;

/** The properties of all presets. */
const STANDARD: LzmaProperties = { lc: 3, lp: 0, pb: 2 };

/** What undoes a filter, in the order in which filters encode. */
type Filter =
  | { readonly id: typeof DELTA; readonly distance: number }
  | { readonly id: typeof LZMA1; readonly properties: LzmaProperties }
  | { readonly id: typeof LZMA2 };

/**
 * The codec `numcodecs.lzma`, which decodes only: the formats XZ, ALONE and RAW of Python's
 * module `lzma`, with the filters LZMA1, LZMA2 and delta.
 *
 * Source: https://numcodecs.readthedocs.io/en/stable/compression/lzma.html
 */
export const LZMA: CodecEntry = {
  fromConfig(configuration, metadata) {
    const name = "numcodecs.lzma";
    const { format = 1, check, preset, filters } = parseCodecConfiguration(
      name,
      ["format", "check", "preset", "filters"],
      configuration,
    );
    if (!isWhole(format) || format >= FORMATS.length) {
      refuse(
        `format of ${name} to be 1 for XZ, 2 for ALONE or 3 for RAW`,
        format,
        "/configuration/format",
      );
    }
    // The data itself names the check that it has.
    checkWhole(name, "check", check ?? -1, -1);
    if (preset !== undefined && preset !== null && !isWhole(preset)) {
      refuse(
        `preset of ${name} to be a whole number from 0, or null`,
        preset,
        "/configuration/preset",
      );
    }
    const isRaw = FORMATS[format] === "raw";
    return new LzmaCodec(
      FORMATS[format]!,
      // Data of the other formats names its filters.
      isRaw ? parseFilters(name, filters) : [],
      decodedLength(name, metadata),
    );
  },
};

function parseFilters(name: string, filters: unknown): Filter[] {
  const path = "/configuration/filters";
  if (!Array.isArray(filters) || filters.length === 0) {
    refuse(
      `filters of ${name} to be a list of filters where its format is 3`,
      filters,
      path,
    );
  }
  return filters.map((filter: Record<string, unknown>, i) => {
    const isLast = i === filters.length - 1;
    const { id: stored, dist = 1, lc, lp, pb } = filter ?? {};
    // A number beyond 2^53, which some parsers of JSON read as a bigint.
    const id = typeof stored === "bigint" ? Number(stored) : stored;
    const member = (name: string, value: unknown, most: number, least = 0) => {
      if (isWhole(value, least) && value <= most) return value;
      refuse(
        `${name} of a filter to be a whole number from ${least} to ${most}`,
        value,
        `${path}/${i}/${name}`,
      );
    };
    if (id === DELTA && !isLast) {
      return { id, distance: member("dist", dist, 256, 1) };
    }
    if (id === LZMA2 && isLast) return { id };
    if (id === LZMA1 && isLast) {
      return {
        id,
        properties: {
          lc: member("lc", lc ?? STANDARD.lc, 4),
          lp: member("lp", lp ?? STANDARD.lp, 4),
          pb: member("pb", pb ?? STANDARD.pb, 4),
        },
      };
    }
    refuse(
      `filters of ${name} to be any number of delta (3), and LZMA1 (${
        BigInt(LZMA1) + 1n
      }) or LZMA2 (33) at the end`,
      id,
      `${path}/${i}/id`,
    );
  });
}

class LzmaCodec implements BytesCodec {
  readonly kind = "bytes_to_bytes";
  readonly #format: typeof FORMATS[number];
  readonly #filters: readonly Filter[];
  readonly #length: DecodedLength;

  constructor(
    format: typeof FORMATS[number],
    filters: readonly Filter[],
    length: DecodedLength,
  ) {
    this.#format = format;
    this.#filters = filters;
    this.#length = length;
  }

  encode(): never {
    throw new TypeError(
      'numcodecs.lzma is read, and not written; "zstd" and "numcodecs.zlib" are written',
    );
  }

  async decode(encoded: Uint8Array): Promise<Uint8Array> {
    const { exact, limit } = this.#length;
    const output = new GrowingBytes(limit, exact);
    try {
      const isXz = this.#format === "xz" ||
        this.#format === "auto" && encoded[0] === XZ_MAGIC[0];
      if (isXz) await decodeXz(encoded, output);
      else if (this.#format === "raw") {
        const end = decodeFilters(encoded, 0, this.#filters, output);
        assertEnd(encoded, end);
      } else decodeAlone(encoded, output);
    } catch (error) {
      if (error instanceof TooLong) {
        throw tooLong(encoded, this.#length, "lzma");
      }
      if (!(error instanceof SyntaxError)) throw error;
      throw damaged(encoded, `is not decoded by lzma: ${error.message}`);
    }
    return wholeChunk(encoded, output.take(), this.#length, "lzma");
  }
}

function assertEnd(bytes: Uint8Array, end: number): void {
  if (end === bytes.length) return;
  throw new SyntaxError(`The data ends after ${end} of ${bytes.length} bytes`);
}

/** Decodes what filters have encoded, and returns the end of the encoded bytes. */
function decodeFilters(
  bytes: Uint8Array,
  at: number,
  filters: readonly Filter[],
  output: GrowingBytes,
): number {
  const start = output.length;
  const decoder = new LzmaDecoder(bytes, at, output);
  for (const filter of filters.toReversed()) {
    if (filter.id === LZMA2) decoder.decodeLzma2();
    else if (filter.id === DELTA) {
      undoDelta(output.view(start), filter.distance);
    } else decoder.decodeLzma(filter.properties, undefined);
  }
  return decoder.at;
}

function undoDelta(bytes: Uint8Array, distance: number): void {
  for (let i = distance; i < bytes.length; i++) {
    bytes[i]! += bytes[i - distance]!;
  }
}

const ALONE_HEADER_SIZE = 13;

/** Decodes the format of the program lzma: properties, the size of the dictionary, and the length. */
function decodeAlone(bytes: Uint8Array, output: GrowingBytes): void {
  if (bytes.length < ALONE_HEADER_SIZE) {
    throw new SyntaxError("The data is cut short");
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const size = view.getBigUint64(5, true);
  const isKnown = size !== 2n ** 64n - 1n;
  if (isKnown && size > output.limit) throw new TooLong();
  const decoder = new LzmaDecoder(bytes, ALONE_HEADER_SIZE, output);
  decoder.decodeLzma(
    parseProperties(bytes[0]!),
    isKnown ? Number(size) : undefined,
  );
  assertEnd(bytes, decoder.at);
}

const XZ_MAGIC = [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0];
const XZ_FOOTER_MAGIC = [0x59, 0x5a];
const XZ_HEADER_SIZE = 12;
const XZ_FOOTER_SIZE = 12;

/** The length of each check that is verified, by its number. */
const CHECK_SIZES: Readonly<Record<number, number>> = {
  0: 0,
  1: 4,
  4: 8,
  10: 32,
};

/**
 * Decodes streams of XZ, one after another.
 *
 * Source: https://tukaani.org/xz/xz-file-format.txt
 */
async function decodeXz(
  bytes: Uint8Array,
  output: GrowingBytes,
): Promise<void> {
  const reader = new XzReader(bytes);
  do {
    await decodeStream(reader, output);
    // Zeros may follow, four at a time.
    const end = reader.at;
    while (reader.at < bytes.length && bytes[reader.at] === 0) reader.at++;
    if ((reader.at - end) % 4 !== 0) {
      throw new SyntaxError(
        "The padding of a stream is no multiple of 4 bytes",
      );
    }
  } while (reader.at < bytes.length);
}

async function decodeStream(
  reader: XzReader,
  output: GrowingBytes,
): Promise<void> {
  const header = reader.take(XZ_HEADER_SIZE);
  if (!XZ_MAGIC.every((byte, i) => header[i] === byte)) {
    throw new SyntaxError("It does not start as XZ does");
  }
  assertCrc32(header.subarray(6, 8), header.subarray(8));
  const check = header[7]!;
  const checkSize = CHECK_SIZES[check];
  if (header[6] !== 0 || checkSize === undefined) {
    throw new SyntaxError(
      `Its check is ${check}, where 0, 1, 4 and 10 are known`,
    );
  }
  const records: (readonly [unpadded: number, size: number])[] = [];
  while (reader.peek() !== 0) {
    const start = reader.at;
    const length = output.length;
    const block = readBlockHeader(reader);
    const first = reader.at;
    reader.at = decodeFilters(reader.bytes, first, block.filters, output);
    const encoded = reader.at - first;
    const decoded = output.length - length;
    const { encodedSize = encoded, decodedSize = decoded } = block;
    if (encodedSize !== encoded || decodedSize !== decoded) {
      throw new SyntaxError("A block has another length than in its header");
    }
    const unpadded = reader.at - start + checkSize;
    reader.skipPadding(start);
    await assertCheck(check, output.view(length), reader.take(checkSize));
    records.push([unpadded, decoded]);
  }
  const index = reader.at;
  reader.take(1);
  let isRight = reader.number() === records.length;
  for (const [unpadded, size] of isRight ? records : []) {
    isRight = reader.number() === unpadded && reader.number() === size &&
      isRight;
  }
  if (!isRight) throw new SyntaxError("Its index is not that of its blocks");
  reader.skipPadding(index);
  assertCrc32(reader.bytes.subarray(index, reader.at), reader.take(4));
  const indexSize = reader.at - index;
  const footer = reader.take(XZ_FOOTER_SIZE);
  assertCrc32(footer.subarray(4, 10), footer.subarray(0, 4));
  const backward = new DataView(footer.buffer, footer.byteOffset).getUint32(
    4,
    true,
  );
  if (
    4 * (backward + 1) !== indexSize || footer[8] !== 0 ||
    footer[9] !== check ||
    !XZ_FOOTER_MAGIC.every((byte, i) => footer[10 + i] === byte)
  ) throw new SyntaxError("Its last bytes are not those of XZ");
}

interface BlockHeader {
  readonly filters: readonly Filter[];
  readonly encodedSize: number | undefined;
  readonly decodedSize: number | undefined;
}

function readBlockHeader(reader: XzReader): BlockHeader {
  const start = reader.at;
  const size = 4 * (reader.peek() + 1);
  const bytes = reader.take(size);
  assertCrc32(bytes.subarray(0, size - 4), bytes.subarray(size - 4));
  const header = new XzReader(bytes.subarray(0, size - 4));
  header.take(1);
  const flags = header.take(1)[0]!;
  if ((flags & 0x3c) !== 0) {
    throw new SyntaxError(`The block at ${start} has unknown flags`);
  }
  const encodedSize = flags & 0x40 ? header.number() : undefined;
  const decodedSize = flags & 0x80 ? header.number() : undefined;
  const filters = Array.from({ length: (flags & 3) + 1 }, (_, i): Filter => {
    const id = header.number();
    const properties = header.take(header.number());
    const isLast = i === (flags & 3);
    if (properties.length === 1) {
      if (id === LZMA2 && isLast && properties[0]! <= 40) return { id };
      if (id === DELTA && !isLast) return { id, distance: properties[0]! + 1 };
    }
    throw new SyntaxError(
      `The filter ${id} is not known; known are delta (3) and LZMA2 (33)`,
    );
  });
  const rest = header.bytes.subarray(header.at);
  if (rest.some((byte) => byte !== 0)) {
    throw new SyntaxError(`The block at ${start} has unknown members`);
  }
  return { filters, encodedSize, decodedSize };
}

/** Reads the records of XZ. */
class XzReader {
  readonly bytes: Uint8Array;
  at = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  peek(): number {
    return this.take(0, 1)[0]!;
  }

  /** The next bytes, which are read. */
  take(count: number, needed = count): Uint8Array {
    if (needed > this.bytes.length - this.at) {
      throw new SyntaxError("The data is cut short");
    }
    const taken = this.bytes.subarray(this.at, this.at + needed);
    this.at += count;
    return taken;
  }

  /** A number of 7 bits a byte, the lowest ones first. */
  number(): number {
    let value = 0;
    for (let i = 0; i < 9; i++) {
      const byte = this.take(1)[0]!;
      value += (byte & 127) * 2 ** (7 * i);
      if (byte < 128) return value;
    }
    throw new SyntaxError("A number has more than 9 bytes");
  }

  /** Skips zeros up to a multiple of 4 bytes from a place. */
  skipPadding(start: number): void {
    while ((this.at - start) % 4 !== 0) {
      if (this.take(1)[0] !== 0) {
        throw new SyntaxError("The padding has other bytes than 0");
      }
    }
  }
}

function assertCrc32(bytes: Uint8Array, stored: Uint8Array): void {
  const view = new DataView(stored.buffer, stored.byteOffset);
  if (view.getUint32(0, true) === crc32(bytes)) return;
  throw new SyntaxError("A checksum does not match");
}

async function assertCheck(
  check: number,
  bytes: Uint8Array,
  stored: Uint8Array,
): Promise<void> {
  if (check === 0) return;
  if (check === 1) return assertCrc32(bytes, stored);
  const computed = check === 4 ? crc64(bytes) : new Uint8Array(
    await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>),
  );
  if (stored.every((byte, i) => computed[i] === byte)) return;
  throw new SyntaxError("A checksum does not match");
}

/** The polynomial of CRC-64 of ECMA-182, reflected: its high and its low half. */
const CRC64_HIGH = 0xc96c5795 | 0;
const CRC64_LOW = 0xd7870f42 | 0;

let crc64Table: Int32Array | undefined;

/** The CRC-64 of bytes, little-endian. */
function crc64(bytes: Uint8Array): Uint8Array {
  const table = crc64Table ??= makeCrc64Table();
  let low = -1;
  let high = -1;
  for (let i = 0; i < bytes.length; i++) {
    const entry = 2 * ((low ^ bytes[i]!) & 255);
    low = (low >>> 8 | high << 24) ^ table[entry]!;
    high = high >>> 8 ^ table[entry + 1]!;
  }
  const crc = new Uint8Array(8);
  const view = new DataView(crc.buffer);
  view.setInt32(0, ~low, true);
  view.setInt32(4, ~high, true);
  return crc;
}

/** The low and the high half of the register that each byte leaves. */
function makeCrc64Table(): Int32Array {
  const table = new Int32Array(2 * 256);
  for (let byte = 0; byte < 256; byte++) {
    let low = byte;
    let high = 0;
    for (let bit = 0; bit < 8; bit++) {
      const isOdd = low & 1;
      low = low >>> 1 | high << 31;
      high >>>= 1;
      if (isOdd) {
        low ^= CRC64_LOW;
        high ^= CRC64_HIGH;
      }
    }
    table[2 * byte] = low;
    table[2 * byte + 1] = high;
  }
  return table;
}
