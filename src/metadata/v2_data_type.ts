import { atPath, below, MetadataError, sentence } from "../errors/mod.ts";
import { decodeBase64 } from "../runtime/mod.ts";
import { bitsOf, coreDataType, fillValueJson } from "./data_type.ts";
import { numberOf } from "./json.ts";
import { isWhole, type NamedConfiguration, refuse } from "./schema.ts";

/** The data type of a Zarr v2 array, and the corresponding one of Zarr v3. */
export interface V2DataType {
  /** The data type in Zarr v3. */
  readonly json: string | NamedConfiguration;
  /** The size of an element in bytes; `undefined` where elements differ in length. */
  readonly size: number | undefined;
  /** The byte order of an element; `undefined` where it has none. */
  readonly endian: "little" | "big" | undefined;
  /** The data type as NumPy writes it, with its byte order; `|O` for elements of any length. */
  readonly numpy: string;
  /** Converts a fill value of Zarr v2 other than `null`; throws a {@linkcode MetadataError} for other values. */
  readonly fill: (value: unknown) => unknown;
  /** The fill value for `null`, which Zarr v3 does not have: the one that zarr-python reads. */
  readonly defaultFill: unknown;
}

/** The codecs of Zarr v2 that encode Python objects as bytes, and the data types of the objects. */
export const OBJECT_CODECS: Readonly<Record<string, "string" | "bytes">> = {
  "vlen-utf8": "string",
  "vlen-bytes": "bytes",
};

/**
 * Converts a `dtype` of Zarr v2.
 *
 * @param objectCodec The id of the first codec that encodes Python objects as bytes, for `|O`.
 * @throws {MetadataError} If Zarr v3 has no such data type.
 */
export function parseV2DataType(
  dtype: unknown,
  objectCodec: string | undefined,
): V2DataType {
  if (Array.isArray(dtype)) return structured(dtype);
  if (typeof dtype !== "string") {
    refuse('a dtype, a string such as "<f8" or a list of fields', dtype);
  }
  if (/^[<>|=]?O(?:8|4)?$/.test(dtype)) return objects(dtype, objectCodec);
  const simple = simpleType(dtype);
  if (simple !== undefined) return simple;
  throw new MetadataError(
    sentence`Unknown dtype ${dtype}; expected one of Zarr v2, such as "|b1", "<i4", ">f8", "<c16", "<M8[ns]", "|S10", "<U10", "|V8" or "|O"`,
  );
}

/**
 * Parses a data type of NumPy, such as `<i4` or `int32`.
 *
 * @throws {MetadataError} If the data type is not one of booleans, integers, floats, complex
 * numbers, dates and durations.
 */
export function parseNumpyType(value: unknown): V2DataType {
  const text = typeof value === "string" ? value : "";
  const [, kind, bits] =
    /^(bool|u?int|float|complex)(8|16|32|64|128)?$/.exec(text) ?? [];
  const name = kind === undefined
    ? text
    : kind === "bool"
    ? "|b1"
    : `<${kind[0]}${Number(bits) / 8}`;
  const found = simpleType(/^[<>|=]/.test(name) ? name : `<${name}`);
  if (found !== undefined && /^.[biufcmM]/.test(found.numpy)) return found;
  refuse('a data type of NumPy, such as "<i4"', value);
}

/** The kinds of numbers by their letters in NumPy: the names in Zarr v3 without bits, and the fill values. */
const NUMBERS: Readonly<
  Record<
    string,
    { kind: string; fill: (value: unknown, name: string) => unknown }
  >
> = {
  b: { kind: "bool", fill: boolFill },
  i: { kind: "int", fill: integerFill },
  u: { kind: "uint", fill: integerFill },
  f: { kind: "float", fill: floatFill },
  c: { kind: "complex", fill: complexFill },
};

/** The units of dates and durations. */
const UNITS = /^(?:Y|M|W|D|h|m|s|ms|us|μs|ns|ps|fs|as|generic)$/;

/** The greatest length of a fixed string or of raw bytes, in bytes. */
const LONGEST_ELEMENT = 2 ** 31 - 1;

/** Converts a data type without fields; returns `undefined` for an unknown one. */
function simpleType(dtype: string): V2DataType | undefined {
  const [, order, letter, digits = "", brackets] =
    /^([<>|=])([a-zA-Z])(\d{0,10})(?:\[([^\]]*)\])?$/.exec(dtype) ?? [];
  if (letter === undefined) return named(dtype);
  // "=" is the byte order of the machine; those that zarr-python runs on are little-endian.
  const endian = order === ">" ? "big" : "little";
  const sign = endian === "big" ? ">" : "<";
  const hasNoOrder = order === "|";
  if (letter === "M" || letter === "m") {
    return hasNoOrder || digits !== "8"
      ? undefined
      : time(letter, brackets, sign, endian);
  }
  const size = Number(digits);
  const isSize = size > 0 && size <= LONGEST_ELEMENT;
  if (brackets !== undefined || !isSize) return undefined;
  switch (letter) {
    case "S":
      return bytesType("null_terminated_bytes", size, `|S${size}`, "at most");
    case "V":
      return bytesType("raw_bytes", size, `|V${size}`, "exactly");
    case "U":
      return hasNoOrder || 4 * size > LONGEST_ELEMENT
        ? undefined
        : fixedText(size, sign, endian);
  }
  const { kind, fill } = NUMBERS[letter] ?? {};
  const name = letter === "b" ? "bool" : `${kind}${8 * size}`;
  const known = letter === "b" && size > 1 ? undefined : coreDataType(name);
  if (!known || !fill || size > 1 && hasNoOrder) return undefined;
  return {
    json: name,
    size,
    endian: size === 1 ? undefined : endian,
    numpy: `${size === 1 ? "|" : sign}${letter}${size}`,
    defaultFill: known.defaultFill,
    fill: (value) => fill(value, name),
  };
}

/** The data types that TensorStore writes by their names. */
function named(dtype: string): V2DataType | undefined {
  const bits = /^(?:bfloat16|float8_\w+|u?int[24])$/.test(dtype)
    ? bitsOf(dtype)
    : undefined;
  if (bits === undefined) return undefined;
  return {
    json: dtype,
    size: bits / 8,
    endian: bits > 8 ? "little" : undefined,
    numpy: dtype,
    defaultFill: 0,
    fill: (value) =>
      /^u?int/.test(dtype) ? integerFill(value, "int8") : floatFill(value),
  };
}

/** Texts of one length, in UTF-32. */
function fixedText(
  size: number,
  sign: string,
  endian: "little" | "big",
): V2DataType {
  return {
    json: {
      name: "fixed_length_utf32",
      configuration: { length_bytes: 4 * size },
    },
    size: 4 * size,
    endian,
    numpy: `${sign}U${size}`,
    defaultFill: "",
    fill(value) {
      const isFill = typeof value === "string" &&
        Array.from(value).length <= size;
      return isFill
        ? value
        : refuse(`a string of at most ${size} characters`, value);
    },
  };
}

function boolFill(value: unknown): boolean {
  const number = numberOf(value);
  if (number === true || number === 1) return true;
  if (number === false || number === 0) return false;
  refuse("true or false", value);
}

/** Converts the fill value of integers. zarr-python also reads floats without a fraction, and texts of digits. */
function integerFill(value: unknown, name: string): unknown {
  const number = numberOf(value);
  const whole = typeof number === "string" && /^-?\d{1,40}$/.test(number)
    ? BigInt(number)
    : Object.is(number, -0)
    ? 0
    : number;
  const used = typeof whole === "bigint" && isWhole(Math.abs(Number(whole)))
    ? Number(whole)
    : whole;
  return atPath(
    "",
    () => fillValueJson(coreDataType(name)!, used, "fill_value"),
  );
}

/** Converts the fill value of floats. Numbers keep their text; zarr-python also reads numbers in strings. */
function floatFill(value: unknown): unknown {
  const number = numberOf(value);
  if (typeof number === "number" || typeof number === "bigint") {
    return Number.isFinite(Number(number)) ? value : String(number);
  }
  if (typeof number === "string") {
    if (/^(?:NaN|-?Infinity)$/.test(number)) return number;
    if (/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(number)) {
      const parsed = Number(number);
      return Number.isFinite(parsed) ? parsed : String(parsed);
    }
    const [, sign, word] = /^([+-]?)(nan|inf(?:inity)?)$/i.exec(number) ?? [];
    if (word !== undefined) {
      if (word.toLowerCase() === "nan") return "NaN";
      return sign === "-" ? "-Infinity" : "Infinity";
    }
  }
  refuse('a number, "NaN", "Infinity" or "-Infinity"', value);
}

function complexFill(value: unknown): unknown {
  if (typeof numberOf(value) === "number") return [floatFill(value), 0];
  if (!Array.isArray(value) || value.length !== 2) {
    refuse("a list of the real and the imaginary part", value);
  }
  return value.map((part, i) => below(`/${i}`, () => floatFill(part)));
}

/** A date or a duration of NumPy. */
function time(
  letter: "M" | "m",
  brackets: string | undefined,
  sign: string,
  endian: "little" | "big",
): V2DataType | undefined {
  const [, factor = "", unit = ""] = /^(\d{0,10})(\D+)$/
    .exec(brackets ?? "generic") ?? [];
  const scale = factor === "" ? 1 : Number(factor);
  if (!UNITS.test(unit) || scale < 1 || scale > 2 ** 31 - 1) return undefined;
  const isGeneric = unit === "generic";
  const part = isGeneric ? "" : `[${scale === 1 ? "" : scale}${unit}]`;
  return {
    json: {
      name: letter === "M" ? "numpy.datetime64" : "numpy.timedelta64",
      configuration: { unit, scale_factor: scale },
    },
    size: 8,
    endian,
    numpy: `${sign}${letter}8${part}`,
    defaultFill: "NaT",
    fill: (value) => value === "NaT" ? value : integerFill(value, "int64"),
  };
}

/** Byte strings of one length. Their fill values are in Base64. */
function bytesType(
  name: string,
  size: number,
  numpy: string,
  limit: "at most" | "exactly",
): V2DataType {
  const isExact = limit === "exactly";
  return {
    json: { name, configuration: { length_bytes: size } },
    size,
    endian: undefined,
    numpy,
    defaultFill: isExact ? zeros(size) : "",
    fill(value) {
      const bytes = fromBase64(value);
      const isFill = bytes !== undefined && bytes.length <= size &&
        (!isExact || bytes.length === size);
      return isFill ? value : refuse(`${limit} ${size} bytes in Base64`, value);
    },
  };
}

function fromBase64(value: unknown): Uint8Array | undefined {
  if (
    typeof value !== "string" || !/^[A-Za-z0-9+/]*={0,2}$/.test(value) ||
    value.length % 4 !== 0
  ) return undefined;
  try {
    return decodeBase64(value);
  } catch {
    return undefined;
  }
}

/** The greatest size of an element whose default fill value is written out. */
const LONGEST_DEFAULT = 1024 * 1024;

/** A number of zero bytes in Base64. */
function zeros(size: number): string {
  if (size > LONGEST_DEFAULT) {
    throw new MetadataError(
      sentence`Elements of ${size} bytes are too long, expected at most ${LONGEST_DEFAULT}`,
    );
  }
  return btoa("\0".repeat(size));
}

/** Python objects, which have data types in Zarr v3 if they are strings or bytes. */
function objects(dtype: string, codec: string | undefined): V2DataType {
  const name = codec === undefined ? undefined : OBJECT_CODECS[codec];
  if (name === undefined) {
    throw new MetadataError(
      codec === undefined
        ? sentence`Expected a filter "vlen-utf8" or "vlen-bytes" for the dtype ${dtype}, found none`
        : sentence`Zarr v3 has no data type for Python objects that are stored by ${codec}; expected "vlen-utf8" or "vlen-bytes": store the array again with one of these`,
    );
  }
  return {
    json: name,
    size: undefined,
    endian: undefined,
    numpy: "|O",
    defaultFill: "",
    fill(value) {
      if (name === "bytes") {
        return fromBase64(value) ? value : refuse("bytes in Base64", value);
      }
      // zarr-python 2 wrote the number 0 for strings, which zarr-python 3 reads as text.
      const number = numberOf(value);
      if (typeof number === "string") return number;
      if (isWhole(number)) return String(number);
      refuse("a string", value);
    },
  };
}

/** The deepest nesting of structured data types. */
const DEEPEST_FIELDS = 32;

/** Elements with named fields. */
function structured(fields: readonly unknown[], depth = 0): V2DataType {
  if (fields.length === 0) refuse("at least one field", fields);
  if (depth > DEEPEST_FIELDS) {
    throw new MetadataError(
      sentence`Fields are nested more than ${DEEPEST_FIELDS} deep`,
    );
  }
  const types = new Map<string, V2DataType>();
  for (const [i, field] of fields.entries()) {
    below(`/${i}`, () => {
      const { name, type } = parseField(field, i, depth);
      if (types.has(name)) {
        throw new MetadataError(
          sentence`Expected different names of fields, found ${name} twice`,
          "/0",
        );
      }
      types.set(name, type);
    });
  }
  const all = [...types.values()];
  const size = all.reduce((sum, type) => sum + type.size!, 0);
  const members = Array.from(types, ([name, { json }]) => [name, json]);
  return {
    json: { name: "structured", configuration: { fields: members } },
    size,
    endian: "little",
    numpy: `{${all.map(({ numpy }) => numpy).join()}}`,
    get defaultFill() {
      return zeros(size);
    },
    fill(value) {
      const bytes = fromBase64(value);
      if (bytes?.length === size) return value;
      // zarr-python 2 wrote 0 for zeros.
      if (numberOf(value) === 0) return zeros(size);
      refuse(`${size} bytes in Base64`, value);
    },
  };
}

function parseField(
  field: unknown,
  index: number,
  depth: number,
): { name: string; type: V2DataType } {
  if (!Array.isArray(field) || field.length < 2) {
    refuse("a field, a list of a name and a dtype", field);
  }
  const [name, dtype, shape] = field;
  if (typeof name !== "string") refuse("a name", name, "/0");
  if (shape !== undefined) {
    throw new MetadataError(
      sentence`Zarr v3 has no data type for fields that are arrays, found the shape ${shape}; expected a field for each element`,
      "/2",
    );
  }
  const type = below(
    "/1",
    () =>
      Array.isArray(dtype)
        ? structured(dtype, depth + 1)
        : parseV2DataType(dtype, undefined),
  );
  if (type.endian === "big") {
    throw new MetadataError(
      sentence`Zarr v3 has no byte order for single fields, found ${dtype}; expected little-endian fields: store the array again`,
      "/1",
    );
  }
  // NumPy gives padding, which has no name, the names f0, f1, and so on.
  return { name: name === "" ? `f${index}` : name, type };
}
