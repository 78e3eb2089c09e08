/**
 * Elements of numbers as JavaScript computes with them: integers of 64 bits as bigints, all
 * others as numbers. They are cast as NumPy does it: integers wrap around, and floats lose
 * their fraction where they become integers.
 */
import { describe, MetadataError } from "../errors/mod.ts";
import { coreDataType } from "../metadata/mod.ts";
import { halfToNumber, numberToHalf } from "../runtime/mod.ts";

/** A data type of integers or floats. */
export type NumberType =
  | "int8"
  | "int16"
  | "int32"
  | "int64"
  | "uint8"
  | "uint16"
  | "uint32"
  | "uint64"
  | "float16"
  | "float32"
  | "float64";

/** Elements in memory order. */
export type Values = Float64Array | BigInt64Array | BigUint64Array;

/** Whether elements of a data type are numbers. */
export function isNumberType(dataType: string): dataType is NumberType {
  return coreDataType(dataType) !== undefined &&
    /^(u?int|float)/.test(dataType);
}

/**
 * Checks the data type of the elements of a codec.
 *
 * @param name The name of the codec.
 * @param path The path of the data type in the metadata of the codec.
 * @throws {MetadataError} If elements of the data type are not numbers.
 */
export function checkNumberType(
  name: string,
  dataType: unknown,
  path = "",
): NumberType {
  if (typeof dataType === "string" && isNumberType(dataType)) return dataType;
  throw new MetadataError(
    `Expected a data type of integers or floats for ${name}, found ${
      describe(dataType)
    }`,
    path,
  );
}

/** The length of an element in bytes. */
export function sizeOfType(type: NumberType): number {
  return Number(type.replace(/\D+/, "")) / 8;
}

/** The classes of arrays for the data types of numbers, but for `float16`, which Node 20 lacks. */
export const TYPED_ARRAYS = {
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  uint64: BigUint64Array,
  float32: Float32Array,
  float64: Float64Array,
} as const;

/** Missing in Node 20. */
const { Float16Array: Halves } = globalThis as {
  Float16Array?: new (
    values: ArrayBufferLike | Float64Array,
  ) => ArrayLike<number> & ArrayBufferView;
};

/** Reads elements from bytes in the byte order of the machine. */
export function readValues(bytes: Uint8Array, type: NumberType): Values {
  const { buffer } = bytes.slice();
  switch (type) {
    case "int64":
      return new BigInt64Array(buffer);
    case "uint64":
      return new BigUint64Array(buffer);
    case "float64":
      return new Float64Array(buffer);
    case "float16":
      return Halves
        ? new Float64Array(new Halves(buffer))
        : Float64Array.from(new Uint16Array(buffer), halfToNumber);
    default:
      return new Float64Array(new TYPED_ARRAYS[type](buffer));
  }
}

/** Casts elements to a data type, and writes them in the byte order of the machine. */
export function writeValues(values: Values, to: NumberType): Uint8Array {
  const { buffer, byteOffset, byteLength } = castElements(values, to);
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** Casts elements to a data type. */
export function castValues(values: Values, to: NumberType): Values {
  if (to === "float64" && values instanceof Float64Array) return values;
  const { buffer } = castElements(values, to);
  return readValues(new Uint8Array(buffer), to);
}

/** The elements of a data type, in an array of its own. */
function castElements(values: Values, to: NumberType): ArrayBufferView {
  if (to === "int64" || to === "uint64") return castToBigints(values, to);
  const numbers = values instanceof Float64Array
    ? values
    : bigintsToNumbers(values, to);
  // The arrays wrap integers around, and round floats, as the casts do.
  if (to !== "float16") return new TYPED_ARRAYS[to](numbers);
  return Halves ? new Halves(numbers) : Uint16Array.from(numbers, numberToHalf);
}

function castToBigints(
  values: Values,
  to: "int64" | "uint64",
): BigInt64Array | BigUint64Array {
  const casted = to === "int64"
    ? new BigInt64Array(values.length)
    : new BigUint64Array(values.length);
  // The arrays wrap bigints around.
  if (values instanceof Float64Array) {
    for (let i = 0; i < values.length; i++) {
      casted[i] = toBigint(values[i]!, to);
    }
  } else {
    for (let i = 0; i < values.length; i++) casted[i] = values[i]!;
  }
  return casted;
}

/** Numbers that become the elements of a data type. */
function bigintsToNumbers(
  values: BigInt64Array | BigUint64Array,
  to: NumberType,
): Float64Array {
  const numbers = new Float64Array(values.length);
  const isFloat = to.startsWith("float");
  for (let i = 0; i < values.length; i++) {
    numbers[i] = isFloat
      ? bigintToNumber(values[i]!, to)
      : Number(BigInt.asIntN(32, values[i]!));
  }
  return numbers;
}

/** The integer of a float; where it has none, what processors of the x86 family make of it. */
function toBigint(value: number, to: "int64" | "uint64"): bigint {
  if (to === "uint64" && value >= 2 ** 64) return 0n;
  const least = -(2 ** 63);
  const isInside = value > least && value < (to === "int64" ? -least : 2 ** 64);
  return isInside ? BigInt(Math.trunc(value)) : -(2n ** 63n);
}

/** The nearest number of a float type, which is rounded to once. */
export function bigintToNumber(value: bigint, to: NumberType): number {
  const number = Number(value);
  if (to === "float64" || Math.abs(number) <= 2 ** 53) return number;
  // The last bits decide about ties alone, so that one of them stands for all.
  const high = value >> 12n << 12n;
  return Number(high === value ? value : high | 1n << 11n);
}

/** The function that rounds a number to a data type of floats. */
export function rounderTo(
  type: "float16" | "float32" | "float64",
): (value: number) => number {
  return type === "float64"
    ? (value) => value
    : type === "float32"
    ? Math.fround
    : (value) => halfToNumber(numberToHalf(value));
}
