import { resolveByteRange } from "./byte_range.ts";
import type { ByteRange } from "./store.ts";

/** What `Content-Range` says: which bytes are sent, inclusive, and of how many. */
export interface ContentRange {
  readonly first?: number;
  readonly last?: number;
  readonly size?: number;
}

// Of at most 15 digits, so that every number is exact.
const CONTENT_RANGE =
  /^bytes (?:(\d{1,15})-(\d{1,15})|\*)\/(?:(\d{1,15})|\*)$/i;

/** Reads a `Content-Range` (RFC 9110, section 14.4); nothing of one that is missing or malformed. */
export function parseContentRange(headers: Headers): ContentRange {
  const [, first, last, size] =
    CONTENT_RANGE.exec(headers.get("content-range") ?? "") ?? [];
  return {
    ...first !== undefined && { first: Number(first), last: Number(last) },
    ...size !== undefined && { size: Number(size) },
  };
}

/**
 * How many bytes `content` holds if they are just those of `range`; `undefined`
 * if they are others, or if fewer than asked and maybe not at the value's end.
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

/** The `Range` header that asks for a range of at least one byte. */
export function rangeHeader(range: ByteRange): string {
  if ("suffixLength" in range) return `bytes=-${range.suffixLength}`;
  // Neither the sum nor what is sent exceeds what both sides count exactly.
  const last = Math.min(
    range.offset + range.length - 1,
    Number.MAX_SAFE_INTEGER,
  );
  return `bytes=${range.offset}-${last}`;
}
