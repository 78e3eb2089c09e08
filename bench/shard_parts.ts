import { ConcatParts } from "../src/concat_parts/concat_parts.ts";

/** A shard with a header before its inner chunks, and the index of 100 of them behind. */
export const PARTS = new ConcatParts([
  { keySuffix: ".header", size: 64 },
  { keySuffix: "" },
  { keySuffix: ".index", size: 1604 },
]);

/** The sizes of the parts of a shard. */
export function partSizes(shard: number): number[] {
  const sized = PARTS.parts.map(({ size }) => size ?? 0);
  const rest = shard - sized.reduce((sum, size) => sum + size);
  return PARTS.parts.map(({ size }) => size ?? rest);
}
