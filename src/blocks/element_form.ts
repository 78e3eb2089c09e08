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
    const number = numberBytes(part, name, length);
    if (number === undefined) return undefined;
    bytes.set(number, i * length);
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

/** The bytes of a number in little endian. */
function numberBytes(
  value: unknown,
  name: string,
  length: number,
): Uint8Array | undefined {
  const bytes = new Uint8Array(length);
  const view = new DataView(bytes.buffer);
  const isFloat = /float/.test(name) || name.startsWith("complex");
  if (typeof value === "string" && /^0x[0-9a-f]+$/i.test(value)) {
    const digits = value.slice(2);
    return digits.length === 2 * length
      ? wholeBytes(BigInt(value), length)
      : undefined;
  }
  if (value === "NaT" && /^numpy\.(date|time)/.test(name)) {
    return wholeBytes(-(2n ** 63n), length);
  }
  // Programs take true for the number 1.
  if (typeof value === "boolean") {
    return numberBytes(Number(value), name, length);
  }
  if (!isFloat) {
    const isWholeText = typeof value === "string" && /^-?\d{1,20}$/.test(value);
    const isNumber = typeof value === "bigint" || Number.isInteger(value) ||
      isWholeText;
    return isNumber ? wholeBytes(BigInt(value as number), length) : undefined;
  }
  const number = typeof value === "bigint" || typeof value === "string"
    ? floatOf(String(value))
    : value;
  if (typeof number !== "number") return undefined;
  const isIeee = /^(?:float(?:16|32|64)|complex(?:64|128|_float\d\d))$/.test(
    name,
  );
  if (name.endsWith("bfloat16")) {
    // The first half of the number as a float32.
    const whole = new DataView(new ArrayBuffer(4));
    whole.setFloat32(0, number, true);
    if (!Number.isNaN(number) && whole.getUint16(0, true) !== 0) {
      return undefined;
    }
    view.setUint16(0, whole.getUint16(2, true), true);
  } else if (!isIeee) {
    if (number !== 0 || Object.is(number, -0)) return undefined;
  } else if (length === 2) {
    view.setUint16(0, numberToHalf(number), true);
  } else if (length === 4) view.setFloat32(0, number, true);
  else view.setFloat64(0, number, true);
  // The NaN of Zarr; the bits of NaN in JavaScript may vary.
  if (Number.isNaN(number)) {
    const nan = { 2: 0x7e00n, 4: 0x7fc00000n, 8: 0x7ff8000000000000n };
    const bits = name.endsWith("bfloat16")
      ? 0x7fc0n
      : nan[length as keyof typeof nan];
    return wholeBytes(bits, length);
  }
  return bytes;
}

function floatOf(text: string): number | undefined {
  const isFloat = /^(?:NaN|-?Infinity|-?\d{1,400})$/.test(text);
  return isFloat ? Number(text) : undefined;
}

/** The bytes of a whole number, which may be negative, in little endian. */
function wholeBytes(value: bigint, length: number): Uint8Array {
  let rest = BigInt.asUintN(8 * length, value);
  return Uint8Array.from({ length }, () => {
    const byte = Number(rest & 0xffn);
    rest >>= 8n;
    return byte;
  });
}

/** Names a data type in messages. */
export function describeType(dataType: ArrayMetadata["data_type"]): string {
  return describe(typeof dataType === "string" ? dataType : dataType.name);
}
