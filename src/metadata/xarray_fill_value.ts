/**
 * The attribute `_FillValue` in the forms that xarray writes and reads in arrays of Zarr v3: a
 * float is Base64 of its bytes as a `float64` in little endian, other numbers are numbers.
 *
 * Source: https://docs.xarray.dev/en/stable/internals/zarr-encoding-spec.html
 */
import { decodeBase64, encodeBase64 } from "../runtime/mod.ts";
import { coreDataType } from "./data_type.ts";
import { type Members, numberOf } from "./json.ts";
import type { V2DataType } from "./v2_data_type.ts";

/**
 * Returns the attributes of a Zarr v2 array as those of a Zarr v3 array: an array of xarray
 * that has a fill value gets the attribute `_FillValue`, or `missing_value` for texts, where
 * xarray refuses the former. A float in `_FillValue` gets the form of Zarr v3, the only one
 * that xarray reads there.
 *
 * @param fill The fill value in the form of Zarr v3; `undefined` for none.
 * @returns The same attributes if nothing changes, as for data types without missing elements.
 */
export function withXarrayFillValue(
  attributes: Members,
  { json, numpy }: V2DataType,
  fill: unknown,
): Members {
  const isOfXarray = Array.isArray(attributes._ARRAY_DIMENSIONS);
  if (!isOfXarray || json === "bytes") return attributes;
  const [, kind] = /^[<>|]([a-zA-Z])/.exec(numpy) ?? [];
  const name = kind === "U" || kind === "O" ? "missing_value" : "_FillValue";
  const { [name]: given, ...others } = attributes;
  const encoded = encodeMissing(given ?? fill, kind);
  return encoded === undefined || encoded === given
    ? attributes
    : { ...others, [name]: encoded };
}

/** Encodes a missing element by the letter of its data type in NumPy; `undefined` if xarray knows none. */
function encodeMissing(value: unknown, kind: string | undefined): unknown {
  switch (kind) {
    case "b":
    case "i":
    case "u":
      return value;
    case "U":
    case "O":
      return typeof value === "string" ? value : undefined;
    case "f":
      return value === undefined
        ? undefined
        : encodeXarrayFillValue(value, true);
    case "c":
      return Array.isArray(value)
        ? value.map((part) => encodeXarrayFillValue(part, true))
        : undefined;
  }
}

/**
 * Encodes the attribute.
 *
 * @param value The missing element, in the form of a fill value of Zarr v3.
 */
export function encodeXarrayFillValue(
  value: unknown,
  isFloat: boolean,
): unknown {
  const isEncoded = typeof value === "string" && BASE64.test(value);
  if (!isFloat || isEncoded) return value;
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setFloat64(0, Number(numberOf(value)), true);
  return encodeBase64(bytes);
}

/**
 * Decodes the attribute, also where other programs have written it as a number, or as a list
 * of one.
 *
 * @param dataType The data type of the array by its name.
 * @returns `undefined` if the attribute is not an element of the data type.
 */
export function decodeXarrayFillValue(
  attribute: unknown,
  dataType: string,
): number | bigint | undefined {
  const bits = coreDataType(dataType)?.bits ?? 0;
  const [, kind] = /^(u?int|float)\d+$/.exec(dataType) ?? [];
  const only = Array.isArray(attribute) && attribute.length === 1
    ? attribute[0]
    : attribute;
  const value = numberOf(only);
  if (kind === "float") {
    const number = typeof value === "string"
      ? floatOf(value)
      : typeof value === "bigint"
      ? Number(value)
      : value;
    if (typeof number !== "number") return undefined;
    return bits === 32 ? Math.fround(number) : number;
  }
  // Other digits may have become the same unsafe number.
  const isWhole = typeof value === "bigint" || Number.isSafeInteger(value);
  if (kind === undefined || !isWhole) return undefined;
  const whole = BigInt(value as number);
  const fit = kind === "int" ? BigInt.asIntN : BigInt.asUintN;
  if (fit(bits, whole) !== whole) return undefined;
  return Number.isSafeInteger(Number(whole)) ? Number(whole) : whole;
}

/** Matches eight bytes in Base64. */
const BASE64 = /^[A-Za-z0-9+/]{11}=$/;

/** The float of a text: Base64 of eight bytes, or the name of a number that JSON does not have. */
function floatOf(text: string): number | undefined {
  if (/^(?:NaN|-?Infinity)$/.test(text)) return Number(text);
  if (!BASE64.test(text)) return undefined;
  const { buffer } = decodeBase64(text);
  return new DataView(buffer).getFloat64(0, true);
}
