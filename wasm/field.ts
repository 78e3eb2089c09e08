// The polynomials modulo P, that of CRC32C, as 32 bits: the highest one is the
// coefficient of x^0. A CRC register that started from 0 holds the message
// times x^32 in just this form.

/** P without x^32: the bits of 0x1EDC6F41 in reverse. */
export const POLYNOMIAL: u32 = 0x82f63b78;

/** x^-32, which takes four bytes back out of a register. */
export const BACK_4_BYTES: u32 = 0xd610d67e;

/** The product of two polynomials. */
export function multiply(a: u32, b: u32): u32 {
  let product: u32 = 0;
  while (a != 0) {
    // The sign bit of `a` says whether `b` counts.
    product ^= b & <u32> (<i32> a >> 31);
    a <<= 1;
    b = timesX(b);
  }
  return product;
}

/** The product of a polynomial and x. */
export function timesX(a: u32): u32 {
  return (a >> 1) ^ (POLYNOMIAL & (0 - (a & 1)));
}

/** x^(8 `bytes`), by which `bytes` more bytes multiply a register. */
export function powerOfBytes(bytes: f64): u32 {
  // The powers of x repeat after 2^31 - 1 of them.
  let exponent = 8 * <u64> bytes % 0x7fffffff;
  let power: u32 = 0x80000000; // 1
  let square: u32 = 0x40000000; // x
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) power = multiply(power, square);
    square = multiply(square, square);
  }
  return power;
}
