import { describe } from "../metadata/describe.ts";

/**
 * Encodes a fill value, as `zarr.json` or `arrayMetadata` has it.
 *
 * @param kind `"int"`, `"uint"` or `"float"`.
 * @throws {RangeError} If the value is not one of the data type.
 */
export function elementBytes(
  kind: string,
  bits: number,
  value: unknown,
  isLittleEndian: boolean,
): Uint8Array {
  const bytes = new Uint8Array(8);
  const view = new DataView(bytes.buffer);
  const pattern = bitsOf(kind, bits, value);
  view.setBigUint64(0, pattern << BigInt(64 - bits));
  const element = bytes.slice(0, bits / 8);
  return isLittleEndian ? element.reverse() : element;
}

function bitsOf(kind: string, bits: number, value: unknown): bigint {
  const pattern = kind === "float"
    ? floatPattern(bits, value)
    : integerPattern(kind, bits, value);
  if (pattern !== undefined) return pattern;
  throw new RangeError(
    `Expected a fill value of the data type "${kind}${bits}", found ${
      describe(value)
    }`,
  );
}

function integerPattern(
  kind: string,
  bits: number,
  value: unknown,
): bigint | undefined {
  // The document keeps the digits of an integer that no `number` can hold.
  const { rawJSON } = Object(value);
  const isInteger = typeof value === "bigint" || Number.isInteger(value) ||
    typeof rawJSON === "string" && /^-?\d+$/.test(rawJSON);
  if (!isInteger) return undefined;
  const number = BigInt(rawJSON ?? value);
  const fit = kind === "int" ? BigInt.asIntN : BigInt.asUintN;
  return fit(bits, number) === number
    ? BigInt.asUintN(bits, number)
    : undefined;
}

function floatPattern(bits: number, value: unknown): bigint | undefined {
  if (typeof value === "number") return floatBits(bits, value);
  if (typeof value !== "string") return undefined;
  const isBits = /^0x[0-9a-f]+$/i.test(value) && value.length === 2 + bits / 4;
  if (isBits) return BigInt(value);
  const isSpecial = ["NaN", "Infinity", "-Infinity"].includes(value);
  return isSpecial ? floatBits(bits, Number(value)) : undefined;
}

function floatBits(bits: number, value: number): bigint {
  const view = new DataView(new ArrayBuffer(8));
  if (bits === 64) view.setFloat64(0, value);
  else if (bits === 32) view.setFloat32(0, value);
  else view.setUint16(0, float16Bits(value));
  return view.getBigUint64(0) >> BigInt(64 - bits);
}

/** Rounds to a float16 as `DataView.setFloat16` does, which not all runtimes have. */
function float16Bits(value: number): number {
  if (Number.isNaN(value)) return 0x7e00;
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const size = Math.abs(value);
  if (size >= 65520) return sign | 0x7c00;
  const exponent = Math.max(-14, Math.floor(Math.log2(size)));
  const fraction = roundToEven(size * 2 ** (10 - exponent));
  // A fraction of 2^11 carries over into the exponent.
  return sign |
    (fraction < 1024 ? fraction : fraction - 1024 + (exponent + 15) * 1024);
}

function roundToEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  return rest > 0.5 || rest === 0.5 && floor % 2 === 1 ? floor + 1 : floor;
}
