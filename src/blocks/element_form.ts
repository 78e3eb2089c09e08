import { describe } from "../errors/mod.ts";
import {
  type ArrayMetadata,
  checkDataType,
  coreDataType,
  isMembers,
  isWhole,
} from "../metadata/mod.ts";
import { decodeBase64, numberToHalf } from "../runtime/mod.ts";

/**
 * The memory of an element of a fixed length, as codecs see it. Elements of data types
 * without numbers that codecs know are some numbers of the core, along one more dimension:
 * `complex64` is two `float32`.
 */
export interface ElementForm {
  /** The length of an element in bytes. */
  readonly size: number;
  /** The data type of the core that codecs are told. */
  readonly dataType: string;
  /** The number of these in an element. With more than one, chunks have one more dimension. */
  readonly count: number;
  /** Whether numbers of different lengths lie in an element, so that their byte order cannot be changed. */
  readonly isMixed: boolean;
}

/**
 * The form of the elements of an array; `undefined` if they have no fixed length, or one that
 * is not known.
 */
export function elementForm(
  dataType: ArrayMetadata["data_type"],
): ElementForm | undefined {
  const { name, configuration = {} } = typeof dataType === "string"
    ? { name: dataType }
    : dataType;
  const core = coreDataType(name);
  if (core !== undefined && !name.startsWith("complex")) {
    return core.bits === undefined
      ? undefined
      : numbers(1, core.bits / 8, name);
  }
  const { length_bytes: length, fields } = configuration;
  switch (name) {
    case "numpy.datetime64":
    case "numpy.timedelta64":
      return numbers(1, 8, "int64");
    case "fixed_length_utf32":
      return isWhole(length, 4) && length % 4 === 0
        ? numbers(length / 4, 4, "uint32")
        : undefined;
    case "null_terminated_bytes":
    case "raw_bytes":
    case "fixed_length_bytes":
      return isWhole(length, 1) ? numbers(length, 1, "uint8") : undefined;
    case "struct":
    case "structured":
      return Array.isArray(fields) ? structForm(fields) : undefined;
  }
  const bits = knownBits(dataType);
  if (bits === undefined) return undefined;
  const size = bits / 8;
  if (/^r\d/.test(name)) return numbers(size, 1, "uint8");
  const count = name.startsWith("complex") ? 2 : 1;
  return numbers(count, size / count, `uint${8 * size / count}`);
}

function numbers(count: number, length: number, dataType: string): ElementForm {
  return { size: count * length, dataType, count, isMixed: false };
}

function knownBits(dataType: ArrayMetadata["data_type"]): number | undefined {
  try {
    return checkDataType(dataType).known?.bits;
  } catch {
    return undefined; // A data type that no Zarr client knows.
  }
}

/** The form of a structure: lists of a name and a data type, or objects with a `data_type`. */
function structForm(fields: readonly unknown[]): ElementForm | undefined {
  let size = 0;
  let isMixed = false;
  for (const field of fields) {
    const type = Array.isArray(field)
      ? field[1]
      : isMembers(field)
      ? field.data_type
      : undefined;
    const isType = typeof type === "string" ||
      isMembers(type) && typeof type.name === "string";
    const form = isType
      ? elementForm(type as ArrayMetadata["data_type"])
      : undefined;
    if (form === undefined) return undefined;
    size += form.size;
    isMixed ||= form.isMixed || form.size > form.count;
  }
  return size === 0 ? undefined : { ...numbers(size, 1, "uint8"), isMixed };
}

/**
 * The bytes of the fill value in memory; `undefined` if the fill value is in no form that is
 * known for the data type.
 */
export function fillBytes(
  { data_type, fill_value }: ArrayMetadata,
  { size, dataType, count }: ElementForm,
): Uint8Array | undefined {
  const bytes = new Uint8Array(size);
  if (fill_value === undefined || fill_value === null) return bytes;
  const name = typeof data_type === "string" ? data_type : data_type.name;
  const value: unknown = fill_value;
  if (isMembers(value)) return undefined;
  if (name === "fixed_length_utf32") {
    if (typeof value !== "string") return undefined;
    const characters = [...value].map((text) => text.codePointAt(0)!);
    if (characters.length > count) return undefined;
    const view = new DataView(bytes.buffer);
    characters.forEach((point, i) => view.setUint32(4 * i, point, true));
    return bytes;
  }
  if (count > 1 && dataType === "uint8" || isBytes(name)) {
    return rawBytes(value, bytes);
  }
  const parts = Array.isArray(value) ? value : [value];
  if (parts.length !== count) return undefined;
  const length = size / count;
  for (const [i, part] of parts.entries()) {
    let bits = numberBits(part, name, length);
    if (bits === undefined) return undefined;
    bits = BigInt.asUintN(8 * length, bits);
    for (let at = i * length; at < (i + 1) * length; at++) {
      bytes[at] = Number(bits & 0xffn);
      bits >>= 8n;
    }
  }
  return bytes;
}

function isBytes(name: string): boolean {
  return /^r\d|bytes$|^struct/.test(name);
}

/** Bytes as a list of numbers, or in Base64. Shorter ones are followed by zeros. */
function rawBytes(value: unknown, bytes: Uint8Array): Uint8Array | undefined {
  let given: number[] | undefined;
  if (Array.isArray(value)) given = value;
  else if (typeof value === "string") {
    try {
      given = [...decodeBase64(value)];
    } catch {
      return undefined;
    }
  }
  const isFitting = given !== undefined && given.length <= bytes.length &&
    given.every((byte) => isWhole(byte) && byte < 256);
  if (!isFitting) return undefined;
  bytes.set(given!);
  return bytes;
}

/** The bits of a number; those of a negative integer as a negative number. */
function numberBits(
  value: unknown,
  name: string,
  length: number,
): bigint | undefined {
  if (typeof value === "string" && /^0x[0-9a-f]+$/i.test(value)) {
    return value.length === 2 + 2 * length ? BigInt(value) : undefined;
  }
  if (value === "NaT" && /^numpy\.(date|time)/.test(name)) return -(2n ** 63n);
  const isNumber = ["number", "bigint", "boolean"].includes(typeof value) ||
    typeof value === "string" && NUMBER.test(value);
  if (!isNumber) return undefined;
  const number = Number(value); // Programs take true for the number 1.
  if (/float|^complex/.test(name)) return floatBits(number, name, length);
  if (!Number.isInteger(number)) return undefined;
  return BigInt(value as number | bigint | boolean | string);
}

/** Matches a number that a document holds as a string. */
const NUMBER = /^(?:NaN|-?Infinity|-?\d{1,400})$/;

/** The bits of a float; `undefined` if the data type does not have it, or its numbers are not known. */
function floatBits(
  number: number,
  name: string,
  length: number,
): bigint | undefined {
  if (name.endsWith("bfloat16")) {
    // The first half of the number as a float32.
    const whole = floatBits(number, "float32", 4)!;
    const isExact = (whole & 0xffffn) === 0n;
    return isExact ? whole >> 16n : undefined;
  }
  const isIeee = /^(?:float(?:16|32|64)|complex(?:64|128|_float\d\d))$/
    .test(name);
  if (!isIeee) return Object.is(number, 0) ? 0n : undefined;
  if (length === 2) return BigInt(numberToHalf(number));
  const view = new DataView(new ArrayBuffer(8));
  if (length === 8) {
    view.setFloat64(0, number);
    return view.getBigUint64(0);
  }
  view.setFloat32(0, number);
  return BigInt(view.getUint32(0));
}

/** Names a data type in messages. */
export function describeType(dataType: ArrayMetadata["data_type"]): string {
  return describe(typeof dataType === "string" ? dataType : dataType.name);
}
