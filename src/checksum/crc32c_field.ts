// Polynomials modulo P, the polynomial of CRC32C. A polynomial is a number of 32
// bits whose highest bit is the coefficient of x^0, as in a CRC register.

/** P without x^32: the bits of 0x1EDC6F41 in reverse. */
export const POLYNOMIAL = 0x82f63b78;

const ONE = 0x80000000;
const X = 0x40000000;
/** The period of the powers of x, since P is x + 1 times a primitive polynomial of degree 31. */
const ORDER = 2 ** 31 - 1;

/** The product of two polynomials. */
export function multiply(a: number, b: number): number {
  let product = 0;
  for (let rest = a | 0; rest !== 0; rest <<= 1) {
    if (rest < 0) product ^= b; // Its highest bit is set.
    b = (b >>> 1) ^ (b & 1 ? POLYNOMIAL : 0);
  }
  return product >>> 0;
}

/** x^(8 `bytes`), by which the given number of bytes multiplies a register; a negative number undoes it. */
export function powerOfBytes(bytes: number): number {
  let exponent = 8 * bytes % ORDER; // Eight times any number is exact.
  if (exponent < 0) exponent += ORDER;
  let power = ONE;
  for (let square = X; exponent !== 0; exponent >>>= 1) {
    if (exponent & 1) power = multiply(power, square);
    square = multiply(square, square);
  }
  return power;
}

/** The CRC32C of two sequences of bytes one after the other, from the CRC32C of each. */
export function joinCrc32c(
  first: number,
  second: number,
  secondLength: number,
): number {
  return (multiply(first, powerOfBytes(secondLength)) ^ second) >>> 0;
}

/** x^−32. */
const BACK_4_BYTES = 0xd610d67e;

/** The CRC32C of bytes without their last four, whose value as a little-endian number is `last`. */
export function withoutLastFour(crc: number, last: number): number {
  return ~(multiply(~crc, BACK_4_BYTES) ^ last) >>> 0;
}
