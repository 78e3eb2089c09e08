/**
 * One stored piece of a chunk, as `concat-parts` metadata lists them.
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
  /** What follows the chunk key in the part's key; empty for the chunk key itself. */
  readonly keySuffix: string;
  /**
   * The part's length in bytes, from 0 to 2^53−1. The part without one takes
   * what the others leave.
   */
  readonly size?: number | undefined;
}

/** Parts in the order in which they are stored: the unsized one, then those before and after it. */
export function storingOrder(parts: readonly Part[]): Part[] {
  const unsized = parts.filter((part) => part.size === undefined);
  return [...unsized, ...parts.filter((part) => part.size !== undefined)];
}
