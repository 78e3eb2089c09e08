import type { Component } from "./segments.ts";

/** The samples of a component, in rows. */
export interface Plane {
  readonly samples: Uint8ClampedArray;
  /** The number of samples from one row to the next. */
  readonly stride: number;
}

/** Writes row `y` of the picture into `line`, from a component with fewer samples. */
type Upsampler = (y: number, line: Uint8Array) => void;

/**
 * Makes the samples of a component as many as the picture has pixels, as libjpeg does
 * by default ("fancy upsampling"): each is three parts of the nearest sample and one
 * part of the next one, where there are half as many. Others are repeated.
 */
export function upsampler(
  plane: Plane,
  component: Component,
  ratioX: number,
  ratioY: number,
): Upsampler {
  const { samples, stride } = plane;
  const { width, height } = component;
  const rowOf = (y: number) => {
    const start = Math.min(Math.max(y, 0), height - 1) * stride;
    return samples.subarray(start, start + width);
  };
  const isHalf = ratioX === 2 && width > 2;
  if (ratioX === 1 && ratioY === 1) {
    return (y, line) => line.set(rowOf(y));
  }
  if (isHalf && ratioY === 1) return (y, line) => widen(rowOf(y), line);
  const nextRow = (y: number) => rowOf((y >> 1) + (y % 2 === 0 ? -1 : 1));
  if (ratioX === 1 && ratioY === 2) {
    return (y, line) => mixRows(rowOf(y >> 1), nextRow(y), 1 + y % 2, line);
  }
  if (isHalf && ratioY === 2) {
    return (y, line) => widenRows(rowOf(y >> 1), nextRow(y), line);
  }
  return (y, line) => {
    const row = rowOf(Math.floor(y / ratioY));
    for (let x = 0; x < width * ratioX; x++) {
      line[x] = row[Math.floor(x / ratioX)]!;
    }
  };
}

type Row = Uint8ClampedArray;

function mixRows(
  near: Row,
  next: Row,
  rounding: number,
  line: Uint8Array,
): void {
  for (let x = 0; x < near.length; x++) {
    line[x] = 3 * near[x]! + next[x]! + rounding >> 2;
  }
}

function widen(row: Row, line: Uint8Array): void {
  const end = row.length - 1;
  line[0] = row[0]!;
  line[1] = 3 * row[0]! + row[1]! + 2 >> 2;
  for (let x = 1; x < end; x++) {
    const near = 3 * row[x]!;
    line[2 * x] = near + row[x - 1]! + 1 >> 2;
    line[2 * x + 1] = near + row[x + 1]! + 2 >> 2;
  }
  line[2 * end] = 3 * row[end]! + row[end - 1]! + 1 >> 2;
  line[2 * end + 1] = row[end]!;
}

function widenRows(near: Row, next: Row, line: Uint8Array): void {
  const end = near.length - 1;
  let before = 3 * near[0]! + next[0]!;
  let here = before;
  for (let x = 0; x <= end; x++) {
    const after = x < end ? 3 * near[x + 1]! + next[x + 1]! : here;
    line[2 * x] = 3 * here + before + 8 >> 4;
    line[2 * x + 1] = 3 * here + after + 7 >> 4;
    before = here;
    here = after;
  }
}

/** The bits after the point in constants, and the further ones between the two passes. */
const CONSTANT_BITS = 13;
const PASS_BITS = 2;

/** sqrt(2) times cosines of multiples of π/16, and sums of these. */
const C_0_298631336 = 2446;
const C_0_390180644 = 3196;
const C_0_541196100 = 4433;
const C_0_765366865 = 6270;
const C_0_899976223 = 7373;
const C_1_175875602 = 9633;
const C_1_501321110 = 12299;
const C_1_847759065 = 15137;
const C_1_961570560 = 16069;
const C_2_053119869 = 16819;
const C_2_562915447 = 20995;
const C_3_072711026 = 25172;

/** The block, transformed along its columns, and then along its rows. */
const values = new Int32Array(64);

/**
 * Transforms a block of coefficients into samples by the inverse discrete cosine
 * transform of libjpeg in integers ("islow"), which decides how values are rounded.
 * Samples out of range are clamped, as by the vector code of libjpeg-turbo, which differs
 * only where damage makes values of more than 16 bits.
 *
 * Source: C. Loeffler, A. Ligtenberg and G. Moschytz, "Practical fast 1-D DCT
 * algorithms with 11 multiplications", ICASSP 1989, with constants of 13 bits.
 *
 * @param coefficients Has the block at `start`, row by row.
 * @param factors The quantization table, by which the coefficients are multiplied.
 * @param samples Gets 8 rows of 8 samples from `place` on, `stride` apart.
 */
export function inverseDct(
  coefficients: Int16Array,
  start: number,
  factors: Int32Array,
  samples: Uint8ClampedArray,
  place: number,
  stride: number,
): void {
  for (let i = 0; i < 64; i++) {
    values[i] = Math.imul(coefficients[start + i]!, factors[i]!);
  }
  for (let x = 0; x < 8; x++) {
    transform(x, 8, 1 << PASS_BITS, 0, CONSTANT_BITS - PASS_BITS);
  }
  const bits = PASS_BITS + 3; // Both passes together multiply by 8.
  for (let y = 0; y < 8; y++) {
    transform(8 * y, 1, 1, bits, CONSTANT_BITS + bits);
    const to = place + y * stride;
    for (let x = 0; x < 8; x++) samples[to + x] = values[8 * y + x]! + 128;
  }
}

/**
 * Transforms 8 of the values, which are `step` apart.
 *
 * @param factor Multiplies the first value where all others are 0.
 * @param shift The bits by which that product is rounded.
 * @param fullShift The bits by which the results are rounded otherwise.
 */
function transform(
  start: number,
  step: number,
  factor: number,
  shift: number,
  fullShift: number,
): void {
  const c0 = values[start]!;
  const c1 = values[start + step]!;
  const c2 = values[start + 2 * step]!;
  const c3 = values[start + 3 * step]!;
  const c4 = values[start + 4 * step]!;
  const c5 = values[start + 5 * step]!;
  const c6 = values[start + 6 * step]!;
  const c7 = values[start + 7 * step]!;
  if ((c1 | c2 | c3 | c4 | c5 | c6 | c7) === 0) {
    const value = Math.imul(c0, factor) + (1 << shift >> 1) >> shift;
    for (let i = 0; i < 8; i++) values[start + i * step] = value;
    return;
  }
  const half = 1 << (fullShift - 1);
  const even = Math.imul(c2 + c6, C_0_541196100);
  const even2 = even - Math.imul(c6, C_1_847759065) | 0;
  const even3 = even + Math.imul(c2, C_0_765366865) | 0;
  const sum = (c0 + c4 << CONSTANT_BITS) + half | 0;
  const difference = (c0 - c4 << CONSTANT_BITS) + half | 0;
  const e0 = sum + even3 | 0;
  const e1 = difference + even2 | 0;
  const e2 = difference - even2 | 0;
  const e3 = sum - even3 | 0;

  const both = Math.imul(c7 + c3 + c5 + c1, C_1_175875602);
  const outer = Math.imul(c7 + c1, -C_0_899976223);
  const inner = Math.imul(c5 + c3, -C_2_562915447);
  const odd37 = both - Math.imul(c7 + c3, C_1_961570560) | 0;
  const odd15 = both - Math.imul(c5 + c1, C_0_390180644) | 0;
  const odd0 = Math.imul(c7, C_0_298631336) + outer + odd37 | 0;
  const odd1 = Math.imul(c5, C_2_053119869) + inner + odd15 | 0;
  const odd2 = Math.imul(c3, C_3_072711026) + inner + odd37 | 0;
  const odd3 = Math.imul(c1, C_1_501321110) + outer + odd15 | 0;

  values[start] = e0 + odd3 >> fullShift;
  values[start + step] = e1 + odd2 >> fullShift;
  values[start + 2 * step] = e2 + odd1 >> fullShift;
  values[start + 3 * step] = e3 + odd0 >> fullShift;
  values[start + 4 * step] = e3 - odd0 >> fullShift;
  values[start + 5 * step] = e2 - odd1 >> fullShift;
  values[start + 6 * step] = e1 - odd2 >> fullShift;
  values[start + 7 * step] = e0 - odd3 >> fullShift;
}
