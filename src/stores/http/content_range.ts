import { type ByteRange, resolveByteRange } from "../store.ts";

/** The first and the last byte that are sent (inclusive), and the size of the whole value. */
export interface ContentRange {
  readonly first?: number;
  readonly last?: number;
  readonly size?: number;
}

// At most 15 digits, so that every number is exact. MinIO answers -1 for an empty value.
const CONTENT_RANGE =
  /^bytes (?:(\d{1,15})-(-1|\d{1,15})|\*)\/(?:(\d{1,15})|\*)$/i;

/** Parses `Content-Range` (RFC 9110, section 14.4). A missing or malformed header has no members. */
export function parseContentRange(headers: Headers): ContentRange {
  const [, first, last, size] =
    CONTENT_RANGE.exec(headers.get("content-range") ?? "") ?? [];
  return {
    ...first !== undefined && { first: Number(first), last: Number(last) },
    ...size !== undefined && { size: Number(size) },
  };
}

/**
 * The number of bytes that are sent, if they are exactly those of `range`. It is
 * `undefined` for other bytes, and for fewer bytes unless the value is known to end
 * there.
 */
export function answeredLength(
  range: ByteRange,
  { first, last, size }: ContentRange,
): number | undefined {
  if (first === undefined || last === undefined) return undefined;
  const expected = size !== undefined
    ? resolveByteRange(range, size)
    : "offset" in range
    ? { start: range.offset, end: range.offset + range.length }
    : undefined;
  return first === expected?.start && last + 1 === expected.end
    ? last + 1 - first
    : undefined;
}

/** The `Range` header for a range of at least one byte. */
export function rangeHeader(range: ByteRange): string {
  if ("suffixLength" in range) return `bytes=-${range.suffixLength}`;
  // Neither side counts exactly beyond 2^53−1.
  const last = Math.min(
    range.offset + range.length - 1,
    Number.MAX_SAFE_INTEGER,
  );
  return `bytes=${range.offset}-${last}`;
}
