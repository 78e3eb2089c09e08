import { CHECKSUM_SIZE } from "../checksum/mod.ts";
import { below, describe, describeAll, MetadataError } from "../errors/mod.ts";
import { FILE_RECORD_SIZE, shardIndexSize } from "../shards/mod.ts";
import type { Part } from "../splitter/mod.ts";
import {
  type ChunkLevel,
  type ParsedArray,
  sizeTogether,
} from "./parsed_array.ts";

/**
 * Resolves parts in short notation: `".header:64"` is a part of 64 bytes,
 * `".index"` the shard index, `".crc32c"` the checksum that the codec `crc32c`
 * appends, and any other text the key suffix of the part without a size.
 *
 * @param parts Parts in either form.
 * @param chunk How the array's chunks are encoded.
 * @throws {TypeError} If a part is neither a string nor an object.
 * @throws {RangeError} If `.index` or `.crc32c` is not where the codecs write the
 * index or the checksum, or more than one part has no size.
 */
export function resolveParts(
  parts: readonly (string | Part)[],
  chunk: ChunkLevel,
): Part[] {
  if (!Array.isArray(parts)) {
    throw new TypeError(
      `Expected parts to be a list, such as [".header:64", "", ".index"], found ${
        describe(parts)
      }`,
    );
  }
  const resolved = parts.map((part: string | Part, place): Part => {
    if (isIndex(part)) {
      assertIndexPlace(part, place, parts, chunk);
      return { keySuffix: part, size: shardIndexSize(chunk.shard!.layout) };
    }
    if (isChecksum(part)) {
      assertChecksumPlace(part, place, parts.length, chunk);
      return { keySuffix: part, size: CHECKSUM_SIZE };
    }
    return typeof part === "string" ? parsePart(part) : part;
  });
  assertOneUnsized(resolved);
  assertRoomForChunks(parts);
  return resolved;
}

/** Whether a part is the index of a shard, in short notation. */
function isIndex(part: string | Part): part is string {
  return typeof part === "string" && part.endsWith(".index");
}

/** Whether a part is the checksum of a chunk, in short notation. */
function isChecksum(part: string | Part): part is string {
  return typeof part === "string" && part.endsWith(".crc32c");
}

function parsePart(text: string): Part {
  const colon = text.lastIndexOf(":");
  if (colon < 0) return { keySuffix: text };
  const [keySuffix, digits] = [text.slice(0, colon), text.slice(colon + 1)];
  if (/^\d+$/.test(digits)) return { keySuffix, size: Number(digits) };
  throw new RangeError(
    `Expected a size in bytes after the colon of the part ${
      describe(text)
    }, such as ${describe(`${keySuffix}:64`)}, found ${describe(digits)}`,
  );
}

/** Refuses a part for the index of a shard at another place than that of the index. */
function assertIndexPlace(
  part: string,
  place: number,
  parts: readonly (string | Part)[],
  { shard }: ChunkLevel,
): void {
  const named = `Part ${describe(part)}`;
  if (shard === undefined) {
    const isOnly = parts.every((each) => each === "" || each === part);
    const needless = isOnly ? 'the option "parts"' : "that part";
    throw new RangeError(
      `${named} is for the index of a shard, and the array has no shards; leave out ${needless}, or give the array shards`,
    );
  }
  const { layout: { indexLocation }, after } = shard;
  // Behind the shard there may be its checksum, and nothing else of a known length.
  if (indexLocation === "end" && !areChecksums(after)) {
    throw new RangeError(
      `${named} cannot hold the index of a shard which other codecs encode again, ${
        describe(after.map(({ name }) => name))
      }`,
    );
  }
  const isStart = indexLocation === "start";
  if (place === (isStart ? 0 : parts.length - 1 - after.length)) return;
  const last = after.length === 0
    ? "the last part"
    : 'the last part before ".crc32c"';
  throw new RangeError(
    `${named} is number ${
      place + 1
    } of ${parts.length}, and the index is at the ${indexLocation} of the shard; expected it as ${
      isStart ? "the first part" : last
    }, or indexLocation ${describe(isStart ? "end" : "start")}`,
  );
}

function areChecksums(codecs: readonly { readonly name: string }[]): boolean {
  return codecs.every(({ name }) => name === "crc32c");
}

/** Refuses a part for the checksum of a chunk where the codecs write none. */
function assertChecksumPlace(
  part: string,
  place: number,
  count: number,
  { codecs }: ChunkLevel,
): void {
  const last = codecs.at(-1)?.name;
  if (last !== "crc32c") {
    const advice = last === "sharding_indexed"
      ? 'a shard\'s own checksum is the last 4 bytes of its index, in the part ".index"'
      : 'expected "crc32c" as the last one';
    throw new RangeError(
      `Part ${
        describe(part)
      } is for the checksum that the codec "crc32c" appends to a chunk, and the last codec is ${
        describe(last)
      }; ${advice}`,
    );
  }
  if (place === count - 1) return;
  throw new RangeError(
    `Part ${describe(part)} is number ${
      place + 1
    } of ${count}, and the codec "crc32c" appends its checksum to the chunk; expected it as the last part`,
  );
}

function assertOneUnsized(parts: readonly Part[]): void {
  const [first, second] = parts
    .filter((part) =>
      typeof part?.keySuffix === "string" && part.size === undefined
    )
    .map(({ keySuffix }) => keySuffix);
  if (first === undefined || second === undefined) return;
  if (first === second) {
    throw new RangeError(
      `Expected parts with different key suffixes, found ${
        describe(second)
      } twice`,
    );
  }
  throw new RangeError(
    `Parts ${describe(first)} and ${
      describe(second)
    } have no size, where one part at most may have none; give a size in bytes, such as ${
      describe(`${first || second}:64`)
    }`,
  );
}

/** Refuses parts that leave no room for anything but an index and a checksum. */
function assertRoomForChunks(parts: readonly (string | Part)[]): void {
  const isFull = parts.every((part) => isIndex(part) || isChecksum(part));
  if (!isFull || !parts.some(isIndex)) return;
  const subject = parts.length === 1 ? "Part" : "Parts";
  const verb = parts.length === 1 ? "has" : "have";
  throw new RangeError(
    `${subject} ${
      describeAll(parts as string[])
    } ${verb} no room for the inner chunks of a shard; expected a part without a size, such as ["", ".index"]`,
  );
}

/**
 * Refuses parts that cannot hold the index of a shard although they should: a part with a
 * size and a key suffix that ends in `.index`, if its place or its size is not that of the
 * index, and parts that together are shorter than the index. Any other division is allowed,
 * since `concat-parts` may divide a chunk anywhere.
 *
 * @throws {MetadataError} With the place of the size or of the list of parts.
 */
export function assertIndexPart({ metadata, parts, chunk }: ParsedArray): void {
  const places = (metadata.storage_transformers ?? []).flatMap((each, i) =>
    typeof each === "object" && each.name === "concat-parts" ? [i] : []
  );
  const { shard } = chunk;
  // Stacked transformers divide parts again, and other codecs move the index.
  if (places.length !== 1 || !shard || !areChecksums(shard.after)) return;
  const index: IndexPlace = {
    size: shardIndexSize(shard.layout),
    isAtStart: shard.layout.indexLocation === "start",
    checksumsAfter: CHECKSUM_SIZE * shard.after.length,
    ownChecksum: shard.layout.indexHasChecksum ? CHECKSUM_SIZE : 0,
  };
  below(`/storage_transformers/${places[0]}/configuration/parts`, () => {
    assertLongEnough(parts, index);
    for (const [i, { keySuffix, size }] of parts.entries()) {
      if (size === undefined || !keySuffix.endsWith(".index")) continue;
      assertHolds(parts, i, index);
    }
  });
}

/** The place of the index in a chunk. All sizes are in bytes. */
interface IndexPlace {
  readonly size: number;
  readonly isAtStart: boolean;
  /** The size of the checksums that codecs append to the shard. */
  readonly checksumsAfter: number;
  /** The size of the checksum at the end of the index. */
  readonly ownChecksum: number;
}

function assertLongEnough(
  parts: readonly Part[],
  { size, checksumsAfter }: IndexPlace,
): void {
  const sum = sizeTogether(parts);
  const least = size + checksumsAfter;
  if (sum === undefined || sum >= least) return;
  throw new MetadataError(
    `The parts hold ${sum} bytes, where the index of a shard alone takes ${least}; expected larger parts, or one without a size`,
  );
}

/** Refuses a part that does not hold the whole index, with or without checksums. */
function assertHolds(
  parts: readonly Part[],
  i: number,
  index: IndexPlace,
): void {
  const { size, isAtStart, checksumsAfter } = index;
  const { keySuffix, size: partSize } = parts[i]!;
  const isHeld = isAtStart
    ? holdsFirst(partSize!, sizeTogether(parts.slice(0, i)), index)
    : holdsLast(partSize!, sizeTogether(parts.slice(i + 1)), index);
  if (isHeld) return;
  const end = checksumsAfter > 0
    ? `last before ${checksumsAfter} bytes of checksums`
    : "last";
  throw new MetadataError(
    `Part ${describe(keySuffix)} is number ${
      i + 1
    } of ${parts.length} and holds ${partSize} bytes, where the index of a shard takes ${size} bytes at its ${
      isAtStart ? "start" : "end"
    }; expected it as the ${isAtStart ? "first" : end} part with that size`,
    `/${i}/size`,
  );
}

/** Whether a part ends where the entries of an index at the start of shards do, or its checksum. */
function holdsFirst(
  partSize: number,
  sizeBefore: number | undefined,
  { size, ownChecksum }: IndexPlace,
): boolean {
  return sizeBefore === 0 &&
    (partSize === size || partSize === size - ownChecksum);
}

/**
 * Whether a part starts where an index at the end of shards does, or the record before it,
 * which adopted files have. The checksums may lie in parts of their own.
 */
function holdsLast(
  partSize: number,
  sizeAfter: number | undefined,
  { size, checksumsAfter, ownChecksum }: IndexPlace,
): boolean {
  if (sizeAfter === undefined) return false;
  return sizeAfter <= checksumsAfter + ownChecksum &&
    sizeAfter % CHECKSUM_SIZE === 0 &&
    [0, FILE_RECORD_SIZE].some((record) =>
      sizeAfter + partSize === size + checksumsAfter + record
    );
}
