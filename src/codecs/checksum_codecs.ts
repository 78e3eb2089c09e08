import { CHECKSUM_SIZE, crc32, crc32c } from "../checksum/mod.ts";
import { ChecksumError } from "../errors/mod.ts";
import { checkOneOf, refuse } from "../metadata/mod.ts";
import { copyBytes } from "../runtime/mod.ts";
import {
  type BytesCodec,
  checkWhole,
  chunkAt,
  type CodecEntry,
  damaged,
  keyOf,
  parseCodecConfiguration,
  passNotes,
} from "./codec.ts";
import { adler32 } from "./deflate_codec.ts";

/**
 * Makes a codec of numcodecs that adds a checksum of 4 bytes, little-endian:
 * `numcodecs.crc32` and `numcodecs.adler32` before the bytes, `numcodecs.crc32c`,
 * `numcodecs.fletcher32` and `numcodecs.jenkins_lookup3` after them. The first three take
 * the `location`, `start` or `end`.
 *
 * Source: https://numcodecs.readthedocs.io/en/stable/checksum32.html
 */
export function checksumEntry(name: string): CodecEntry {
  const algorithm = name.slice("numcodecs.".length) as Algorithm;
  return {
    fromConfig: (configuration) =>
      new ChecksumCodec(algorithm, PARSERS[algorithm](name, configuration)),
  };
}

type Algorithm =
  | "crc32"
  | "crc32c"
  | "adler32"
  | "fletcher32"
  | "jenkins_lookup3";

/** Where the checksum is, and its function. */
interface Checksum {
  readonly location: typeof LOCATIONS[number];
  of(bytes: Uint8Array): number;
}

const LOCATIONS = ["start", "end"] as const;

const PARSERS: Readonly<
  Record<Algorithm, (name: string, configuration: unknown) => Checksum>
> = {
  crc32: located(crc32, "start"),
  crc32c: located(crc32c, "end"),
  adler32: located(adler32, "start"),
  fletcher32(name, configuration) {
    parseCodecConfiguration(name, [], configuration);
    return { location: "end", of: fletcher32 };
  },
  jenkins_lookup3(name, configuration) {
    const { initval: given = 0, prefix } = parseCodecConfiguration(
      name,
      ["initval", "prefix"],
      configuration,
    );
    const initval = checkWhole(name, "initval", given, 0, 2 ** 32 - 1);
    // numcodecs takes bytes, which JSON cannot hold.
    if (prefix !== undefined && prefix !== null) {
      refuse(`prefix of ${name} to be null`, prefix, "/configuration/prefix");
    }
    return { location: "end", of: (bytes) => jenkinsLookup3(bytes, initval) };
  },
};

function located(
  of: (bytes: Uint8Array) => number,
  standard: Checksum["location"],
): (name: string, configuration: unknown) => Checksum {
  return (name, configuration) => {
    const { location } = parseCodecConfiguration(
      name,
      ["location"],
      configuration,
    );
    return {
      of,
      location: checkOneOf(
        location ?? standard,
        LOCATIONS,
        `location of ${name} to be "start" or "end"`,
        "/configuration/location",
      ),
    };
  };
}

class ChecksumCodec implements BytesCodec {
  readonly kind = "bytes_to_bytes";
  readonly #name: string;
  readonly #checksum: Checksum;

  constructor(name: string, checksum: Checksum) {
    this.#name = name;
    this.#checksum = checksum;
  }

  encode(bytes: Uint8Array): Uint8Array {
    const { location, of } = this.#checksum;
    const isFirst = location === "start";
    const encoded = new Uint8Array(bytes.length + CHECKSUM_SIZE);
    encoded.set(bytes, isFirst ? CHECKSUM_SIZE : 0);
    const view = new DataView(encoded.buffer);
    view.setUint32(isFirst ? 0 : bytes.length, of(bytes), true);
    return encoded;
  }

  decode(encoded: Uint8Array): Uint8Array {
    const length = encoded.length - CHECKSUM_SIZE;
    if (length < 0) {
      throw damaged(
        encoded,
        `is ${encoded.length} bytes long, where its ${this.#name} alone takes ${CHECKSUM_SIZE}`,
      );
    }
    const { location, of } = this.#checksum;
    const isFirst = location === "start";
    const start = isFirst ? CHECKSUM_SIZE : 0;
    // A copy, since zarrita takes all of the memory that elements lie in.
    const bytes = copyBytes(encoded, start, start + length);
    const { buffer, byteOffset } = encoded;
    const view = new DataView(buffer, byteOffset + (isFirst ? 0 : length));
    const expected = view.getUint32(0, true);
    const actual = of(bytes);
    if (actual !== expected) {
      throw new ChecksumError(
        `The ${chunkAt(encoded)} has ${this.#name} ${hex(actual)}, where ${
          hex(expected)
        } is stored`,
        { key: keyOf(encoded), expected, actual },
      );
    }
    passNotes(encoded, bytes);
    return bytes;
  }

  computeEncodedSize(decodedSize: number): number {
    return decodedSize + CHECKSUM_SIZE;
  }
}

function hex(checksum: number): string {
  return checksum.toString(16).padStart(8, "0");
}

/** The sums of this many pairs of bytes stay below 2^32. */
const FLETCHER_PIECE = 360;

/**
 * The checksum of Fletcher over pairs of bytes, as HDF5 computes it.
 *
 * Source: `H5_checksum_fletcher32` in H5checksum.c of HDF5
 */
function fletcher32(bytes: Uint8Array): number {
  let low = 0;
  let high = 0;
  const fold = () => {
    low = (low & 0xffff) + (low >>> 16);
    high = (high & 0xffff) + (high >>> 16);
  };
  const even = bytes.length - bytes.length % 2;
  for (let start = 0; start < even; start += 2 * FLETCHER_PIECE) {
    const end = Math.min(start + 2 * FLETCHER_PIECE, even);
    for (let i = start; i < end; i += 2) {
      low = low + (bytes[i]! << 8 | bytes[i + 1]!) | 0;
      high = high + low | 0;
    }
    fold();
  }
  if (even < bytes.length) {
    low += bytes[even]! << 8;
    high += low;
    fold();
  }
  fold();
  return (high << 16 | low) >>> 0;
}

/**
 * The hash lookup3 of Bob Jenkins.
 *
 * Source: `hashlittle` in https://www.burtleburtle.net/bob/c/lookup3.c
 */
function jenkinsLookup3(bytes: Uint8Array, initval: number): number {
  let a = 0xdeadbeef + bytes.length + initval | 0;
  let b = a;
  let c = a;
  if (bytes.length === 0) return c >>> 0;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let at = 0;
  for (; bytes.length - at > 12; at += 12) {
    a = a + view.getInt32(at, true) | 0;
    b = b + view.getInt32(at + 4, true) | 0;
    c = c + view.getInt32(at + 8, true) | 0;
    a = a - c ^ rotate(c, 4);
    c = c + b | 0;
    b = b - a ^ rotate(a, 6);
    a = a + c | 0;
    c = c - b ^ rotate(b, 8);
    b = b + a | 0;
    a = a - c ^ rotate(c, 16);
    c = c + b | 0;
    b = b - a ^ rotate(a, 19);
    a = a + c | 0;
    c = c - b ^ rotate(b, 4);
    b = b + a | 0;
  }
  // The last bytes, up to 12, with zeros after them.
  const last = new Uint8Array(12);
  last.set(bytes.subarray(at));
  const words = new DataView(last.buffer);
  a = a + words.getInt32(0, true) | 0;
  b = b + words.getInt32(4, true) | 0;
  c = c + words.getInt32(8, true) | 0;
  c = (c ^ b) - rotate(b, 14) | 0;
  a = (a ^ c) - rotate(c, 11) | 0;
  b = (b ^ a) - rotate(a, 25) | 0;
  c = (c ^ b) - rotate(b, 16) | 0;
  a = (a ^ c) - rotate(c, 4) | 0;
  b = (b ^ a) - rotate(a, 14) | 0;
  c = (c ^ b) - rotate(b, 24) | 0;
  return c >>> 0;
}

function rotate(value: number, bits: number): number {
  return value << bits | value >>> 32 - bits;
}
