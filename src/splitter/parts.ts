import { describe, describeAll, PartSizeError } from "../errors/mod.ts";

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

/** Returns parts in the order in which they are stored: the unsized part first, then the others. */
export function storingOrder(parts: readonly Part[]): Part[] {
  const unsized = parts.filter((part) => part.size === undefined);
  return [...unsized, ...parts.filter((part) => part.size !== undefined)];
}

/** The least and the greatest number of bytes that a chunk may have, and the reason for messages. */
export interface ChunkSizes {
  readonly least: number;
  readonly most: number;
  readonly reason: string;
}

/**
 * Returns the lengths that the sizes of parts allow.
 *
 * @throws {TypeError} If more than one part lacks a size.
 */
export function chunkSizes(parts: readonly Part[]): ChunkSizes {
  const unsized = parts.filter((part) => part.size === undefined);
  if (unsized.length > 1) {
    throw new TypeError(
      `Cannot tell where the parts ${
        describeAll(unsized.map((part) => part.keySuffix))
      } begin: to write, at most one part may lack a size`,
    );
  }
  const least = parts.reduce((sum, part) => sum + (part.size ?? 0), 0);
  const most = unsized.length === 0 ? least : Infinity;
  const wanted = `${most === least ? "exactly" : "at least"} ${least}`;
  return { least, most, reason: `its sized parts take ${wanted}` };
}

/**
 * Throws if limits do not allow the length of a chunk.
 *
 * @param key The key of the chunk, for the message; may be empty.
 * @param isWhole Whether the chunk ends here. If not, the length may be too small.
 * @throws {PartSizeError} If the length is too large or too small.
 */
export function assertChunkSize(
  { least, most, reason }: ChunkSizes,
  key: string,
  actual: number,
  isWhole = true,
): void {
  if (actual <= most && (actual >= least || !isWhole)) return;
  const chunk = key === "" ? "Chunk" : `Chunk ${describe(key)}`;
  const found = isWhole ? actual : `at least ${actual}`;
  throw new PartSizeError(`${chunk} is ${found} bytes long, where ${reason}`, {
    key,
    expected: actual > most ? most : least,
    actual,
  });
}
