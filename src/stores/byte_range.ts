import type { ByteRange } from "./store.ts";

/**
 * Refuses a value that is not a range: a range has either `suffixLength` or both
 * `offset` and `length`, which are whole numbers from 0 to 2^53−1.
 */
export function assertByteRange(range: ByteRange): void {
  if (isByteRange(range)) return;
  const names = ["suffixLength", "offset", "length"]
    .filter((name) => name in Object(range));
  if (!["suffixLength", "offset,length"].includes(names.join())) {
    throw new TypeError(
      `Expected a range with either suffixLength or offset and length, found ${
        names.join(" and ") || "neither"
      }`,
    );
  }
  for (const [name, value] of Object.entries(range)) {
    if (isCount(value)) continue;
    const ErrorClass = typeof value === "number" ? RangeError : TypeError;
    throw new ErrorClass(
      `Expected the range's ${name} to be a whole number from 0 to 2^53−1, found ${
        typeof value === "string" ? JSON.stringify(value) : String(value)
      }`,
    );
  }
}

/** Accepts valid ranges quickly; {@linkcode assertByteRange} explains the others. */
function isByteRange(range: Partial<Record<string, unknown>> | null): boolean {
  if (typeof range !== "object" || range === null) return false;
  const { offset, length, suffixLength } = range;
  return suffixLength === undefined
    ? isCount(offset) && isCount(length)
    : isCount(suffixLength) && !("offset" in range) && !("length" in range);
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && value as number >= 0;
}

/** The number of bytes that a range asks for. */
export function lengthOfByteRange(range: ByteRange): number {
  return "suffixLength" in range ? range.suffixLength : range.length;
}

/** The start and the end (exclusive) of a range in a value of `size` bytes. */
export function resolveByteRange(
  range: ByteRange,
  size: number,
): { start: number; end: number } {
  assertByteRange(range);
  if ("suffixLength" in range) {
    return { start: Math.max(0, size - range.suffixLength), end: size };
  }
  const start = Math.min(range.offset, size);
  return { start, end: start + Math.min(range.length, size - start) };
}
