/**
 * One part of a chunk, as the metadata of `concat-parts` lists it.
 *
 * @example
 * ```ts
 * import type { Part } from "@zarr-parts/zarr-parts";
 *
 * const data: Part = { keySuffix: "" };
 * const index: Part = { keySuffix: ".index", size: 1604 };
 * ```
 */
export interface Part {
  /** The part key is the chunk key followed by this suffix, which may be empty. */
  readonly keySuffix: string;
  /**
   * The length of the part in bytes, from 0 to 2^53−1. A part without a size takes
   * the bytes that the other parts leave.
   */
  readonly size?: number | undefined;
}

/** Returns parts in the order in which they are stored: the unsized part, then the parts before and after it. */
export function storingOrder(parts: readonly Part[]): Part[] {
  const unsized = parts.filter((part) => part.size === undefined);
  return [...unsized, ...parts.filter((part) => part.size !== undefined)];
}
