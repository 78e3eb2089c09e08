/**
 * The attribute `_FillValue` in the forms that xarray writes and reads in arrays of Zarr v3: a
 * float is Base64 of its bytes as a `float64` in little endian, other numbers are numbers.
 *
 * Source: https://docs.xarray.dev/en/stable/internals/zarr-encoding-spec.html
 */
import { decodeBase64, encodeBase64 } from "../runtime/mod.ts";
import { coreDataType } from "./data_type.ts";
import { numberOf } from "./json.ts";

/**
 * Encodes the attribute.
 *
 * @param value The missing element, in the form of a fill value of Zarr v3.
 */
export function encodeXarrayFillValue(
  value: unknown,
  isFloat: boolean,
): unknown {
  if (!isFloat) return value;
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

/** The float of a text: Base64 of eight bytes, or the name of a number that JSON does not have. */
function floatOf(text: string): number | undefined {
  if (/^(?:NaN|-?Infinity)$/.test(text)) return Number(text);
  if (!/^[A-Za-z0-9+/]{11}=$/.test(text)) return undefined;
  const { buffer } = decodeBase64(text);
  return new DataView(buffer).getFloat64(0, true);
}
