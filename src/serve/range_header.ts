import type { ByteRange } from "../stores/store.ts";

/**
 * Parses a `Range` header (RFC 9110, section 14.2). Returns `undefined` for a header that
 * is to be ignored, so that the whole value is sent: no header, a malformed one, another
 * unit, or several ranges.
 */
export function parseRangeHeader(header: string | null): ByteRange | undefined {
  const [, first, last] = SINGLE_RANGE.exec(header ?? "") ?? [];
  if (first === undefined || last === undefined) return undefined;
  if (first === "") {
    return last === "" ? undefined : { suffixLength: limited(last) };
  }
  const offset = limited(first);
  if (last === "") return { offset, length: Number.MAX_SAFE_INTEGER };
  if (isGreater(first, last)) return undefined;
  return { offset, length: Math.max(limited(last) - offset, 0) + 1 };
}

/** A list with one range. Lists may have empty elements. */
const SINGLE_RANGE = /^bytes=[ \t,]*(\d*)-(\d*)[ \t,]*$/i;

/** Returns a number of any length, at most 2^53−2, so that one may be added to it. */
function limited(digits: string): number {
  return Math.min(Number(digits), Number.MAX_SAFE_INTEGER - 1);
}

/** Compares numbers of any length. */
function isGreater(a: string, b: string): boolean {
  const [x, y] = [a, b].map((digits) => digits.replace(/^0+/, ""));
  return x!.length > y!.length || x!.length === y!.length && x! > y!;
}
