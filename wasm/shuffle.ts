// The orders of bytes and bits of blosc. Sizes are those of elements, counts the numbers of
// elements, in which bytes after the last whole element have no part.

/** The even bytes of two vectors. */
function even(a: v128, b: v128): v128 {
  return i8x16.shuffle(
    a,
    b,
    0,
    2,
    4,
    6,
    8,
    10,
    12,
    14,
    16,
    18,
    20,
    22,
    24,
    26,
    28,
    30,
  );
}

function odd(a: v128, b: v128): v128 {
  return i8x16.shuffle(
    a,
    b,
    1,
    3,
    5,
    7,
    9,
    11,
    13,
    15,
    17,
    19,
    21,
    23,
    25,
    27,
    29,
    31,
  );
}

/** The bytes of the first halves of two vectors in turn. */
function low(a: v128, b: v128): v128 {
  return i8x16.shuffle(
    a,
    b,
    0,
    16,
    1,
    17,
    2,
    18,
    3,
    19,
    4,
    20,
    5,
    21,
    6,
    22,
    7,
    23,
  );
}

function high(a: v128, b: v128): v128 {
  return i8x16.shuffle(
    a,
    b,
    8,
    24,
    9,
    25,
    10,
    26,
    11,
    27,
    12,
    28,
    13,
    29,
    14,
    30,
    15,
    31,
  );
}

/** Puts the first bytes of all elements first, then the second ones, and so on. */
export function shuffle(
  from: usize,
  to: usize,
  count: usize,
  size: usize,
): void {
  let i: usize = 0;
  if (size == 2) {
    for (; i + 16 <= count; i += 16) {
      const a = v128.load(from + 2 * i);
      const b = v128.load(from + 2 * i, 16);
      v128.store(to + i, even(a, b));
      v128.store(to + count + i, odd(a, b));
    }
  } else if (size == 4) {
    for (; i + 16 <= count; i += 16) {
      const at = from + 4 * i;
      const a = v128.load(at);
      const b = v128.load(at, 16);
      const c = v128.load(at, 32);
      const d = v128.load(at, 48);
      const e = even(a, b);
      const f = even(c, d);
      const g = odd(a, b);
      const h = odd(c, d);
      v128.store(to + i, even(e, f));
      v128.store(to + count + i, even(g, h));
      v128.store(to + 2 * count + i, odd(e, f));
      v128.store(to + 3 * count + i, odd(g, h));
    }
  } else if (size == 8) {
    for (; i + 16 <= count; i += 16) {
      const at = from + 8 * i;
      const a = v128.load(at);
      const b = v128.load(at, 16);
      const c = v128.load(at, 32);
      const d = v128.load(at, 48);
      const e = v128.load(at, 64);
      const f = v128.load(at, 80);
      const g = v128.load(at, 96);
      const h = v128.load(at, 112);
      const a0 = even(a, b);
      const b0 = even(c, d);
      const c0 = even(e, f);
      const d0 = even(g, h);
      const a1 = odd(a, b);
      const b1 = odd(c, d);
      const c1 = odd(e, f);
      const d1 = odd(g, h);
      const a00 = even(a0, b0);
      const b00 = even(c0, d0);
      const a02 = odd(a0, b0);
      const b02 = odd(c0, d0);
      const a01 = even(a1, b1);
      const b01 = even(c1, d1);
      const a03 = odd(a1, b1);
      const b03 = odd(c1, d1);
      v128.store(to + i, even(a00, b00));
      v128.store(to + count + i, even(a01, b01));
      v128.store(to + 2 * count + i, even(a02, b02));
      v128.store(to + 3 * count + i, even(a03, b03));
      v128.store(to + 4 * count + i, odd(a00, b00));
      v128.store(to + 5 * count + i, odd(a01, b01));
      v128.store(to + 6 * count + i, odd(a02, b02));
      v128.store(to + 7 * count + i, odd(a03, b03));
    }
  }
  for (let byte: usize = 0; byte < size; byte++) {
    for (let j = i; j < count; j++) {
      store<u8>(to + byte * count + j, load<u8>(from + j * size + byte));
    }
  }
}

/** Reverses `shuffle`. */
export function unshuffle(
  from: usize,
  to: usize,
  count: usize,
  size: usize,
): void {
  let i: usize = 0;
  if (size == 2) {
    for (; i + 16 <= count; i += 16) {
      const a = v128.load(from + i);
      const b = v128.load(from + count + i);
      v128.store(to + 2 * i, low(a, b));
      v128.store(to + 2 * i, high(a, b), 16);
    }
  } else if (size == 4) {
    for (; i + 16 <= count; i += 16) {
      const a = v128.load(from + i);
      const b = v128.load(from + count + i);
      const c = v128.load(from + 2 * count + i);
      const d = v128.load(from + 3 * count + i);
      // Bytes 0 and 2 in turn, and bytes 1 and 3.
      const e = low(a, c);
      const f = high(a, c);
      const g = low(b, d);
      const h = high(b, d);
      const at = to + 4 * i;
      v128.store(at, low(e, g));
      v128.store(at, high(e, g), 16);
      v128.store(at, low(f, h), 32);
      v128.store(at, high(f, h), 48);
    }
  } else if (size == 8) {
    for (; i + 16 <= count; i += 16) {
      const at = from + i;
      const a = v128.load(at);
      const b = v128.load(at + count);
      const c = v128.load(at + 2 * count);
      const d = v128.load(at + 3 * count);
      const e = v128.load(at + 4 * count);
      const f = v128.load(at + 5 * count);
      const g = v128.load(at + 6 * count);
      const h = v128.load(at + 7 * count);
      const ae0 = low(a, e);
      const ae1 = high(a, e);
      const cg0 = low(c, g);
      const cg1 = high(c, g);
      const bf0 = low(b, f);
      const bf1 = high(b, f);
      const dh0 = low(d, h);
      const dh1 = high(d, h);
      put8(to + 8 * i, low(ae0, cg0), low(bf0, dh0));
      put8(to + 8 * i + 32, high(ae0, cg0), high(bf0, dh0));
      put8(to + 8 * i + 64, low(ae1, cg1), low(bf1, dh1));
      put8(to + 8 * i + 96, high(ae1, cg1), high(bf1, dh1));
    }
  }
  for (let byte: usize = 0; byte < size; byte++) {
    for (let j = i; j < count; j++) {
      store<u8>(to + j * size + byte, load<u8>(from + byte * count + j));
    }
  }
}

function put8(to: usize, a: v128, b: v128): void {
  v128.store(to, low(a, b));
  v128.store(to, high(a, b), 16);
}

/** Puts the lowest bits of all elements first, by way of `between`. `count` is a multiple of 8. */
export function bitShuffle(
  from: usize,
  to: usize,
  count: usize,
  size: usize,
  between: usize,
): void {
  shuffle(from, between, count, size);
  const row = count >> 3;
  for (let byte: usize = 0; byte < size; byte++) {
    const plane = between + byte * count;
    const rows = to + 8 * byte * row;
    let i: usize = 0;
    for (; i + 16 <= count; i += 16) {
      let vector = v128.load(plane + i);
      const place = rows + (i >> 3);
      for (let bit: usize = 8; bit-- > 0;) {
        store<u16>(place + bit * row, <u16> i8x16.bitmask(vector));
        vector = i8x16.shl(vector, 1);
      }
    }
    if (i < count) {
      let vector = v128.load(plane + i);
      const place = rows + (i >> 3);
      for (let bit: usize = 8; bit-- > 0;) {
        store<u8>(place + bit * row, <u8> i8x16.bitmask(vector));
        vector = i8x16.shl(vector, 1);
      }
    }
  }
}

/** Reverses `bitShuffle`. */
export function bitUnshuffle(
  from: usize,
  to: usize,
  count: usize,
  size: usize,
  between: usize,
): void {
  const row = count >> 3;
  for (let byte: usize = 0; byte < size; byte++) {
    const plane = between + byte * count;
    const rows = from + 8 * byte * row;
    for (let i: usize = 0; i < row; i++) {
      const at = rows + i;
      let x: u64 = load<u8>(at);
      x |= <u64> load<u8>(at + row) << 8;
      x |= <u64> load<u8>(at + 2 * row) << 16;
      x |= <u64> load<u8>(at + 3 * row) << 24;
      x |= <u64> load<u8>(at + 4 * row) << 32;
      x |= <u64> load<u8>(at + 5 * row) << 40;
      x |= <u64> load<u8>(at + 6 * row) << 48;
      x |= <u64> load<u8>(at + 7 * row) << 56;
      // Transposes a matrix of 8 × 8 bits: Hacker's Delight, 7-3.
      let t = (x ^ x >> 7) & 0x00aa00aa00aa00aa;
      x ^= t ^ t << 7;
      t = (x ^ x >> 14) & 0x0000cccc0000cccc;
      x ^= t ^ t << 14;
      t = (x ^ x >> 28) & 0x00000000f0f0f0f0;
      x ^= t ^ t << 28;
      store<u64>(plane + 8 * i, x);
    }
  }
  unshuffle(between, to, count, size);
}
