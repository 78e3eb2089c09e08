import type { NamedConfiguration } from "../metadata/array_metadata.ts";
import { describe } from "../metadata/describe.ts";
import { below, MetadataError } from "../metadata/metadata_error.ts";
import { parseShardLayout } from "../shards/shard_layout.ts";
import { FILE_RECORD_SIZE } from "../shards/file_record.ts";
import { shardIndexSize } from "../shards/shard_index.ts";
import type { Part } from "../splitter/part.ts";
import type { ArrayStorage } from "./array_storage.ts";

const CHECKSUM_SIZE = 4;

/**
 * Refuses parts that cannot hold the index of a shard although they should: a sized
 * part whose key suffix ends in `.index` and that lies elsewhere or has another size,
 * and parts that are shorter than the index all together. Any other division is left
 * alone, since `concat-parts` may divide a chunk anywhere.
 *
 * @param storage The array's storage.
 * @param codecs The array's codecs, written out.
 * @throws {MetadataError} With the place of the size or of the list of parts.
 */
export function assertIndexPart(
  { transformers, chunkShape }: ArrayStorage,
  codecs: readonly NamedConfiguration[],
): void {
  const [sharding, ...after] = codecs;
  const [parts, ...inner] = transformers.filter((each) => each !== undefined);
  // Stacked transformers divide parts again, and other codecs move the index.
  const isFound = sharding?.name === "sharding_indexed" &&
    inner.length === 0 &&
    after.every(({ name }) => name === "crc32c");
  if (!isFound || parts === undefined) return;
  const layout = parseShardLayout(sharding, chunkShape);
  const index: IndexPlace = {
    size: shardIndexSize(layout),
    isAtStart: layout.indexLocation === "start",
    checksumsAfter: after.length,
    hasChecksum: layout.indexHasChecksum,
  };
  const at = transformers.indexOf(parts);
  below(`/storage_transformers/${at}/configuration/parts`, () => {
    assertLongEnough(parts, index);
    parts.forEach((part, i) => {
      if (part.size === undefined || !part.keySuffix.endsWith(".index")) return;
      assertHolds(parts, i, index);
    });
  });
}

/** The place of the index in a chunk. */
interface IndexPlace {
  /** The size of the index in bytes. */
  readonly size: number;
  readonly isAtStart: boolean;
  /** The number of checksums that codecs append to the shard. */
  readonly checksumsAfter: number;
  /** Whether the index ends with its own checksum. */
  readonly hasChecksum: boolean;
}

function assertLongEnough(
  parts: readonly Part[],
  { size, checksumsAfter }: IndexPlace,
): void {
  const sum = sumOf(parts);
  const least = size + CHECKSUM_SIZE * checksumsAfter;
  if (sum === undefined || sum >= least) return;
  throw new MetadataError(
    `The parts hold ${sum} bytes, where the index of a shard alone takes ${least}; expected larger parts, or one without a size`,
  );
}

/** Refuses a part that does not hold the whole index, with or without checksums. */
function assertHolds(
  parts: readonly Part[],
  i: number,
  { size, isAtStart, checksumsAfter, hasChecksum }: IndexPlace,
): void {
  const { keySuffix, size: partSize } = parts[i]!;
  const between = sumOf(isAtStart ? parts.slice(0, i) : parts.slice(i + 1));
  const checksums = isAtStart ? 0 : CHECKSUM_SIZE * checksumsAfter;
  const own = hasChecksum ? CHECKSUM_SIZE : 0;
  // The part ends, or starts, where the entries of the index do. Adopted files have a
  // record before them.
  const isHeld = between !== undefined &&
    (isAtStart
      ? between === 0 && (partSize === size || partSize === size - own)
      : between <= checksums + own && between % CHECKSUM_SIZE === 0 &&
        [0, FILE_RECORD_SIZE].some((record) =>
          between + partSize! === size + checksums + record
        ));
  if (isHeld) return;
  const place = isAtStart
    ? "first"
    : checksums > 0
    ? `last before ${checksums} bytes of checksums`
    : "last";
  throw new MetadataError(
    `Part ${describe(keySuffix)} is number ${
      i + 1
    } of ${parts.length} and holds ${partSize} bytes, where the index of a shard takes ${size} bytes at its ${
      isAtStart ? "start" : "end"
    }; expected it as the ${place} part with that size`,
    `/${i}/size`,
  );
}

/** The size of parts together, or `undefined` if one has no size. */
function sumOf(parts: readonly Part[]): number | undefined {
  return parts.reduce<number | undefined>(
    (sum, { size }) =>
      sum === undefined || size === undefined ? undefined : sum + size,
    0,
  );
}
