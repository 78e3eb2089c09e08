import { BoolArray } from "zarrita";

/** The fill value of an array. A string holds its bits in hexadecimal. */
export type FillValue = number | bigint | boolean | `0x${string}`;

/** The size of an element in bytes, by data type. */
export const ITEM_SIZES: Readonly<Record<string, number>> = {
  bool: 1,
  int8: 1,
  uint8: 1,
  int16: 2,
  uint16: 2,
  float16: 2,
  bfloat16: 2,
  int32: 4,
  uint32: 4,
  float32: 4,
  int64: 8,
  uint64: 8,
  float64: 8,
  complex64: 8,
  complex128: 16,
};

/** The bits of positive infinity, by data type. */
const EXPONENTS: Readonly<Record<string, bigint>> = {
  float16: 0x7c00n,
  float32: 0x7f80_0000n,
  float64: 0x7ff0_0000_0000_0000n,
};

/**
 * Returns the bytes of a test element, little endian: by its index the smallest or
 * largest number, a zero, an infinity, a NaN with one of several bit patterns, or
 * pseudo-random bytes.
 */
export function elementBytes(dataType: string, index: number): Uint8Array {
  const size = ITEM_SIZES[dataType]!;
  const noise = noiseBytes(size, index);
  if (dataType === "bool") return noise.map((byte) => byte >> 7);
  const sign = 1n << BigInt(8 * size - 1);
  const exponent = EXPONENTS[dataType] ?? 2n;
  const edges = [
    0n,
    sign,
    sign - 1n,
    2n * sign - 1n,
    1n,
    exponent,
    exponent | sign,
    exponent | 1n,
  ];
  return index % 2 === 0
    ? noise
    : integerBytes(edges[(index >> 1) % edges.length]!, size);
}

/** Encodes a fill value, little endian. */
export function fillBytes(dataType: string, fill: FillValue): Uint8Array {
  const size = ITEM_SIZES[dataType]!;
  if (typeof fill === "string") return integerBytes(BigInt(fill), size);
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  if (dataType === "float16") view.setFloat16(0, Number(fill), true);
  else if (dataType === "float32") view.setFloat32(0, Number(fill), true);
  else if (dataType === "float64") view.setFloat64(0, Number(fill), true);
  else return integerBytes(BigInt(fill), size);
  return bytes;
}

/** Converts a fill value to its form in metadata. */
export function fillJson(fill: FillValue): unknown {
  if (typeof fill === "bigint") return rawJSON(String(fill));
  if (Object.is(fill, -0)) return rawJSON("-0.0");
  return typeof fill === "number" && !isFinite(fill) ? String(fill) : fill;
}

/** Views elements as the typed array that zarrita uses for the data type. */
export function typedElements(dataType: string, bytes: Uint8Array) {
  const { buffer, byteOffset } = bytes;
  const length = bytes.length / ITEM_SIZES[dataType]!;
  const classes: Readonly<Record<string, ElementsClass>> = TYPED_ARRAYS;
  const Elements = classes[dataType];
  if (Elements === undefined) {
    throw new TypeError(`zarrita has no class for ${dataType}`);
  }
  return new Elements(buffer as ArrayBuffer, byteOffset, length);
}

type ElementsClass = new (
  buffer: ArrayBuffer,
  byteOffset: number,
  length: number,
) => Iterable<number | bigint | boolean>;

/** The typed arrays that zarrita uses, by data type. */
export const TYPED_ARRAYS = {
  bool: BoolArray,
  int8: Int8Array,
  uint8: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
  float16: Float16Array,
  float32: Float32Array,
  float64: Float64Array,
};

/** `JSON.rawJSON`, which TypeScript's library does not declare yet. */
export const { rawJSON } = JSON as unknown as {
  rawJSON: (text: string) => unknown;
};

function integerBytes(value: bigint, size: number): Uint8Array {
  return Uint8Array.from(
    { length: size },
    (_, i) => Number((value >> BigInt(8 * i)) & 0xffn),
  );
}

function noiseBytes(size: number, index: number): Uint8Array {
  return Uint8Array.from({ length: size }, (_, i) => {
    const mixed = Math.imul(index * 16 + i + 1, 0x9e3779b1);
    return (mixed ^ (mixed >>> 15)) >>> 13 & 0xff;
  });
}
