import { encodeLzw } from "./lzw_codec.ts";
import { encodeRuns } from "./run_length_codec.ts";

/**
 * Encodes bytes in the format of a codec, synchronously and in every runtime. For `zlib` and
 * `zstd`, the result is not compressed, except for equal bytes in `zstd`.
 *
 * @param codec The codec, by the name of its format.
 */
export function encodeStored(
  bytes: Uint8Array,
  codec: "zlib" | "zstd" | "lzw" | "packbits",
): Uint8Array {
  switch (codec) {
    case "zlib":
      return zlibStored(bytes);
    case "zstd":
      return zstdStored(bytes);
    case "lzw":
      return encodeLzw(bytes);
    case "packbits":
      return encodeRuns(bytes, bytes.length);
  }
}

/** A zlib stream of stored blocks (RFC 1950 and 1951). */
function zlibStored(bytes: Uint8Array): Uint8Array {
  const pieces = piecesOf(bytes, 0xffff);
  const stream = new Uint8Array(bytes.length + 5 * pieces.length + 6);
  const view = new DataView(stream.buffer);
  view.setUint16(0, 0x7801);
  let at = 2;
  pieces.forEach((piece, i) => {
    view.setUint8(at, i === pieces.length - 1 ? 1 : 0);
    view.setUint16(at + 1, piece.length, true);
    view.setUint16(at + 3, ~piece.length, true);
    stream.set(piece, at + 5);
    at += 5 + piece.length;
  });
  view.setUint32(at, adler32(bytes));
  return stream;
}

/** A zstd frame of raw blocks, or of repeated bytes if all are equal (RFC 8878). */
function zstdStored(bytes: Uint8Array): Uint8Array {
  const isEqual = bytes.every((byte) => byte === bytes[0]);
  const pieces = piecesOf(bytes, 128 * 1024);
  const contents = pieces.map((piece) =>
    isEqual ? piece.subarray(0, 1) : piece
  );
  const size = contents.reduce((sum, { length }) => sum + 3 + length, 13);
  const frame = new Uint8Array(size);
  const view = new DataView(frame.buffer);
  view.setUint32(0, 0xfd2fb528, true);
  frame[4] = 0xe0; // The content is one segment, whose size has 8 bytes.
  view.setBigUint64(5, BigInt(bytes.length), true);
  let at = 13;
  pieces.forEach((piece, i) => {
    const isLast = i === pieces.length - 1 ? 1 : 0;
    const header = piece.length * 8 + (isEqual ? 2 : 0) + isLast;
    view.setUint16(at, header & 0xffff, true);
    frame[at + 2] = header >> 16;
    frame.set(contents[i]!, at + 3);
    at += 3 + contents[i]!.length;
  });
  return frame;
}

function piecesOf(bytes: Uint8Array, length: number): Uint8Array[] {
  return Array.from(
    { length: Math.ceil(bytes.length / length) },
    (_, i) => bytes.subarray(i * length, (i + 1) * length),
  );
}

const MODULUS = 65521;
/** The sums of this many bytes stay below 2^31. */
const ADLER32_PIECE = 3800;

/** The checksum at the end of zlib data. Source: https://www.rfc-editor.org/rfc/rfc1950 */
export function adler32(bytes: Uint8Array): number {
  let low = 1;
  let high = 0;
  for (let start = 0; start < bytes.length; start += ADLER32_PIECE) {
    const end = Math.min(start + ADLER32_PIECE, bytes.length);
    for (let i = start; i < end; i++) {
      low = low + bytes[i]! | 0;
      high = high + low | 0;
    }
    low %= MODULUS;
    high %= MODULUS;
  }
  return high * 2 ** 16 + low;
}
