/**
 * The codecs `scale_offset` and `cast_value`, which refuse values that do not fit.
 *
 * Sources: https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/scale_offset and
 * https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/cast_value
 */
import { DamageError } from "../errors/mod.ts";
import { checkMembers, refuse } from "../metadata/mod.ts";
import { roundHalfEven } from "../runtime/mod.ts";
import {
  bigintToNumber,
  checkNumberType,
  type NumberType,
  readValues,
  rounderTo,
  sizeOfType,
  type Values,
  writeValues,
} from "./cast_elements.ts";
import { Configuration, type Filter, type ParseFilter } from "./codec.ts";

/** An element: a bigint for integers of 64 bits. */
type Scalar = number | bigint;

/** Thrown for a value that a data type cannot represent. */
class UnfitError extends Error {}

/** Parses the configuration of `scale_offset`: `(x - offset) * scale`. */
export const parseScaleOffset: ParseFilter = (
  name,
  configuration,
  { dataType },
) => {
  const members = new Configuration(name, ["offset", "scale"], configuration);
  const type = checkNumberType(name, dataType);
  const offset = parseScalar(members.get("offset") ?? 0, type, "offset");
  const scale = parseScalar(members.get("scale") ?? 1, type, "scale");
  if (Number(scale) === 0) {
    throw members.refusal("scale", "a number other than 0");
  }
  const [encode, decode] = type.startsWith("float")
    ? scaleFloats(offset as number, scale as number, type)
    : scaleIntegers(offset as number, scale as number, type);
  return elementFilter(type, type, encode, decode);
};

type Convert = (value: never) => Scalar;

function scaleFloats(
  offset: number,
  scale: number,
  type: NumberType,
): [Convert, Convert] {
  const round = rounderTo(type as "float32");
  return [
    (x: number) => round(round(x - offset) * scale),
    (x: number) => round(round(x / scale) + offset),
  ];
}

/** Scales integers, those of 64 bits too: bigints have the same operators. */
function scaleIntegers(
  offset: number,
  scale: number,
  type: NumberType,
): [Convert, Convert] {
  const [least, most] = rangeOf(type);
  const check = (value: number) => {
    if (least <= value && value <= most) return value;
    throw new UnfitError(`${value} is no ${type}`);
  };
  return [
    (x: number) => check(check(x - offset) * scale),
    (x: number) => {
      if (Number(x % scale) === 0) return check(x / scale + offset);
      throw new UnfitError(`${x} is no multiple of the scale, ${scale}`);
    },
  ];
}

const ROUNDINGS = [
  "nearest-even",
  "towards-zero",
  "towards-positive",
  "towards-negative",
  "nearest-away",
] as const;

type Rounding = typeof ROUNDINGS[number];

const OUT_OF_RANGE = ["clamp", "wrap"] as const;

type OutOfRange = typeof OUT_OF_RANGE[number] | undefined;

/** Parses the configuration of `cast_value`: elements of another data type. */
export const parseCastValue: ParseFilter = (
  name,
  configuration,
  { dataType },
) => {
  const members = new Configuration(
    name,
    ["data_type", "rounding", "out_of_range", "scalar_map"],
    configuration,
  );
  const type = checkNumberType(name, dataType);
  const stored = checkNumberType(
    name,
    members.get("data_type"),
    "/configuration/data_type",
  );
  const rounding = members.oneOf("rounding", ROUNDINGS, "nearest-even");
  const outOfRange = members.get("out_of_range") === undefined
    ? undefined
    : members.oneOf("out_of_range", OUT_OF_RANGE, "clamp");
  if (outOfRange === "wrap" && stored.startsWith("float")) {
    throw members.refusal(
      "out_of_range",
      '"clamp" for a data_type of floats',
    );
  }
  const { encode, decode } = checkMembers(
    members.get("scalar_map") ?? {},
    `the scalar_map of ${name}`,
    [],
    ["encode", "decode"],
  );
  return elementFilter(
    type,
    stored,
    mapped(
      parseMap(encode, type, stored, "encode"),
      converter(type, stored, rounding, outOfRange),
    ),
    mapped(
      parseMap(decode, stored, type, "decode"),
      converter(stored, type, rounding, outOfRange),
    ),
  );
};

function parseMap(
  map: unknown,
  from: NumberType,
  to: NumberType,
  direction: string,
): Map<Scalar, Scalar> {
  const path = `scalar_map/${direction}`;
  const pairs = map ?? [];
  if (!Array.isArray(pairs)) {
    refuse(`${path} to be a list of pairs`, map, `/configuration/${path}`);
  }
  const scalars = new Map<Scalar, Scalar>();
  pairs.forEach((pair: unknown, i) => {
    if (!Array.isArray(pair) || pair.length !== 2) {
      refuse("a pair of scalars", pair, `/configuration/${path}/${i}`);
    }
    const key = parseScalar(pair[0], from, `${path}/${i}/0`);
    const value = parseScalar(pair[1], to, `${path}/${i}/1`);
    // The first of equal scalars counts. NaN is equal to itself in a Map.
    if (!scalars.has(key)) scalars.set(key, value);
  });
  return scalars;
}

function mapped(map: ReadonlyMap<Scalar, Scalar>, convert: Convert): Convert {
  if (map.size === 0) return convert;
  return (value: never) => map.get(value) ?? convert(value);
}

/** The function that casts elements of a data type to another one. */
function converter(
  from: NumberType,
  to: NumberType,
  rounding: Rounding,
  outOfRange: OutOfRange,
): Convert {
  if (to.startsWith("float")) {
    const round = rounderTo(to as "float32");
    return (value: Scalar) => {
      // Integers of 64 bits are rounded once.
      const isBig = typeof value === "bigint";
      const nearest = round(isBig ? bigintToNumber(value, to) : value);
      const isExact = isBig
        ? Number.isFinite(nearest) && BigInt(nearest) === value
        : nearest === value || Number.isNaN(value);
      if (isExact) return nearest;
      if (rounding !== "nearest-even") {
        throw new UnfitError(
          `${value} is no ${to}, and floats are rounded to nearest-even alone`,
        );
      }
      if (Math.abs(nearest) !== Infinity || outOfRange === "clamp") {
        return nearest;
      }
      throw new UnfitError(`${value} is no ${to}`);
    };
  }
  const isBig = isWide(to);
  const range = rangeOf(to);
  const [least, most]: readonly Scalar[] = isBig ? range : range.map(Number);
  const wrap = to.startsWith("u") ? BigInt.asUintN : BigInt.asIntN;
  const bits = 8 * sizeOfType(to);
  return (value: Scalar) => {
    let whole: Scalar = value;
    if (typeof value === "number" && from.startsWith("float")) {
      if (!Number.isFinite(value)) throw new UnfitError(`${value} is no ${to}`);
      whole = roundTo(value, rounding);
    }
    if (whole < least! || whole > most!) {
      if (outOfRange === undefined) {
        throw new UnfitError(`${value} is no ${to}`);
      }
      whole = outOfRange === "wrap"
        ? wrap(bits, BigInt(whole))
        : whole < least!
        ? least!
        : most!;
    }
    return isBig ? BigInt(whole) : Number(whole);
  };
}

function roundTo(value: number, rounding: Rounding): number {
  switch (rounding) {
    case "nearest-even":
      return roundHalfEven(value);
    case "towards-zero":
      return Math.trunc(value);
    case "towards-positive":
      return Math.ceil(value);
    case "towards-negative":
      return Math.floor(value);
    case "nearest-away": {
      const whole = Math.trunc(value);
      return Math.abs(value - whole) >= 0.5 ? whole + Math.sign(value) : whole;
    }
  }
}

function isWide(type: NumberType): boolean {
  return type === "int64" || type === "uint64";
}

function rangeOf(type: NumberType): [least: bigint, most: bigint] {
  const bits = BigInt(8 * sizeOfType(type));
  return type.startsWith("u")
    ? [0n, 2n ** bits - 1n]
    : [-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n];
}

function isInRange(value: Scalar, type: NumberType): boolean {
  const [least, most] = rangeOf(type);
  return least <= value && value <= most;
}

const SPECIAL_FLOATS: Readonly<Record<string, number>> = {
  NaN: NaN,
  Infinity: Infinity,
  "+Infinity": Infinity,
  "-Infinity": -Infinity,
};

/** Parses a scalar in the form of a fill value in metadata. */
function parseScalar(value: unknown, type: NumberType, path: string): Scalar {
  const size = sizeOfType(type);
  if (type.startsWith("float")) {
    if (typeof value === "number" || typeof value === "bigint") {
      return rounderTo(type as "float32")(Number(value));
    }
    if (typeof value === "string") {
      if (Object.hasOwn(SPECIAL_FLOATS, value)) return SPECIAL_FLOATS[value]!;
      if (/^0x[0-9a-f]+$/i.test(value) && value.length === 2 + 2 * size) {
        const bytes = new Uint8Array(8);
        new DataView(bytes.buffer).setBigUint64(0, BigInt(value), true);
        return readValues(bytes.subarray(0, size), type)[0]!;
      }
    }
  } else if (typeof value === "bigint" || Number.isInteger(value)) {
    const whole = BigInt(value as number);
    if (isInRange(whole, type)) return isWide(type) ? whole : Number(whole);
  }
  refuse(`a scalar of ${type}`, value, `/configuration/${path}`);
}

/** A filter that converts one element after another. */
function elementFilter(
  type: NumberType,
  stored: NumberType,
  encode: Convert,
  decode: Convert,
): Filter {
  return {
    stored,
    encode(bytes) {
      try {
        return convertAll(readValues(bytes, type), stored, encode);
      } catch (error) {
        if (!(error instanceof UnfitError)) throw error;
        throw new RangeError(`A value cannot be stored: ${error.message}`);
      }
    },
    decode(bytes) {
      try {
        return convertAll(readValues(bytes, stored), type, decode);
      } catch (cause) {
        if (!(cause instanceof UnfitError)) throw cause;
        throw new DamageError(
          `The chunk has a value that cannot be read: ${cause.message}`,
          { cause },
        );
      }
    },
  };
}

function convertAll(
  values: Values,
  to: NumberType,
  convert: Convert,
): Uint8Array {
  const converted = to === "int64"
    ? new BigInt64Array(values.length)
    : to === "uint64"
    ? new BigUint64Array(values.length)
    : new Float64Array(values.length);
  for (let i = 0; i < values.length; i++) {
    converted[i] = convert(values[i] as never);
  }
  return writeValues(converted, to);
}
