/** The description of a chunk with which a {@linkcode Splitter} starts. */
export interface ChunkPlan {
  /** The sizes of the parts in bytes, in their order; `undefined` for a part without one. */
  readonly sizes: readonly (number | undefined)[];
  /** The length of the chunk in bytes, if it is known. */
  readonly total: number | undefined;
  /** How many of the last bytes are held back until the chunk is checked: 4 for a checksum, or 0. */
  readonly withheld: number;
  /** Whether the chunk is cut into its parts, not joined from them. */
  readonly isSplit: boolean;
}

/**
 * Splits one chunk into its parts, or joins it from them, for a caller that moves
 * the bytes. The caller says which bytes have come; the splitter counts them,
 * decides which of them may go on, where the parts begin and end, and which bytes
 * are held back, and computes checksums.
 *
 * Bytes come in one of two ways: read into `window()`, or as a piece in foreign
 * memory. Of a piece, only bytes that are held back or summed up are copied.
 */
export interface Splitter {
  /**
   * Returns memory into which the next bytes of the chunk are read, at least
   * 64 KiB. Bytes read there stay as they are until three more full windows have
   * been returned, so that they can be summed up and written while others are read.
   */
  window(): Uint8Array;

  /**
   * Takes bytes of a chunk that is split, and cuts those that may go on.
   *
   * @param bytes The next bytes: the start of `window()`, or a piece in other memory.
   * @returns `false` if the chunk is too long with these bytes.
   */
  take(bytes: Uint8Array): boolean;
  /** Takes the end of a chunk that is split, and cuts the held bytes; `false` if bytes are missing. */
  finish(): boolean;
  /** The first and the last of the parts to which `take` or `finish` cut bytes. */
  readonly firstPart: number;
  readonly lastPart: number;
  /** How many bytes were cut for a part from `firstPart` to `lastPart`. */
  cutLength(part: number): number;
  /**
   * The bytes that were cut and lie in the splitter's memory. They come before those
   * that were cut from a piece in other memory.
   */
  cutInMemory(): Uint8Array;
  /**
   * Holds back the last bytes of a piece, which were not cut yet. Bytes in a window stay
   * where they are, other bytes are copied, and what `cutInMemory` returned before is
   * no longer valid.
   */
  keep(bytes: Uint8Array): void;

  /**
   * Counts bytes of the present part of a chunk that is joined.
   *
   * @param bytes As for `take`.
   * @returns 0, or 1 if the part is too long with these bytes, or 2 if the chunk is.
   */
  takePart(bytes: Uint8Array): number;
  /** Ends the present part, and goes on with the next one; `false` if bytes are missing. */
  endPart(): boolean;
  /** Ends a chunk that is joined; `false` if bytes are missing. */
  endChunk(): boolean;
  /** How many bytes of a chunk that is joined may go on, counted from its start. */
  passable(): number;

  /** Adds bytes that go on to the checksums. Must be called for all of them, in their order. */
  sum(bytes: Uint8Array): void;
  /** The CRC32C of the whole chunk. */
  checksum(): number;
  /** The checksum that the last four bytes of the chunk hold. */
  storedChecksum(): number;
  /** The CRC32C of the bytes before the last four. */
  computedChecksum(): number;

  /** The length of a part so far, in bytes. */
  partLength(part: number): number;
  /** The CRC32C of a part, once `checksum` has been called. */
  partChecksum(part: number): number;

  /** Gives the memory back. Neither the splitter nor its memory may be used afterwards. */
  release(): void;
}

/** An engine: starts a splitter for a chunk. */
export type OpenSplitter = (plan: ChunkPlan) => Splitter;

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
