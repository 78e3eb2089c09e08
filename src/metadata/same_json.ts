import { isMembers } from "./node_documents.ts";
import { numberOf } from "./zarr_json.ts";

/** Whether two values in documents are equal, regardless of the order of members and the spelling of numbers. */
export function isSameJson(a: unknown, b: unknown): boolean {
  const [one, other] = [numberOf(a), numberOf(b)];
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length &&
      one.every((item, i) => isSameJson(item, other[i]));
  }
  if (!isMembers(one) || !isMembers(other)) return isSameValue(one, other);
  const names = Object.keys(one);
  return names.length === Object.keys(other).length &&
    names.every((name) =>
      Object.hasOwn(other, name) && isSameJson(one[name], other[name])
    );
}

/**
 * Whether two values without members are equal. Of a whole number beyond 2^53, `1e20` is
 * a `number` and its digits are a `bigint`, which are often rounded: those of
 * 2^67 end in zeros.
 */
function isSameValue(one: unknown, other: unknown): boolean {
  const isMixed = typeof one === "bigint" && typeof other === "number" ||
    typeof one === "number" && typeof other === "bigint";
  return isMixed
    ? one == other || String(one) === String(other)
    : Object.is(one, other);
}
