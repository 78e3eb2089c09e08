/**
 * Blocks of LZ4 in TypeScript, for runtimes and blocks that `wasm/lz4.ts` does not support.
 * Source: https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md
 */

/** A match has at least this many bytes. */
const LEAST_MATCH = 4;
/** A block ends with this many literals or more. */
const LAST_LITERALS = 5;
/** The last match starts at least this many bytes before the end of the block. */
const MATCH_LIMIT = 12;
const LARGEST_DISTANCE = 0xffff;

/**
 * Decodes a block.
 *
 * @param decoded Takes the decoded bytes, which are exactly as many.
 * @throws {SyntaxError} If the block is damaged. The message names what is wrong.
 */
export function decodeLz4(block: Uint8Array, decoded: Uint8Array): void {
  const end = block.length;
  const size = decoded.length;
  let at = 0;
  let to = 0;
  while (at < end) {
    const token = block[at++]!;
    let literals = token >> 4;
    if (literals === 15) {
      let more = 255;
      while (more === 255) {
        if (at >= end) throw new SyntaxError("The data is cut short");
        literals += more = block[at++]!;
      }
    }
    if (literals > end - at) throw new SyntaxError("The data is cut short");
    if (literals > size - to) throw tooMany(size);
    if (literals > 32) {
      decoded.set(block.subarray(at, at + literals), to);
      at += literals;
      to += literals;
    } else {
      for (const last = at + literals; at < last;) decoded[to++] = block[at++]!;
    }
    if (at === end) {
      if (to === size) return;
      throw new SyntaxError(`The data ends after ${to} of ${size} bytes`);
    }
    if (end - at < 2) throw new SyntaxError("The data is cut short");
    const distance = block[at]! | block[at + 1]! << 8;
    at += 2;
    if (distance === 0 || distance > to) {
      throw new SyntaxError(
        `A match lies ${distance} bytes before the byte ${to}`,
      );
    }
    let length = (token & 15) + LEAST_MATCH;
    if ((token & 15) === 15) {
      let more = 255;
      while (more === 255) {
        if (at >= end) throw new SyntaxError("The data is cut short");
        length += more = block[at++]!;
      }
    }
    if (length > size - to) throw tooMany(size);
    if (length > 32) {
      repeat(decoded, to, distance, length);
      to += length;
    } else {
      for (const last = to + length; to < last; to++) {
        decoded[to] = decoded[to - distance]!;
      }
    }
  }
  throw new SyntaxError("The data is cut short");
}

function tooMany(size: number): SyntaxError {
  return new SyntaxError(`The data has more than ${size} bytes`);
}

/** Writes bytes that repeat those at some distance before them. */
export function repeat(
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

/**
 * Encodes bytes as a block.
 *
 * @returns The block in new memory.
 */
export function encodeLz4(bytes: Uint8Array, search: Search): Uint8Array {
  const { length } = bytes;
  const block = new Uint8Array(length + Math.ceil(length / 255) + 16);
  const matches = findMatches(bytes, LARGEST_DISTANCE, search);
  let to = 0;
  let from = 0;
  for (let i = 0; i < matches.length; i += 3) {
    const at = matches[i]!;
    const end = at + matches[i + 2]!;
    to = putSequence(block, to, bytes, from, at, matches[i + 1]!, end - at);
    from = end;
  }
  to = putSequence(block, to, bytes, from, length, 0, 0);
  return block.slice(0, to);
}

/** Writes literals, and a match unless its length is 0. Returns the place after them. */
function putSequence(
  block: Uint8Array,
  start: number,
  bytes: Uint8Array,
  from: number,
  end: number,
  distance: number,
  length: number,
): number {
  let to = start + 1;
  const literals = end - from;
  let token = Math.min(literals, 15) << 4;
  if (literals >= 15) to = putLength(block, to, literals - 15);
  if (literals > 32) block.set(bytes.subarray(from, end), to);
  else for (let i = 0; i < literals; i++) block[to + i] = bytes[from + i]!;
  to += literals;
  if (length > 0) {
    block[to++] = distance;
    block[to++] = distance >> 8;
    token |= Math.min(length - LEAST_MATCH, 15);
    if (length - LEAST_MATCH >= 15) {
      to = putLength(block, to, length - LEAST_MATCH - 15);
    }
  }
  block[start] = token;
  return to;
}

function putLength(block: Uint8Array, to: number, length: number): number {
  let left = length;
  for (; left >= 255; left -= 255) block[to++] = 255;
  block[to++] = left;
  return to;
}

/** The effort of the search for matches. */
export interface Search {
  /** From 1 on: how fast the search passes over bytes that do not repeat. */
  readonly acceleration: number;
  /** The number of earlier places that are compared; 1 by default. */
  readonly depth?: number;
}

const HASH_BITS = 14;
/** The latest place of the bytes of each hash, plus 1. */
const latest = new Int32Array(1 << HASH_BITS);
/** The place before each place with the same hash, plus 1, by the last bits of the place. */
let earlier = new Int32Array(0);
/** A match takes three numbers: its place, the distance to the same bytes before, and its length. */
let found = new Int32Array(3 << 12);

/**
 * Finds bytes that repeat earlier ones.
 *
 * @returns The matches, valid until the next call.
 */
export function findMatches(
  bytes: Uint8Array,
  largestDistance: number,
  { acceleration, depth = 1 }: Search,
): Int32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const lastMatch = bytes.length - MATCH_LIMIT;
  const end = bytes.length - LAST_LITERALS;
  latest.fill(0);
  const isDeep = depth > 1;
  if (isDeep && earlier.length === 0) earlier = new Int32Array(1 << 16);
  const firstTries = acceleration << 6;
  let tries = firstTries;
  let count = 0;
  let anchor = 0;
  let at = 0;
  while (at <= lastMatch) {
    const word = view.getInt32(at, true);
    const hash = hashOf(word);
    let candidate = latest[hash]! - 1;
    latest[hash] = at + 1;
    if (isDeep) earlier[at & 0xffff] = candidate + 1;
    let match = -1;
    let length = 0;
    for (
      let left = depth;
      left > 0 && candidate >= 0 && at - candidate <= largestDistance;
      left--
    ) {
      if (view.getInt32(candidate, true) === word) {
        const same = sameLength(bytes, view, candidate, at, end);
        if (same > length) {
          match = candidate;
          length = same;
        }
      }
      if (!isDeep) break;
      const next = earlier[candidate & 0xffff]! - 1;
      if (next >= candidate) break;
      candidate = next;
    }
    if (match < 0) {
      at += tries++ >> 6;
      continue;
    }
    const distance = at - match;
    while (
      at > anchor && match > 0 && bytes[at - 1] === bytes[match - 1]
    ) {
      at--;
      match--;
      length++;
    }
    if (count + 3 > found.length) {
      const more = new Int32Array(2 * found.length);
      more.set(found);
      found = more;
    }
    found[count++] = at;
    found[count++] = distance;
    found[count++] = length;
    at += length;
    // Places in the match are found later if every one of them is noted, or one.
    const last = Math.min(at - 1, lastMatch);
    for (let i = isDeep ? at - length + 1 : at - 2; i <= last; i++) {
      const hash = hashOf(view.getInt32(i, true));
      if (isDeep) earlier[i & 0xffff] = latest[hash]!;
      latest[hash] = i + 1;
      if (!isDeep) break;
    }
    anchor = at;
    tries = firstTries;
  }
  return found.subarray(0, count);
}

function hashOf(word: number): number {
  return Math.imul(word, -1640531535) >>> 32 - HASH_BITS;
}

/** The number of bytes from `at` on that are the same as those from `match` on. */
function sameLength(
  bytes: Uint8Array,
  view: DataView,
  match: number,
  at: number,
  end: number,
): number {
  let i = at + LEAST_MATCH;
  let j = match + LEAST_MATCH;
  while (i + 4 <= end && view.getInt32(i) === view.getInt32(j)) {
    i += 4;
    j += 4;
  }
  while (i < end && bytes[i] === bytes[j]) {
    i++;
    j++;
  }
  return i - at;
}
