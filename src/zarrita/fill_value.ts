import type { Members } from "../metadata/node_documents.ts";
import { numberOf } from "../metadata/zarr_json.ts";

/**
 * The fill value of an array in a form that zarrita reads exactly, or `undefined` if
 * zarrita reads the one in the document exactly.
 */
export function shownFillValue(array: Members): string | number | undefined {
  const { data_type, fill_value } = array;
  switch (data_type) {
    case "int64":
    case "uint64":
      return digits(fill_value);
    case "float16":
    case "float32":
    case "float64":
      return float(fill_value, Number(data_type.slice(5)));
  }
}

/** The digits of an integer that has lost none: zarrita makes a bigint of a string, too. */
function digits(value: unknown): string | undefined {
  const number = numberOf(value);
  return typeof number === "bigint" ? String(number) : undefined;
}

/** The number whose bits the document has in hexadecimal, which zarrita would read as an integer. */
function float(value: unknown, bits: number): string | number | undefined {
  const isBits = typeof value === "string" && /^0x[0-9a-f]+$/i.test(value) &&
    value.length === 2 + bits / 4;
  if (!isBits) return undefined;
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, BigInt(value) << BigInt(64 - bits));
  const number = bits === 64
    ? view.getFloat64(0)
    : bits === 32
    ? view.getFloat32(0)
    : float16(view.getUint16(0));
  return Number.isFinite(number) ? number : String(number);
}

/** Reads a float16 as `DataView.getFloat16` does, which not all runtimes have. */
function float16(bits: number): number {
  const sign = bits >> 15 ? -1 : 1;
  const exponent = bits >> 10 & 0x1f;
  const fraction = (bits & 0x3ff) / 1024;
  if (exponent === 0x1f) return fraction === 0 ? sign * Infinity : NaN;
  return exponent === 0
    ? sign * fraction * 2 ** -14
    : sign * (1 + fraction) * 2 ** (exponent - 15);
}
