import type { Part } from "../splitter/part.ts";
import type { ByteRange } from "../stores/store.ts";

/** The bytes of one part that lie in a requested range. */
export interface Piece {
  readonly part: Part;
  readonly range: ByteRange;
}

/** A piece that may be all of a requested range. */
interface OnlyPiece extends Piece {
  /** The piece is all of the range if the part returns at least so many bytes. */
  readonly least: number;
}

/** The end of a range; no chunk is longer than 2^53−1 bytes. */
export function endOf(
  { offset, length }: { offset: number; length: number },
): number {
  return offset + Math.min(length, Number.MAX_SAFE_INTEGER - offset);
}

/** Returns the piece of the only part that a range needs, if there may be such a part. */
export function onlyPiece(
  parts: readonly Part[],
  range: ByteRange,
): OnlyPiece | undefined {
  return "suffixLength" in range
    ? lastPiece(parts, range.suffixLength)
    : pieceFrom(parts, range.offset, endOf(range));
}

function pieceFrom(
  parts: readonly Part[],
  start: number,
  end: number,
): OnlyPiece | undefined {
  if (start >= end) return undefined;
  const last = parts.length - 1;
  for (let i = 0, offset = 0; i <= last; offset += parts[i++]!.size!) {
    const part = parts[i]!;
    const { size = Infinity } = part;
    if (start >= offset + size) continue;
    if (end > offset + size && i < last) return undefined;
    const length = Math.min(end, offset + size) - start;
    const range = { offset: start - offset, length };
    // The last part may end within the range, which then ends with it.
    const least = part.size === undefined && i === last ? 0 : length;
    return { part, range, least };
  }
}

function lastPiece(
  parts: readonly Part[],
  suffixLength: number,
): OnlyPiece | undefined {
  if (suffixLength === 0) return undefined;
  const last = parts.findLastIndex(({ size }) => size !== 0);
  if (last < 0) return undefined;
  const part = parts[last]!;
  if (part.size === undefined) {
    const least = last === 0 ? 0 : suffixLength;
    return { part, range: { suffixLength }, least };
  }
  if (suffixLength > part.size && last > 0) return undefined;
  const length = Math.min(suffixLength, part.size);
  return { part, range: { offset: part.size - length, length }, least: length };
}
