// Blocks of LZ4: https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md

/** The latest place of the bytes of each hash, plus 1, at the start of the memory. */
const TABLE: usize = 0;
const HASH_BITS: u32 = 12;
const TABLE_SIZE: usize = 4 << HASH_BITS;

const LEAST_MATCH: u32 = 4;
const LAST_LITERALS: usize = 5;
const MATCH_LIMIT: usize = 12;
const LARGEST_DISTANCE: usize = 0xffff;

/** Copies up to 15 bytes too many. */
function copy(to: usize, from: usize, length: usize): void {
  for (const end = to + length; to < end; to += 16, from += 16) {
    v128.store(to, v128.load(from));
  }
}

function fill(to: usize, length: usize, vector: v128): void {
  for (const end = to + length; to < end; to += 16) v128.store(to, vector);
}

/** Writes bytes that repeat those at some distance before them, and up to 15 bytes too many. */
function repeat(to: usize, distance: usize, length: usize): void {
  const from = to - distance;
  if (distance >= 16) copy(to, from, length);
  else if (distance == 1) fill(to, length, i8x16.splat(load<i8>(from)));
  else if (distance == 2) fill(to, length, i16x8.splat(load<i16>(from)));
  else if (distance == 4) fill(to, length, i32x4.splat(load<i32>(from)));
  else if (distance == 8) fill(to, length, i64x2.splat(load<i64>(from)));
  else {
    for (let i: usize = 0; i < 16; i++) {
      store<u8>(to + i, load<u8>(from + i));
    }
    // The largest multiple of the distance that a vector holds.
    const step: usize = 16 - <usize> 16 % distance;
    for (const end = to + length; to + 16 < end; to += step) {
      v128.store(to + step, v128.load(to));
    }
  }
}

/** Decodes a block from `from` to `end`. Returns whether it holds exactly the bytes from `to` to `toEnd`. */
export function decodeLz4(
  from: usize,
  end: usize,
  to: usize,
  toEnd: usize,
): bool {
  const start = to;
  while (from < end) {
    const token: u32 = load<u8>(from++);
    let length: usize = token >> 4;
    if (length == 15) {
      let more: usize;
      do {
        if (from >= end) return false;
        more = load<u8>(from++);
        length += more;
      } while (more == 255);
    }
    if (length > end - from || length > toEnd - to) return false;
    copy(to, from, length);
    from += length;
    to += length;
    if (from == end) return to == toEnd;
    if (end - from < 2) return false;
    const distance: usize = load<u16>(from);
    from += 2;
    if (distance == 0 || distance > to - start) return false;
    length = (token & 15) + LEAST_MATCH;
    if ((token & 15) == 15) {
      let more: usize;
      do {
        if (from >= end) return false;
        more = load<u8>(from++);
        length += more;
      } while (more == 255);
    }
    if (length > toEnd - to) return false;
    repeat(to, distance, length);
    to += length;
  }
  return false;
}

function hashPlace(word: u32): usize {
  return TABLE + ((word * 2654435761 >> (32 - HASH_BITS)) << 2);
}

function putLength(to: usize, length: usize): usize {
  for (; length >= 255; length -= 255) store<u8>(to++, 255);
  store<u8>(to++, <u8> length);
  return to;
}

function putLiterals(to: usize, from: usize, length: usize, low: u32): usize {
  store<u8>(to++, <u8> (<u32> min(length, 15) << 4 | low));
  if (length >= 15) to = putLength(to, length - 15);
  copy(to, from, length);
  return to + length;
}

/** Encodes `length` bytes from `from` on as a block from `to` on, and returns its length. */
export function encodeLz4(
  from: usize,
  length: usize,
  to: usize,
  acceleration: u32,
): usize {
  const start = to;
  const end = from + length;
  let anchor = from;
  if (length > MATCH_LIMIT) {
    memory.fill(TABLE, 0, TABLE_SIZE);
    const lastMatch = end - MATCH_LIMIT;
    const matchEnd = end - LAST_LITERALS;
    const base = from - 1;
    let at = from;
    let tries = acceleration << 6;
    while (at <= lastMatch) {
      const word = load<u32>(at);
      const place = hashPlace(word);
      let match = base + load<u32>(place);
      store<u32>(place, <u32> (at - base));
      if (
        load<u32>(match) != word || match == base ||
        at - match > LARGEST_DISTANCE
      ) {
        at += tries++ >> 6;
        continue;
      }
      while (
        at > anchor && match > from && load<u8>(at - 1) == load<u8>(match - 1)
      ) {
        at--;
        match--;
      }
      const distance = at - match;
      let next = at + LEAST_MATCH;
      let same = match + LEAST_MATCH;
      let isEnd = false;
      while (next + 8 <= matchEnd) {
        const difference = load<u64>(next) ^ load<u64>(same);
        if (difference != 0) {
          next += <usize> (ctz(difference) >> 3);
          isEnd = true;
          break;
        }
        next += 8;
        same += 8;
      }
      if (!isEnd) {
        while (next < matchEnd && load<u8>(next) == load<u8>(same)) {
          next++;
          same++;
        }
      }
      const more = next - at - LEAST_MATCH;
      to = putLiterals(to, anchor, at - anchor, <u32> min(more, 15));
      store<u16>(to, <u16> distance);
      to += 2;
      if (more >= 15) to = putLength(to, more - 15);
      at = next;
      anchor = next;
      tries = acceleration << 6;
      if (at <= lastMatch) {
        store<u32>(hashPlace(load<u32>(at - 2)), <u32> (at - 2 - base));
      }
    }
  }
  return putLiterals(to, anchor, end - anchor, 0) - start;
}
