import { describe, describeAll } from "../errors/mod.ts";

/** A data type that Zarr names by a string, and what metadata needs to know about it. */
export interface DataType {
  readonly name: string;
  /** The size of an element; `undefined` where elements differ in length. */
  readonly bits: number | undefined;
  /** The codec from array to bytes of arrays that give none. */
  readonly toBytes: "bytes" | "vlen-utf8" | "vlen-bytes";
  /** The fill value of arrays that give none. */
  readonly defaultFill: unknown;
}

type Kind = "bool" | "int" | "uint" | "float" | "complex" | "string";

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

const DEFAULT_FILL: Readonly<Record<Kind, unknown>> = {
  bool: false,
  int: 0,
  uint: 0,
  float: 0,
  complex: [0, 0],
  string: "",
};

/**
 * Looks up a data type by its Zarr name.
 *
 * @throws {RangeError} If the name is unknown. The message suggests the Zarr
 * name for the spellings of NumPy, C and JavaScript.
 */
export function dataTypeOf(name: string): DataType {
  const dataType = coreDataType(name);
  if (dataType !== undefined) return dataType;
  throw new RangeError(unknownDataType(name, "a fillValue"));
}

/** Looks up a data type of the Zarr core; returns `undefined` for any other. */
export function coreDataType(name: string): DataType | undefined {
  if (!NAMES.includes(name)) return undefined;
  const { kind, bits } = split(name);
  return {
    name,
    bits: kind === "string" ? undefined : bits || 8,
    toBytes: kind === "string" ? "vlen-utf8" : "bytes",
    defaultFill: DEFAULT_FILL[kind],
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
  const json = convertFill(kind, bits, value);
  if (json !== undefined) return json;
  throw new RangeError(
    `Expected a ${member} of the data type ${describe(name)}, ${
      expectedFill(kind, bits)
    }, found ${describe(value)}`,
  );
}

function split(name: string): { kind: Kind; bits: number } {
  const [, kind, digits] = NAME.exec(name)!;
  return { kind: kind as Kind, bits: Number(digits) };
}

function convertFill(kind: Kind, bits: number, value: unknown): unknown {
  switch (kind) {
    case "bool":
      return typeof value === "boolean" ? value : undefined;
    case "string":
      return typeof value === "string" ? value : undefined;
    case "float":
      return floatJson(value, bits);
    case "complex": {
      if (!Array.isArray(value) || value.length !== 2) return undefined;
      const pair = value.map((number) => floatJson(number, bits / 2));
      return pair.includes(undefined) ? undefined : pair;
    }
    default: {
      const isWhole = typeof value === "bigint" || Number.isInteger(value);
      const [least, most] = integerRange(kind, bits);
      return isWhole && value as number >= least && value as number <= most
        ? value
        : undefined;
    }
  }
}

function floatJson(value: unknown, bits: number): unknown {
  if (typeof value === "number") return isFinite(value) ? value : String(value);
  const isSpecial = value === "NaN" || value === "Infinity" ||
    value === "-Infinity" ||
    typeof value === "string" &&
      new RegExp(`^0x[0-9a-f]{${bits / 4}}$`, "i").test(value);
  return isSpecial ? value : undefined;
}

function integerRange(kind: Kind, bits: number): [bigint, bigint] {
  return kind === "uint"
    ? [0n, 2n ** BigInt(bits) - 1n]
    : [-(2n ** BigInt(bits - 1)), 2n ** BigInt(bits - 1) - 1n];
}

function expectedFill(kind: Kind, bits: number): string {
  switch (kind) {
    case "bool":
      return "true or false";
    case "string":
      return "a string";
    case "float":
      return 'a number, "NaN", "Infinity", "-Infinity" or its bits in hexadecimal';
    case "complex":
      return "a list of the real and the imaginary part";
    default: {
      const [least, most] = integerRange(kind, bits);
      return `a whole number from ${least} to ${most}`;
    }
  }
}

/**
 * Says that a data type is unknown, and what is known.
 *
 * @param fillValue What an unknown data type needs besides its configuration.
 */
export function unknownDataType(name: string, fillValue: string): string {
  const suggestion = suggestDataType(name);
  if (suggestion === undefined) {
    return `Unknown data type ${describe(name)}; known are ${
      describeAll(NAMES)
    }, and any other as an object { name, configuration } with ${fillValue}`;
  }
  const byteOrder = name.startsWith(">")
    ? ', with the byte order in the codec { name: "bytes", configuration: { endian: "big" } }'
    : "";
  return `Unknown data type ${describe(name)}; expected ${
    describe(suggestion)
  }, its name in Zarr v3${byteOrder}`;
}

/** The Zarr name of a type that is spelled as NumPy, C or JavaScript do. */
export function suggestDataType(name: string): string | undefined {
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
