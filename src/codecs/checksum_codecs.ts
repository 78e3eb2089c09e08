/**
 * The codecs that add a checksum of 4 bytes, little-endian: `crc32c` of Zarr, and those of
 * numcodecs.
 *
 * Sources: https://zarr-specs.readthedocs.io/en/latest/v3/codecs/crc32c/ and
 * https://numcodecs.readthedocs.io/en/stable/checksum32.html
 */
import { CHECKSUM_SIZE, crc32, crc32c } from "../checksum/mod.ts";
import { ChecksumError } from "../errors/mod.ts";
import { copyBytes } from "../runtime/mod.ts";
import {
  chunkAt,
  type CodecEntry,
  Configuration,
  damaged,
  keyOf,
} from "./codec.ts";
import { bytesCodec, decodedLength } from "./decoded_length.ts";
import { adler32 } from "./encode_stored.ts";

/** Where a checksum is, and its function. */
interface Checksum {
  /** Its name in messages. */
  readonly what: string;
  readonly location: typeof LOCATIONS[number];
  of(bytes: Uint8Array): number;
}

const LOCATIONS = ["start", "end"] as const;

/** The checksums by the names of their codecs. */
const CHECKSUMS: Readonly<
  Record<string, (configuration: unknown, name: string) => Checksum>
> = {
  crc32c: fixed("CRC32C", crc32c),
  "numcodecs.crc32c": located("crc32c", crc32c, "end"),
  "numcodecs.crc32": located("crc32", crc32, "start"),
  "numcodecs.adler32": located("adler32", adler32, "start"),
  "numcodecs.fletcher32": fixed("fletcher32", fletcher32),
  "numcodecs.jenkins_lookup3"(configuration, name) {
    const members = new Configuration(
      name,
      ["initval", "prefix"],
      configuration,
    );
    const initval = members.whole("initval", 0, 2 ** 32 - 1, 0);
    // numcodecs takes bytes, which JSON cannot hold.
    if (members.get("prefix") !== undefined) {
      throw members.refusal("prefix", "null");
    }
    const of = (bytes: Uint8Array) => jenkinsLookup3(bytes, initval);
    return { what: "jenkins_lookup3", location: "end", of };
  },
};

/** A checksum after the bytes, without configuration. */
function fixed(
  what: string,
  of: Checksum["of"],
): (configuration: unknown, name: string) => Checksum {
  return (configuration, name) => {
    new Configuration(name, [], configuration);
    return { what, location: "end", of };
  };
}

/** A checksum whose `location` is configured. */
function located(
  what: string,
  of: Checksum["of"],
  standard: Checksum["location"],
): (configuration: unknown, name: string) => Checksum {
  return (configuration, name) => {
    const members = new Configuration(name, ["location"], configuration);
    const location = members.get("location") === undefined
      ? standard
      : members.oneOf("location", LOCATIONS, standard);
    return { what, of, location };
  };
}

/** Makes the codec of a checksum by its name. */
export function checksumEntry(name: string): CodecEntry {
  return {
    fromConfig(configuration, metadata) {
      const { what, location, of } = CHECKSUMS[name]!(configuration, name);
      const isFirst = location === "start";
      const codec = bytesCodec(what, decodedLength(name, metadata), {
        encode(bytes) {
          const encoded = new Uint8Array(bytes.length + CHECKSUM_SIZE);
          encoded.set(bytes, isFirst ? CHECKSUM_SIZE : 0);
          const view = new DataView(encoded.buffer);
          view.setUint32(isFirst ? 0 : bytes.length, of(bytes), true);
          return encoded;
        },
        decode(encoded) {
          const length = encoded.length - CHECKSUM_SIZE;
          if (length < 0) {
            throw damaged(
              encoded,
              `is ${encoded.length} bytes long, fewer than the ${CHECKSUM_SIZE} bytes of its ${what}`,
            );
          }
          const start = isFirst ? CHECKSUM_SIZE : 0;
          // A copy, since zarrita takes all of the memory that elements lie in.
          const bytes = copyBytes(encoded, start, start + length);
          const { buffer, byteOffset } = encoded;
          const expected = new DataView(buffer, byteOffset)
            .getUint32(isFirst ? 0 : length, true);
          const actual = of(bytes);
          if (actual === expected) return bytes;
          throw new ChecksumError(
            `The ${chunkAt(encoded)} has the ${what} ${hex(actual)}, where ${
              hex(expected)
            } is stored in its ${
              isFirst ? "first" : "last"
            } ${CHECKSUM_SIZE} bytes`,
            { key: keyOf(encoded), expected, actual },
          );
        },
      });
      const computeEncodedSize = (size: number) => size + CHECKSUM_SIZE;
      return { ...codec, computeEncodedSize };
    },
  };
}

function hex(checksum: number): string {
  return `0x${checksum.toString(16).padStart(8, "0")}`;
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
