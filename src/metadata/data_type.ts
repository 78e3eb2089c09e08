import { describe, describeAll, MetadataError } from "../errors/mod.ts";
import { type NamedConfiguration, parseExtension } from "./schema.ts";

/** A data type that Zarr names by a string, and what metadata needs to know about it. */
export interface DataType {
  readonly name: string;
  /** The size of an element; `undefined` where elements differ in length. */
  readonly bits: number | undefined;
  /** The codec from array to bytes of arrays without one in their metadata. */
  readonly toBytes: "bytes" | "vlen-utf8" | "vlen-bytes";
  /** The fill value of arrays without one in their metadata. */
  readonly defaultFill: unknown;
}

/** A kind of data types of the Zarr core, and its fill values. */
interface Kind {
  readonly defaultFill: unknown;
  /** The expected fill value, in words. */
  readonly expected: (bits: number) => string;
  /** Converts a fill value to JSON; returns `undefined` for other values. */
  readonly convert: (value: unknown, bits: number) => unknown;
}

const KINDS: Readonly<Record<string, Kind>> = {
  bool: {
    defaultFill: false,
    expected: () => "true or false",
    convert: (value) => typeof value === "boolean" ? value : undefined,
  },
  int: /* @__PURE__ */ integers((bits) => -(2n ** BigInt(bits - 1))),
  uint: /* @__PURE__ */ integers(() => 0n),
  float: {
    defaultFill: 0,
    expected: () =>
      'a number, "NaN", "Infinity", "-Infinity" or its bits in hexadecimal',
    convert: floatJson,
  },
  complex: {
    defaultFill: [0, 0],
    expected: () => "a list of the real and the imaginary part",
    convert(value, bits) {
      if (!Array.isArray(value) || value.length !== 2) return undefined;
      const pair = value.map((number) => floatJson(number, bits / 2));
      return pair.includes(undefined) ? undefined : pair;
    },
  },
  string: {
    defaultFill: "",
    expected: () => "a string",
    convert: (value) => typeof value === "string" ? value : undefined,
  },
};

/** Whole numbers from `least` on, of as many values as their bits tell apart. */
function integers(least: (bits: number) => bigint): Kind {
  const most = (bits: number) => least(bits) + 2n ** BigInt(bits) - 1n;
  return {
    defaultFill: 0,
    expected: (bits) => `a whole number from ${least(bits)} to ${most(bits)}`,
    convert(value, bits) {
      const isWhole = typeof value === "bigint" || Number.isInteger(value);
      const isInRange = isWhole && value as number >= least(bits) &&
        value as number <= most(bits);
      return isInRange ? value : undefined;
    },
  };
}

const NAME = /^(bool|u?int|float|complex|string)(\d*)$/;

const NAMES: readonly string[] = [
  "bool",
  "int8",
  "int16",
  "int32",
  "int64",
  "uint8",
  "uint16",
  "uint32",
  "uint64",
  "float16",
  "float32",
  "float64",
  "complex64",
  "complex128",
  "string",
];

/**
 * Looks up a data type by its Zarr name.
 *
 * @throws {RangeError} If the name is unknown. The message suggests the Zarr
 * name for the spellings of NumPy, C and JavaScript.
 */
export function dataTypeOf(name: string): DataType {
  const dataType = coreDataType(name);
  if (dataType !== undefined) return dataType;
  throw new RangeError(unknownMessage(name, "a fillValue"));
}

/** Looks up a data type of the Zarr core; returns `undefined` for any other. */
export function coreDataType(name: string): DataType | undefined {
  if (!NAMES.includes(name)) return undefined;
  const { kind, bits } = split(name);
  return {
    name,
    bits: name === "string" ? undefined : bits || 8,
    toBytes: name === "string" ? "vlen-utf8" : "bytes",
    defaultFill: kind.defaultFill,
  };
}

/**
 * Converts a fill value to the form that `zarr.json` holds: NaN and the
 * infinities become strings.
 *
 * @param member The name of the fill value in messages.
 * @throws {RangeError} If the value is not one of the data type.
 */
export function fillValueJson(
  { name }: DataType,
  value: unknown,
  member = "fillValue",
): unknown {
  const { kind, bits } = split(name);
  const json = kind.convert(value, bits);
  if (json !== undefined) return json;
  const expected = `${describe(name)}, ${kind.expected(bits)}`;
  throw new RangeError(
    `Expected a ${member} of the data type ${expected}, found ${
      describe(value)
    }`,
  );
}

/** The data type of an array document. */
export interface DocumentDataType {
  /** The data type as `zarr.json` holds it. */
  readonly json: string | NamedConfiguration;
  /** The name of the data type. */
  readonly name: string;
  /** The data type if it is known; `undefined` for other extensions. */
  readonly known: DataType | undefined;
}

/**
 * Checks the data type of a document that is to be written. A name must be known or have
 * an owner; an object may name any other extension.
 *
 * @throws {MetadataError} If no Zarr client knows the data type.
 */
export function checkDataType(value: unknown): DocumentDataType {
  if (typeof value === "string") {
    const known = knownDataType(value);
    const isOwned = OWNED_NAME.test(value) &&
      suggestedName(value) === undefined;
    if (known === undefined && !isOwned) throw unknownError(value, "");
    return { json: value, name: value, known };
  }
  const { name, configuration } = parseExtension(value, "data type");
  if (Object.keys(configuration).length > 0) {
    return { json: value as NamedConfiguration, name, known: undefined };
  }
  const known = knownDataType(name);
  if (known === undefined && CORE_LIKE.test(name)) {
    throw unknownError(name, "/name");
  }
  // zarr-python accepts data types without configuration as names only.
  const json = known === undefined ? value as NamedConfiguration : name;
  return { json, name, known };
}

/** The size of an element in bits; `undefined` for an unknown data type, or where elements differ in length. */
export function bitsOf(
  dataType: string | NamedConfiguration,
): number | undefined {
  if (typeof dataType === "string") return knownDataType(dataType)?.bits;
  const { name, configuration = {} } = dataType;
  return Object.keys(configuration).length === 0
    ? knownDataType(name)?.bits
    : undefined;
}

function split(name: string): { kind: Kind; bits: number } {
  const [, kind, digits] = NAME.exec(name)!;
  return { kind: KINDS[kind!]!, bits: Number(digits) };
}

function floatJson(value: unknown, bits: number): unknown {
  if (typeof value === "number") return isFinite(value) ? value : String(value);
  const special = `^(?:NaN|-?Infinity|0[xX][0-9a-fA-F]{${bits / 4}})$`;
  const isSpecial = typeof value === "string" &&
    new RegExp(special).test(value);
  return isSpecial ? value : undefined;
}

/**
 * Returns the message about an unknown data type, with the known ones or a suggestion.
 *
 * @param fillValue The fill value that other data types need, by its name in the message.
 */
function unknownMessage(name: string, fillValue: string): string {
  const suggestion = suggestedName(name);
  if (suggestion === undefined) {
    const known = describeAll(NAMES);
    return `Unknown data type ${
      describe(name)
    }; known are ${known}, and any other as an object { name, configuration } with ${fillValue}`;
  }
  const byteOrder = name.startsWith(">")
    ? ', with the byte order in the codec { name: "bytes", configuration: { endian: "big" } }'
    : "";
  const expected = `expected "${suggestion}", its name in Zarr v3`;
  return `Unknown data type ${describe(name)}; ${expected}${byteOrder}`;
}

/** Returns the Zarr name for a spelling of NumPy, C or JavaScript. */
function suggestedName(name: string): string | undefined {
  const word = name.toLowerCase()
    .replace(/^(?:numpy\.|np\.|[<>|=])/, "")
    .replace(/(?:clamped)?array$|_t$/, "")
    .replace(/^big(?=u?int)/, "");
  const [, letter, bytes] = /^([iufc])(\d+)$/.exec(word) ?? [];
  const kinds = { i: "int", u: "uint", f: "float", c: "complex" };
  const candidate = letter !== undefined
    ? kinds[letter as keyof typeof kinds] + 8 * Number(bytes)
    : ALIASES[word] ?? word;
  return NAMES.includes(candidate) ? candidate : undefined;
}

/** The names of other programs whose Zarr names do not follow from a rule. */
const ALIASES: Readonly<Record<string, string>> = {
  "?": "bool",
  b1: "bool",
  boolean: "bool",
  byte: "uint8",
  ubyte: "uint8",
  short: "int16",
  int: "int32",
  half: "float16",
  single: "float32",
  float: "float32",
  double: "float64",
  str: "string",
};

/** Matches the raw bits of the Zarr core. */
const RAW = /^r(\d{1,9})$/;

/** Matches the registered numbers besides those of the core. */
const NUMBER =
  /^(?:u?int[24]|(?:complex_)?(?:bfloat16|float4_e2m1fn|float6_e2m3fn|float6_e3m2fn|float8_(?:e3m4|e4m3|e4m3fn|e4m3fnuz|e4m3b11fnuz|e5m2|e5m2fnuz|e8m0fnu))|complex_float(?:16|32|64))$/;

/** Matches the names of byte strings in zarr-python and zarrs. */
const BYTE_STRING = /^(?:bytes|variable_length_bytes|binary)$/;

/** Matches names of extensions that have an owner: URLs, and names such as `numpy.void`. */
const OWNED_NAME =
  /^(?:https?:\/\/[^\s"<>\\]{1,1000}|[a-z][\w-]{0,99}(?:\.[\w-]{1,99}){1,9})$/;

/** Matches names that look like those of the core. */
const CORE_LIKE = /^(?:bool|u?int|float|complex|string|r)\d*$/;

/** The greatest number of zero bytes that a default fill value has. */
const MOST_ZEROS = 1024;

/** Looks up a data type that some Zarr client knows by its name alone. */
function knownDataType(name: string): DataType | undefined {
  const core = coreDataType(name);
  if (core !== undefined) return core;
  if (BYTE_STRING.test(name)) {
    return { name, bits: undefined, toBytes: "vlen-bytes", defaultFill: "" };
  }
  if (NUMBER.test(name)) {
    const isComplex = name.startsWith("complex");
    const bits = 8 * Math.ceil(Number(/\d+/.exec(name)![0]) / 8);
    return {
      name,
      bits: isComplex ? 2 * bits : bits,
      toBytes: "bytes",
      defaultFill: isComplex ? [0, 0] : 0,
    };
  }
  const bits = Number(RAW.exec(name)?.[1]);
  if (!(bits > 0 && bits % 8 === 0)) return undefined;
  const size = bits / 8;
  const defaultFill = size > MOST_ZEROS ? undefined : new Array(size).fill(0);
  return { name, bits, toBytes: "bytes", defaultFill };
}

function unknownError(name: string, path: string): MetadataError {
  return new MetadataError(unknownMessage(name, "a fill_value"), path);
}
