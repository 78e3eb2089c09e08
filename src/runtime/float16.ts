/** The number of the bits of a float16, which Node 20 has no arrays for. */
export function halfToNumber(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = half >> 10 & 31;
  const fraction = half & 1023;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return exponent === 0
    ? sign * fraction * 2 ** -24
    : sign * (1024 + fraction) * 2 ** (exponent - 25);
}

/** The bits of the nearest float16; of two, the one whose last bit is 0. */
export function numberToHalf(value: number): number {
  if (Number.isNaN(value)) return 0x7e00;
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const size = Math.abs(value);
  if (size >= 65520) return sign | 0x7c00;
  // The distance of float16 to the next one, which is a power of 2.
  let exponent = Math.max(Math.floor(Math.log2(size)), -14);
  if (size < 2 ** exponent && exponent > -14) exponent--;
  if (size >= 2 ** (exponent + 1)) exponent++;
  const steps = roundHalfEven(size / 2 ** (exponent - 10));
  // 2048 steps carry into the exponent.
  return exponent === -14 && size < 2 ** -14
    ? sign | steps
    : sign | (exponent + 15 << 10) + steps - 1024;
}

/** The nearest integer; of two, the even one, as NumPy rounds. */
export function roundHalfEven(value: number): number {
  const rounded = Math.round(value);
  return rounded - value === 0.5 && rounded % 2 !== 0 ? rounded - 1 : rounded;
}
