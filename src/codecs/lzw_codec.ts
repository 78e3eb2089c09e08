/**
 * The codec `imagecodecs_lzw` of the Python package imagecodecs, with the LZW of TIFF:
 * codes of 9 to 12 bits, from the highest bit on, which get longer one code early.
 * Source: TIFF 6.0, section 13
 */
import { type CodecEntry, Configuration } from "./codec.ts";
import { bytesCodec, decodedLength } from "./decoded_length.ts";

/** The codec `imagecodecs_lzw`. */
export const LZW: CodecEntry = {
  fromConfig(configuration, metadata) {
    const name = "imagecodecs_lzw";
    new Configuration(name, [], configuration);
    const length = decodedLength(name, metadata);
    return bytesCodec(name, length, {
      encode: encodeLzw,
      decode: (bytes) => decodeLzw(bytes, length.exact, length.limit),
    });
  },
};

const CLEAR = 256;
const END = 257;
const FIRST = 258;
const MOST_CODES = 4096;
/** The encoder clears its table when it has this many codes, as libtiff does. */
const FULL = 4094;

/** Encodes bytes. */
export function encodeLzw(bytes: Uint8Array): Uint8Array {
  // A code takes at most 12 bits for each byte, and there are few other codes.
  const encoded = new Uint8Array(
    Math.ceil(bytes.length * 1.5) + Math.ceil(bytes.length / 1000) * 2 + 8,
  );
  let length = 0;
  let held = 0;
  let heldBits = 0;
  let width = 9;
  let next = FIRST;
  /** The codes of sequences, by the code of all their bytes but the last one, and that byte. */
  const codes = new Map<number, number>();
  const write = (code: number) => {
    held = held << width | code;
    heldBits += width;
    while (heldBits >= 8) encoded[length++] = held >> (heldBits -= 8);
    held &= (1 << heldBits) - 1;
  };
  const clear = () => {
    write(CLEAR);
    codes.clear();
    next = FIRST;
    width = 9;
  };
  /** Counts the code that the decoder adds to its table for each code that it reads. */
  const added = () => {
    if (++next === FULL) clear();
    else if (next === 1 << width) width++;
  };
  clear();
  let prefix = -1;
  for (const byte of bytes) {
    const key = prefix << 8 | byte;
    const code = prefix < 0 ? byte : codes.get(key);
    if (code !== undefined) {
      prefix = code;
      continue;
    }
    write(prefix);
    codes.set(key, next);
    added();
    prefix = byte;
  }
  if (prefix >= 0) {
    write(prefix);
    added();
  }
  write(END);
  if (heldBits > 0) encoded[length++] = held << (8 - heldBits);
  return encoded.slice(0, length);
}

/**
 * Decodes bytes. In those of programs from before TIFF 6.0, codes start at the lowest bit
 * and get longer when they have to.
 *
 * @param expected The length of the decoded bytes, if it is known. Decoding ends there,
 * since some programs write more, and at the end of data without an end code.
 * @param limit The most bytes to decode.
 * @throws {SyntaxError} If the data is damaged, or longer than the limit.
 */
export function decodeLzw(
  bytes: Uint8Array,
  expected: number | undefined,
  limit: number,
): Uint8Array {
  const prefixes = new Uint16Array(MOST_CODES);
  const lasts = Uint8Array.from({ length: MOST_CODES }, (_, i) => i & 255);
  const firsts = lasts.slice();
  const lengths = new Uint16Array(MOST_CODES).fill(1, 0, CLEAR);
  // Both forms start with the code that clears the table.
  const isOld = bytes[0] === 0 && (bytes[1]! & 1) === 1;
  const growsAt = isOld ? 0 : 1;
  const most = expected ?? limit;
  let decoded = new Uint8Array(expected ?? 4 * bytes.length);
  let length = 0;
  let width = 9;
  let next = FIRST;
  let previous = -1;
  let held = 0;
  let heldBits = 0;
  let offset = 0;
  while (length !== expected) {
    while (heldBits < width && offset < bytes.length) {
      const byte = bytes[offset++]!;
      held = isOld ? held | byte << heldBits : (held << 8 | byte) & 0xfffff;
      heldBits += 8;
    }
    if (heldBits < width) {
      if (expected !== undefined) break;
      throw new SyntaxError(`It ends at ${bytes.length} without an end code`);
    }
    heldBits -= width;
    const code = (isOld ? held : held >> heldBits) & (1 << width) - 1;
    if (isOld) held >>= width;
    if (code === END) break;
    if (code === CLEAR) {
      width = 9;
      next = FIRST;
      previous = -1;
      continue;
    }
    if (
      code > next || code === next && previous < 0 ||
      next === MOST_CODES && code >= next
    ) {
      throw new SyntaxError(
        `It has the code ${code} before byte ${offset}, where codes are less than ${next}`,
      );
    }
    const isNew = code === next;
    const size = isNew ? lengths[previous]! + 1 : lengths[code]!;
    if (length + size > most && expected === undefined) {
      throw new SyntaxError(`It decodes to more than ${limit} bytes`);
    }
    if (length + size > decoded.length) decoded = grown(decoded, length + size);
    let end = length + size;
    if (isNew) decoded[--end] = firsts[previous]!;
    for (let at = isNew ? previous : code; end > length; at = prefixes[at]!) {
      decoded[--end] = lasts[at]!;
    }
    if (previous >= 0 && next < MOST_CODES) {
      prefixes[next] = previous;
      firsts[next] = firsts[previous]!;
      lasts[next] = decoded[length]!;
      lengths[next] = lengths[previous]! + 1;
      if (++next === (1 << width) - growsAt && width < 12) width++;
    }
    previous = code;
    length = Math.min(length + size, most);
  }
  return length === decoded.length ? decoded : decoded.slice(0, length);
}

function grown(bytes: Uint8Array, least: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(Math.max(least, 2 * bytes.length));
  larger.set(bytes);
  return larger;
}
