import { DamageError } from "../errors/mod.ts";
import { blockEngine } from "./block_engine.ts";
import type { BytesCodec } from "./codec.ts";
import { type Libraries, TooLong } from "./decoded_length.ts";
import { deflateCoder } from "./deflate_codec.ts";
import { zstdCoder } from "./zstd_codec.ts";

/** The compressors of blosc. */
export const COMPRESSORS = [
  "blosclz",
  "lz4",
  "lz4hc",
  "snappy",
  "zlib",
  "zstd",
] as const;

/** A compressor of blosc. */
export type Compressor = typeof COMPRESSORS[number];

/** The formats of streams by the number in the highest bits of the third byte. */
export const FORMATS = ["blosclz", "lz4", "snappy", "zlib", "zstd"] as const;

/** A format of streams, which several compressors may share. */
export type StreamFormat = typeof FORMATS[number];

/**
 * Decodes a stream to its length, in memory that the next stream may use again.
 *
 * @throws {SyntaxError} If the stream is damaged.
 */
export async function decodeStream(
  bytes: Uint8Array,
  length: number,
  format: StreamFormat,
  libraries: Libraries,
): Promise<Uint8Array> {
  if (format === "snappy") return decodeSnappy(bytes, new Uint8Array(length));
  if (format === "blosclz") return decodeBlosclz(bytes, new Uint8Array(length));
  try {
    const coder = coderOf(format, 1, length, libraries);
    const decoded = await coder.decode(bytes);
    if (decoded.length === length) return decoded;
    throw new SyntaxError(`A stream has ${decoded.length} of ${length} bytes`);
  } catch (cause) {
    if (cause instanceof TooLong) {
      throw new SyntaxError(`A stream has more than ${length} bytes`);
    }
    if (!(cause instanceof DamageError)) throw cause;
    throw new SyntaxError(cause.message.replace(/^The chunk/, "A stream"));
  }
}

/**
 * Encodes a stream of a format other than LZ4.
 *
 * @param level That of blosc, from 1 to 9.
 */
export function encodeStream(
  bytes: Uint8Array,
  cname: Exclude<Compressor, "lz4" | "lz4hc" | "snappy">,
  level: number,
  libraries: Libraries,
): Uint8Array | Promise<Uint8Array> {
  return cname === "blosclz"
    ? encodeBlosclz(bytes, 10 - level)
    : coderOf(cname, level, bytes.length, libraries).encode(bytes);
}

/** The functions of zlib or zstd, at a level of blosc. */
function coderOf(
  format: StreamFormat,
  level: number,
  length: number,
  libraries: Libraries,
): BytesCodec {
  const exactly = { exact: length, limit: length, isPredicted: true };
  if (format === "zlib") {
    return deflateCoder({ format, level }, exactly, libraries);
  }
  const zstdLevel = level === 9 ? 22 : 2 * level - 1;
  return zstdCoder({ level: zstdLevel, checksum: false }, exactly, libraries);
}

/** The distance from which blosclz takes two bytes more. */
const FAR = 8191;

/**
 * Decodes a stream of blosclz.
 *
 * Source: https://github.com/Blosc/c-blosc/blob/main/blosc/blosclz.c
 *
 * @param to Takes the decoded bytes, which are exactly as many.
 */
function decodeBlosclz(bytes: Uint8Array, to: Uint8Array): Uint8Array {
  let at = 0;
  let done = 0;
  const next = () => {
    if (at < bytes.length) return bytes[at++]!;
    throw new SyntaxError("The data is cut short");
  };
  for (let isFirst = true; at < bytes.length; isFirst = false) {
    const control = isFirst ? next() & 31 : next();
    let length: number;
    if (control < 32) {
      length = control + 1;
      if (length > bytes.length - at) {
        throw new SyntaxError("The data is cut short");
      }
      if (length > to.length - done) throw tooMany(to);
      for (const end = at + length; at < end;) to[done++] = bytes[at++]!;
      continue;
    }
    length = (control >> 5) + 2;
    if (length === 9) {
      for (let more = 255; more === 255;) length += more = next();
    }
    const high = (control & 31) << 8;
    const low = next();
    let distance = high + low + 1;
    if (low === 255 && high === 31 << 8) {
      distance = (next() << 8) + next() + FAR + 1;
    }
    if (distance > done) {
      throw new SyntaxError(
        `A match lies ${distance} bytes before the byte ${done}`,
      );
    }
    if (length > to.length - done) throw tooMany(to);
    repeat(to, done, distance, length);
    done += length;
  }
  if (done === to.length) return to;
  throw new SyntaxError(`The data ends after ${done} of ${to.length} bytes`);
}

function tooMany(to: Uint8Array): SyntaxError {
  return new SyntaxError(`The data has more than ${to.length} bytes`);
}

/** Encodes bytes as a stream of blosclz: the literals and the matches of a block of LZ4. */
function encodeBlosclz(bytes: Uint8Array, acceleration: number): Uint8Array {
  const block = blockEngine().encodeLz4(bytes, acceleration);
  // A match of 4 bytes takes 4 bytes, and a literal before it 2.
  const stream = new Uint8Array(2 * bytes.length + 8);
  let at = 0;
  let to = 0;
  const lengthOf = (nibble: number) => {
    let length = nibble;
    if (nibble === 15) {
      for (let more = 255; more === 255;) length += more = block[at++]!;
    }
    return length;
  };
  while (at < block.length) {
    const token = block[at++]!;
    for (let literals = lengthOf(token >> 4); literals > 0;) {
      const count = Math.min(literals, 32);
      stream[to++] = count - 1;
      for (let i = 0; i < count; i++) stream[to++] = block[at++]!;
      literals -= count;
    }
    if (at === block.length) break;
    const distance = block[at++]! | block[at++]! << 8;
    const length = lengthOf(token & 15) + 4;
    const far = distance - FAR - 1;
    const near = far < 0 ? distance - 1 : 31 << 8 | 255;
    stream[to++] = Math.min(length - 2, 7) << 5 | near >> 8;
    if (length >= 9) {
      let left = length - 9;
      for (; left >= 255; left -= 255) stream[to++] = 255;
      stream[to++] = left;
    }
    stream[to++] = near;
    if (far >= 0) {
      stream[to++] = far >> 8;
      stream[to++] = far;
    }
  }
  return stream.subarray(0, to);
}

/**
 * Decodes a stream of Snappy.
 *
 * Source: https://github.com/google/snappy/blob/main/format_description.txt
 *
 * @param to Takes the decoded bytes, which are exactly as many.
 */
function decodeSnappy(bytes: Uint8Array, to: Uint8Array): Uint8Array {
  let at = 0;
  let done = 0;
  const next = (count: number) => {
    if (count > bytes.length - at) {
      throw new SyntaxError("The data is cut short");
    }
    let value = 0;
    for (let i = 0; i < count; i++) value += bytes[at++]! * 2 ** (8 * i);
    return value;
  };
  let length = 0;
  for (let shift = 0, byte = 128; byte >= 128; shift += 7) {
    if (shift > 28) throw new SyntaxError("Its length has too many bytes");
    byte = next(1);
    length += (byte & 127) * 2 ** shift;
  }
  if (length !== to.length) {
    throw new SyntaxError(`The data has ${length} of ${to.length} bytes`);
  }
  while (at < bytes.length) {
    const tag = next(1);
    const kind = tag & 3;
    if (kind === 0) {
      const code = tag >> 2;
      const count = (code < 60 ? code : next(code - 59)) + 1;
      if (count > bytes.length - at) {
        throw new SyntaxError("The data is cut short");
      }
      if (count > to.length - done) throw tooMany(to);
      to.set(bytes.subarray(at, at + count), done);
      at += count;
      done += count;
      continue;
    }
    const count = kind === 1 ? (tag >> 2 & 7) + 4 : (tag >> 2) + 1;
    const distance = kind === 1
      ? (tag >> 5) * 256 + next(1)
      : next(kind === 2 ? 2 : 4);
    if (distance === 0 || distance > done) {
      throw new SyntaxError(
        `A match lies ${distance} bytes before the byte ${done}`,
      );
    }
    if (count > to.length - done) throw tooMany(to);
    repeat(to, done, distance, count);
    done += count;
  }
  if (done === to.length) return to;
  throw new SyntaxError(`The data ends after ${done} of ${to.length} bytes`);
}

/** Writes bytes that repeat those at some distance before them. */
function repeat(
  bytes: Uint8Array,
  to: number,
  distance: number,
  length: number,
): void {
  // Each copy doubles what may be copied next.
  for (let done = 0, width = distance; done < length; width *= 2) {
    const count = Math.min(width, length - done);
    bytes.copyWithin(to + done, to - distance, to - distance + count);
    done += count;
  }
}
