import { isMembers } from "./node_documents.ts";

/** Whether two values of documents are the same, whatever the order of their members and the spelling of their numbers. */
export function isSameJson(a: unknown, b: unknown): boolean {
  const [one, other] = [valueOf(a), valueOf(b)];
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

/** The number that a document keeps as it is written, exact if it is a whole one. */
function valueOf(value: unknown): unknown {
  const { isRawJSON } = JSON as { isRawJSON?: (value: unknown) => boolean };
  if (!isRawJSON?.(value)) return value;
  const { rawJSON } = value as { rawJSON: string };
  const number = Number(rawJSON);
  const isExact = Number.isSafeInteger(number) || !/^-?\d+$/.test(rawJSON);
  return isExact ? number : BigInt(rawJSON);
}
