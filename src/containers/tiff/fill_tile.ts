import type { TiffArray } from "./tiff_array.ts";
import { COMPRESSION } from "./tiff_codecs.ts";

/** Encodes a tile of fill values as TIFF readers expect tiles of the array. */
export function fillTile(array: TiffArray): Uint8Array {
  return encodeStored(predicted(array), array.compression);
}

/** The tile after the predictor of the array. */
function predicted(
  { tileShape, axes, fillBytes, predictor }: TiffArray,
): Uint8Array {
  const size = fillBytes.length;
  const samples = axes.bands === axes.x + 1 ? tileShape[axes.bands]! : 1;
  const rowSize = tileShape[axes.x]! * samples * size;
  const row = new Uint8Array(rowSize);
  for (let at = 0; at < rowSize; at++) {
    if (predictor === 3) {
      // Bytes of the same weight lie together, the highest first.
      row[at] = fillBytes[size - 1 - Math.floor(at * size / rowSize)]!;
    } else if (predictor === 1 || at < samples * size) {
      row[at] = fillBytes[at % size]!; // All other differences are 0.
    }
  }
  if (predictor === 3) {
    for (let at = rowSize - 1; at >= samples; at--) {
      row[at] = row[at]! - row[at - samples]!;
    }
  }
  const tile = new Uint8Array(rowSize * tileShape[axes.y]!);
  for (let at = 0; at < tile.length; at += rowSize) tile.set(row, at);
  return tile;
}

/**
 * Encodes bytes in the form of a compression of TIFF, and saves only what is simple to
 * save. For tiles of fill values, of which a file has one at most.
 */
export function encodeStored(
  bytes: Uint8Array,
  compression: number,
): Uint8Array {
  switch (compression) {
    case COMPRESSION.deflate:
      return zlibStored(bytes);
    case COMPRESSION.zstd:
      return zstdStored(bytes);
    case COMPRESSION.lzw:
      return lzwStored(bytes);
    case COMPRESSION.packBits:
      return packBitsStored(bytes);
    default:
      return bytes;
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

function adler32(bytes: Uint8Array): number {
  let [a, b] = [1, 0];
  for (const byte of bytes) {
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  return b * 65536 + a;
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

/** LZW of codes of 9 bits, which a clear code before each 250 bytes keeps so short. */
function lzwStored(bytes: Uint8Array): Uint8Array {
  const codes: number[] = [];
  bytes.forEach((byte, i) => {
    if (i % 250 === 0) codes.push(256);
    codes.push(byte);
  });
  codes.push(257);
  const packed = new Uint8Array(Math.ceil(codes.length * 9 / 8));
  codes.forEach((code, i) => {
    const at = Math.floor(i * 9 / 8);
    const shifted = code << (7 - i % 8);
    packed[at]! |= shifted >> 8;
    packed[at + 1]! |= shifted & 255;
  });
  return packed;
}

/** PackBits of literal bytes. */
function packBitsStored(bytes: Uint8Array): Uint8Array {
  const pieces = piecesOf(bytes, 128);
  const packed = new Uint8Array(bytes.length + pieces.length);
  pieces.forEach((piece, i) => {
    packed[129 * i] = piece.length - 1;
    packed.set(piece, 129 * i + 1);
  });
  return packed;
}

function piecesOf(bytes: Uint8Array, length: number): Uint8Array[] {
  return Array.from(
    { length: Math.ceil(bytes.length / length) },
    (_, i) => bytes.subarray(i * length, (i + 1) * length),
  );
}
