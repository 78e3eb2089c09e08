import { assertChecksum, CHECKSUM_SIZE } from "../checksum/stored_checksum.ts";
import { describe } from "../metadata/describe.ts";
import { assertChunkSize } from "./chunk_size.ts";
import type { Settings } from "./settings.ts";
import type { OpenSplitter, Splitter } from "./splitter.ts";
import type { SplitReport } from "./stream_options.ts";

/** Starts a splitter for a chunk with these settings. */
export function startSplitter(
  { parts, chunkSize, isVerified }: Settings,
  open: OpenSplitter,
  isSplit: boolean,
): Splitter {
  return open({
    sizes: parts.map((part) => part.size),
    total: chunkSize,
    withheld: isVerified ? CHECKSUM_SIZE : 0,
    isSplit,
  });
}

/** Throws the error for the length of a chunk that a splitter has refused. */
export function refuseLength(
  { limits, key }: Settings,
  length: number,
  isWhole: boolean,
): void {
  for (const limit of limits) assertChunkSize(limit, key, length, isWhole);
}

/** Throws if the checksum at the end of a chunk, which is to be verified, is wrong. */
export function assertStoredChecksum(
  { isVerified, key }: Settings,
  splitter: Splitter,
): void {
  if (!isVerified) return;
  const chunk = key === "" ? "Chunk" : `Chunk ${describe(key)}`;
  const expected = splitter.storedChecksum();
  const actual = splitter.computedChecksum();
  assertChecksum({ expected, actual }, chunk, key);
}

/** Returns the lengths and the checksums that a splitter has counted and computed. */
export function reportOf(
  { parts, hasChecksums }: Settings,
  splitter: Splitter,
): SplitReport {
  const checksum = (crc32c: () => number) =>
    hasChecksums ? { crc32c: crc32c() } : {};
  const whole = checksum(() => splitter.checksum());
  let size = 0;
  const reports = parts.map(({ keySuffix }, part) => {
    const length = splitter.partLength(part);
    size += length;
    return {
      keySuffix,
      size: length,
      ...checksum(() => splitter.partChecksum(part)),
    };
  });
  return { size, ...whole, parts: reports };
}
