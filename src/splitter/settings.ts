import { CHECKSUM_SIZE } from "../checksum/stored_checksum.ts";
import { describe } from "../metadata/describe.ts";
import { assertChunkSize, type ChunkSizes } from "./chunk_size.ts";
import type { Part } from "./part.ts";
import type { SplitOptions } from "./stream_options.ts";

const MODES = ["none", "compute", "verify"];

const ROOM_FOR_CHECKSUM: ChunkSizes = {
  least: CHECKSUM_SIZE,
  most: Infinity,
  reason: `the checksum at its end takes ${CHECKSUM_SIZE}`,
};

/** The options of splitting and joining, checked, with their defaults. */
export interface Settings {
  readonly parts: readonly Part[];
  /** The lengths that the chunk may have. */
  readonly limits: readonly ChunkSizes[];
  readonly chunkSize: number | undefined;
  /** Whether CRC32Cs are computed. */
  readonly hasChecksums: boolean;
  /** Whether the last four bytes must be the CRC32C of those before. */
  readonly isVerified: boolean;
  /** The key of the chunk; may be empty. */
  readonly key: string;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: ((size: number) => void) | undefined;
}

/**
 * Checks options.
 *
 * @param limits What the parts ask of the chunk's length.
 * @throws {RangeError} If an option is outside its range.
 * @throws {PartSizeError} If the limits do not allow `chunkSize`.
 */
export function settingsOf(
  parts: readonly Part[],
  limits: readonly ChunkSizes[],
  options: SplitOptions,
): Settings {
  const { crc32c = "none", chunkSize, key = "", signal, onProgress } = options;
  if (!MODES.includes(crc32c)) {
    throw new RangeError(
      `Expected crc32c to be "none", "compute" or "verify", found ${
        describe(crc32c)
      }`,
    );
  }
  const isVerified = crc32c === "verify";
  const all = [...limits];
  if (chunkSize !== undefined) {
    const declared = declaredSize(chunkSize);
    for (const limit of limits) assertChunkSize(limit, key, chunkSize);
    all.push(declared);
  }
  if (isVerified) all.push(ROOM_FOR_CHECKSUM);
  return {
    parts,
    limits: all,
    chunkSize,
    hasChecksums: crc32c !== "none",
    isVerified,
    key,
    signal,
    onProgress,
  };
}

/**
 * Returns limits that allow one length only, the option `chunkSize`.
 *
 * @throws {RangeError} If `chunkSize` is not a whole number from 0 to 2^53−1.
 */
function declaredSize(chunkSize: number): ChunkSizes {
  if (!Number.isSafeInteger(chunkSize) || chunkSize < 0) {
    throw new RangeError(
      `Expected chunkSize to be a whole number of bytes from 0 to 2^53−1, found ${
        describe(chunkSize)
      }`,
    );
  }
  const reason = `chunkSize says ${chunkSize}`;
  return { least: chunkSize, most: chunkSize, reason };
}
