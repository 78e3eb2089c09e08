import { MOST_DIGITS } from "./zarr_json.ts";
import { isMembers } from "./node_documents.ts";

/** Whether two values in documents are equal, regardless of the order of members and the spelling of numbers. */
export function isSameJson(a: unknown, b: unknown): boolean {
  const [one, other] = [numberOf(a), numberOf(b)];
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length &&
      one.every((item, i) => isSameJson(item, other[i]));
  }
  if (!isMembers(one) || !isMembers(other)) return Object.is(one, other);
  const names = Object.keys(one);
  return names.length === Object.keys(other).length &&
    names.every((name) =>
      Object.hasOwn(other, name) && isSameJson(one[name], other[name])
    );
}

/**
 * Converts a raw number to a `number`, or to a `bigint` if a whole number needs one,
 * or to its text if a `bigint` would take long.
 * Returns any other value as it is.
 */
export function numberOf(value: unknown): unknown {
  const { isRawJSON } = JSON as { isRawJSON?: (value: unknown) => boolean };
  if (!isRawJSON?.(value)) return value;
  const { rawJSON } = value as { rawJSON: string };
  const number = Number(rawJSON);
  const isExact = Number.isSafeInteger(number) || !/^-?\d+$/.test(rawJSON);
  if (isExact) return number;
  return rawJSON.length <= MOST_DIGITS ? BigInt(rawJSON) : rawJSON;
}
