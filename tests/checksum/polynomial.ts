// Polynomials over the field of two elements, as a BigInt whose bit i is the
// coefficient of x^i; products by the schoolbook, modulo the P of CRC32C.

/** x^32 + x^28 + x^27 + x^26 + x^25 + x^23 + x^22 + x^20 + x^19 + x^18 + x^14 + x^13 + x^11 + x^10 + x^9 + x^8 + x^6 + 1. */
const P = [32, 28, 27, 26, 25, 23, 22, 20, 19, 18, 14, 13, 11, 10, 9, 8, 6, 0]
  .reduce((sum, exponent) => sum | 1n << BigInt(exponent), 0n);

/** The product of two polynomials below x^32, modulo P. */
export function product(a: bigint, b: bigint): bigint {
  let sum = 0n;
  for (let i = 0n; i < 32n; i++) {
    if (b >> i & 1n) sum ^= a << i;
  }
  for (let i = 63n; i >= 32n; i--) {
    if (sum >> i & 1n) sum ^= P << (i - 32n);
  }
  return sum;
}

/** x to any power, modulo P. */
export function powerOfX(exponent: bigint): bigint {
  // P is x times this and 1, so that this is the inverse of x.
  let square = exponent < 0n ? P >> 1n : 2n;
  let power = 1n;
  for (let e = exponent < 0n ? -exponent : exponent; e > 0n; e >>= 1n) {
    if (e & 1n) power = product(power, square);
    square = product(square, square);
  }
  return power;
}

/** A polynomial as a CRC register has it: in 32 bits, the highest for x^0. */
export function toRegister(polynomial: bigint): number {
  const bits = polynomial.toString(2).padStart(32, "0");
  return parseInt(Array.from(bits).reverse().join(""), 2);
}

/** The polynomial that a CRC register has. */
export function ofRegister(register: number): bigint {
  const bits = register.toString(2).padStart(32, "0");
  return BigInt(`0b${Array.from(bits).reverse().join("")}`);
}
