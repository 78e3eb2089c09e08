import { flattenLayers } from "../concat_parts/flat_parts.ts";
import type { Part } from "../splitter/part.ts";

/** The part of a chunk that has no size. */
export interface UnsizedPart {
  readonly keySuffix: string;
  /** Where the part begins in the chunk: the size of all head parts in bytes. */
  readonly offset: number;
  /** The size of all parts after it in bytes; `undefined` if one of them has no size. */
  readonly tailSize: number | undefined;
}

/**
 * Finds the first unsized part of a chunk; `undefined` if every part has a size, or if
 * the chunk lies in parts whose sizes are known only together.
 *
 * @param layers The parts of a chunk, those of each part, and so on.
 */
export function unsizedPart(
  layers: readonly (readonly Part[])[],
): UnsizedPart | undefined {
  const { parts, sums } = flattenLayers(layers);
  const place = parts.findIndex(({ size }) => size === undefined);
  if (place < 0 || sums.length > 0) return undefined;
  const { keySuffix } = parts[place]!;
  const offset = sizeOf(parts.slice(0, place))!;
  return { keySuffix, offset, tailSize: sizeOf(parts.slice(place + 1)) };
}

/** The size of parts together; `undefined` if one of them has no size. */
function sizeOf(parts: readonly Part[]): number | undefined {
  return parts.reduce<number | undefined>(
    (sum, { size }) =>
      size === undefined || sum === undefined ? undefined : sum + size,
    0,
  );
}
