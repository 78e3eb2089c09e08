/**
 * The codec `imagecodecs_packbits` of the Python package imagecodecs, with the run lengths
 * of TIFF, which TIFF calls PackBits: a count, and bytes to copy or a byte to repeat.
 * Source: TIFF 6.0, section 9
 */
import { type CodecEntry, Configuration } from "./codec.ts";
import { bytesCodec, decodedLength } from "./decoded_length.ts";
import { axisOf, numberSize, rowOf, storedShape } from "./element_bytes.ts";

/** The codec `imagecodecs_packbits`, whose rows start at an axis. */
export const PACKBITS: CodecEntry = {
  fromConfig(configuration, metadata) {
    const name = "imagecodecs_packbits";
    const members = new Configuration(name, ["axis"], configuration);
    const length = decodedLength(name, metadata);
    const shape = storedShape(name, metadata);
    const row = members.get("axis") === undefined
      ? Infinity
      : rowOf(shape, axisOf(members, shape.length)) *
        numberSize(name, metadata.dataType);
    return bytesCodec(name, length, {
      encode: (bytes) => encodeRuns(bytes, Math.min(row, bytes.length)),
      decode: (bytes) => decodeRuns(bytes, length.exact, length.limit),
    });
  },
};

const LONGEST = 128;

/**
 * Encodes bytes.
 *
 * @param row The length of a row in bytes. No run goes on from one row to the next.
 */
export function encodeRuns(bytes: Uint8Array, row: number): Uint8Array {
  const rows = Math.ceil(bytes.length / Math.max(row, 1));
  const encoded = new Uint8Array(
    bytes.length + rows * Math.ceil(row / LONGEST),
  );
  let length = 0;
  for (let start = 0; start < bytes.length; start += row) {
    const end = Math.min(start + row, bytes.length);
    let copied = start; // The first byte that is not encoded yet.
    const copy = (until: number) => {
      while (copied < until) {
        const piece = bytes.subarray(copied, Math.min(copied + LONGEST, until));
        encoded[length++] = piece.length - 1;
        encoded.set(piece, length);
        length += piece.length;
        copied += piece.length;
      }
    };
    for (let at = start; at < end;) {
      const run = runLength(bytes, at, Math.min(end, at + LONGEST));
      // A run of two saves nothing between bytes that are copied.
      if (run > 2 || run === 2 && at === copied && at + 2 === end) {
        copy(at);
        encoded[length++] = 257 - run;
        encoded[length++] = bytes[at]!;
        copied = at + run;
      }
      at += run;
    }
    copy(end);
  }
  return encoded.slice(0, length);
}

function runLength(bytes: Uint8Array, start: number, end: number): number {
  let at = start + 1;
  while (at < end && bytes[at] === bytes[start]) at++;
  return at - start;
}

/**
 * Decodes bytes.
 *
 * @param expected The length of the decoded bytes, if it is known. Decoding ends there,
 * since some programs write more.
 * @param limit The most bytes to decode.
 * @throws {SyntaxError} If the data is cut short, or longer than the limit.
 */
export function decodeRuns(
  bytes: Uint8Array,
  expected: number | undefined,
  limit: number,
): Uint8Array {
  const decoded = new Uint8Array(lengthOf(bytes, expected, limit));
  let length = 0;
  for (let at = 0; length < decoded.length;) {
    const count = bytes[at++]!;
    if (count < LONGEST) {
      const most = Math.min(count + 1, decoded.length - length);
      decoded.set(bytes.subarray(at, at + most), length);
      length += count + 1;
      at += count + 1;
    } else if (count > LONGEST) {
      decoded.fill(bytes[at++]!, length, length += 257 - count);
    }
  }
  return decoded;
}

function lengthOf(
  bytes: Uint8Array,
  expected: number | undefined,
  limit: number,
): number {
  let length = 0;
  let at = 0;
  while (at < bytes.length && length !== expected) {
    const count = bytes[at]!;
    at += count < LONGEST ? count + 2 : count > LONGEST ? 2 : 1;
    if (count === LONGEST) continue;
    length += count < LONGEST ? count + 1 : 257 - count;
    if (expected === undefined || length <= expected) continue;
    at -= count < LONGEST ? length - expected : 0;
    length = expected;
  }
  if (at > bytes.length) {
    throw new SyntaxError(`It needs ${at} bytes, found ${bytes.length}`);
  }
  if (length <= limit) return length;
  throw new SyntaxError(`It decodes to ${length} bytes`);
}
