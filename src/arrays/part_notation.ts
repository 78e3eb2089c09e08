import { CHECKSUM_SIZE } from "../checksum/mod.ts";
import { below, describe, describeAll, MetadataError } from "../errors/mod.ts";
import type { NamedConfiguration } from "../metadata/mod.ts";
import {
  FILE_RECORD_SIZE,
  parseShardLayout,
  shardIndexSize,
} from "../shards/mod.ts";
import type { Part } from "../splitter/mod.ts";
import { type ArrayStorage, sizeTogether } from "./array_storage.ts";

/**
 * Resolves parts in short notation: `".header:64"` is a part of 64 bytes,
 * `".index"` the shard index, `".crc32c"` the checksum that the codec `crc32c`
 * appends, and any other text the key suffix of the part without a size.
 *
 * @param parts Parts in either form.
 * @param codecs The array's codecs, written out.
 * @param chunkShape The shape of a stored chunk; of a shard if the array has shards.
 * @throws {TypeError} If a part is neither a string nor an object.
 * @throws {RangeError} If `.index` or `.crc32c` is not where the codecs write the
 * index or the checksum, or more than one part has no size.
 */
export function resolveParts(
  parts: readonly (string | Part)[],
  codecs: readonly NamedConfiguration[],
  chunkShape: readonly number[],
): Part[] {
  if (!Array.isArray(parts)) {
    throw new TypeError(
      `Expected parts to be a list, such as [".header:64", "", ".index"], found ${
        describe(parts)
      }`,
    );
  }
  const resolved = parts.map((part: string | Part, place): Part => {
    if (typeof part !== "string") return part;
    if (part.endsWith(".index")) {
      const size = indexSize(part, place, parts, codecs, chunkShape);
      return { keySuffix: part, size };
    }
    if (part.endsWith(".crc32c")) {
      assertChecksumPart(part, place, parts.length, codecs);
      return { keySuffix: part, size: CHECKSUM_SIZE };
    }
    return parsePart(part);
  });
  assertOneUnsized(resolved);
  assertRest(parts);
  return resolved;
}

/** Refuses parts that leave no room for anything but an index and a checksum. */
function assertRest(parts: readonly (string | Part)[]): void {
  const isIndex = (part: string | Part | undefined) =>
    typeof part === "string" && part.endsWith(".index");
  const isChecksum = (part: string | Part) =>
    typeof part === "string" && part.endsWith(".crc32c");
  const hasRest = parts.some((part) => !isIndex(part) && !isChecksum(part));
  if (hasRest || !parts.some(isIndex)) return;
  throw new RangeError(
    `${parts.length === 1 ? "Part" : "Parts"} ${
      describeAll(parts as string[])
    } ${
      parts.length === 1 ? "has" : "have"
    } no room for the inner chunks of a shard; expected a part without a size, such as ["", ".index"]`,
  );
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

function indexSize(
  part: string,
  place: number,
  parts: readonly (string | Part)[],
  codecs: readonly NamedConfiguration[],
  chunkShape: readonly number[],
): number {
  const [sharding, ...others] = codecs;
  if (sharding?.name !== "sharding_indexed") {
    throw new RangeError(
      `Part ${
        describe(part)
      } is for the index of a shard, and the array has no shards; leave out ${
        parts.every((each) => each === "" || each === part)
          ? 'the option "parts"'
          : "that part"
      }, or give a shardShape`,
    );
  }
  const layout = parseShardLayout(sharding, chunkShape);
  const isStart = layout.indexLocation === "start";
  // Behind the shard there may be its checksum, and nothing else of a known length.
  const after = others.every(({ name }) => name === "crc32c")
    ? others.length
    : Infinity;
  const expected = isStart ? 0 : parts.length - 1 - after;
  if (place === expected) return shardIndexSize(layout);
  throw new RangeError(
    after === Infinity
      ? `Part ${
        describe(part)
      } cannot hold the index of a shard which other codecs encode again, ${
        describe(others.map(({ name }) => name))
      }`
      : `Part ${describe(part)} is number ${
        place + 1
      } of ${parts.length}, and the index is at the ${layout.indexLocation} of the shard; expected it as ${
        isStart
          ? "the first part"
          : after === 0
          ? "the last part"
          : 'the last part before ".crc32c"'
      }, or indexLocation ${describe(isStart ? "end" : "start")}`,
  );
}

function assertChecksumPart(
  part: string,
  place: number,
  count: number,
  codecs: readonly NamedConfiguration[],
): void {
  const last = codecs.at(-1)?.name;
  if (last !== "crc32c") {
    throw new RangeError(
      `Part ${
        describe(part)
      } is for the checksum that the codec "crc32c" appends to a chunk, and the last codec is ${
        describe(last)
      }; ${
        last === "sharding_indexed"
          ? 'a shard\'s own checksum is the last 4 bytes of its index, in the part ".index"'
          : 'expected "crc32c" as the last one'
      }`,
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
  const unsized = parts.filter((part) =>
    typeof part?.keySuffix === "string" && part.size === undefined
  );
  const [first, second] = unsized;
  if (second === undefined) return;
  if (first!.keySuffix === second.keySuffix) {
    throw new RangeError(
      `Expected parts with different key suffixes, found ${
        describe(second.keySuffix)
      } twice`,
    );
  }
  throw new RangeError(
    `Parts ${describe(first!.keySuffix)} and ${
      describe(second.keySuffix)
    } have no size, where one part at most may have none; give a size in bytes, such as ${
      describe(`${first!.keySuffix || second.keySuffix}:64`)
    }`,
  );
}

/**
 * Refuses parts that cannot hold the index of a shard although they should: a part with a
 * size and a key suffix that ends in `.index`, if its place or its size is not that of the
 * index, and parts that together are shorter than the index. Any other division is allowed,
 * since `concat-parts` may divide a chunk anywhere.
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
  const isKnown = sharding?.name === "sharding_indexed" &&
    inner.length === 0 &&
    after.every(({ name }) => name === "crc32c");
  if (!isKnown || parts === undefined) return;
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
  const sum = sizeTogether(parts);
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
  const between = sizeTogether(
    isAtStart ? parts.slice(0, i) : parts.slice(i + 1),
  );
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
