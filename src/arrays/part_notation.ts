import { CHECKSUM_SIZE } from "../checksum/mod.ts";
import { describe, describeAll, MetadataError } from "../errors/mod.ts";
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
  const resolved = parts.map((part: string | Part, i): Part => {
    if (typeof part !== "string") return part;
    if (part.endsWith(INDEX)) {
      return { keySuffix: part, size: indexSize(part, i, parts, chunk) };
    }
    if (part.endsWith(CHECKSUM)) {
      assertChecksumPart(part, i, parts.length, chunk);
      return { keySuffix: part, size: CHECKSUM_SIZE };
    }
    return parsePart(part);
  });
  assertOneUnsized(resolved);
  assertRoomForChunks(parts);
  return resolved;
}

/** The endings of the parts that codecs determine. */
const [INDEX, CHECKSUM] = [".index", ".crc32c"] as const;

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

/** Returns the size of a part for the index of a shard, which must be where the index is. */
function indexSize(
  part: string,
  i: number,
  parts: readonly (string | Part)[],
  { shard }: ChunkLevel,
): number {
  const named = `Part ${describe(part)}`;
  if (shard === undefined) {
    const isOnly = parts.every((each) => each === "" || each === part);
    const needless = isOnly ? 'the option "parts"' : "that part";
    throw new RangeError(
      `${named} is for the index of a shard, and the array has no shards; leave out ${needless}, or give the array shards`,
    );
  }
  const { layout, after } = shard;
  const isStart = layout.indexLocation === "start";
  // Behind the shard there may be its checksum, and nothing else of a known length.
  if (!isStart && !areChecksums(after)) {
    throw new RangeError(
      `${named} cannot hold the index of a shard which other codecs encode again, ${
        describe(after.map(({ name }) => name))
      }`,
    );
  }
  const right = isStart ? 0 : parts.length - 1 - after.length;
  if (i === right) return shardIndexSize(layout);
  const before = after.length === 0 ? "" : ` before "${CHECKSUM}"`;
  const expected = isStart
    ? 'the first part, or indexLocation "end"'
    : `the last part${before}, or indexLocation "start"`;
  throw new RangeError(
    `${named} is number ${
      i + 1
    } of ${parts.length}, and the index is at the ${layout.indexLocation} of the shard; expected it as ${expected}`,
  );
}

function areChecksums(codecs: readonly { readonly name: string }[]): boolean {
  return codecs.every(({ name }) => name === "crc32c");
}

/** Refuses a part for the checksum of a chunk where the codecs write none. */
function assertChecksumPart(
  part: string,
  i: number,
  count: number,
  { codecs }: ChunkLevel,
): void {
  const last = codecs.at(-1)?.name;
  if (last === "crc32c" && i === count - 1) return;
  const named = `Part ${describe(part)} is`;
  if (last === "crc32c") {
    throw new RangeError(
      `${named} number ${
        i + 1
      } of ${count}, and the codec "crc32c" appends its checksum to the chunk; expected it as the last part`,
    );
  }
  const advice = last === "sharding_indexed"
    ? 'a shard\'s own checksum is the last 4 bytes of its index, in the part ".index"'
    : 'expected "crc32c" as the last one';
  throw new RangeError(
    `${named} for the checksum that the codec "crc32c" appends to a chunk, and the last codec is ${
      describe(last)
    }; ${advice}`,
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
  const names = parts.filter((part) => typeof part === "string");
  const isFull = names.length === parts.length &&
    names.every((name) => name.endsWith(INDEX) || name.endsWith(CHECKSUM));
  if (!isFull || !names.some((name) => name.endsWith(INDEX))) return;
  throw new RangeError(
    `${names.length === 1 ? "Part" : "Parts"} ${describeAll(names)} ${
      names.length === 1 ? "has" : "have"
    } no room for the inner chunks of a shard; expected a part without a size, such as ["", ".index"]`,
  );
}

/**
 * Refuses parts that cannot hold the index of a shard although they should: a part with a
 * size and a key suffix that ends in `.index`, if it does not lie where the index does or
 * has another size, and parts that together are shorter than the index. Any other division is
 * allowed, since `concat-parts` may divide a chunk anywhere.
 *
 * @throws {MetadataError} With the path of the size or of the list of parts.
 */
export function assertIndexPart({ metadata, parts, chunk }: ParsedArray): void {
  const dividing = (metadata.storage_transformers ?? []).flatMap((each, i) =>
    typeof each === "object" && each.name === "concat-parts" ? [i] : []
  );
  const { shard } = chunk;
  // Stacked transformers divide parts again, and other codecs move the index.
  if (dividing.length !== 1 || !shard || !areChecksums(shard.after)) return;
  const size = shardIndexSize(shard.layout);
  const sums = CHECKSUM_SIZE * shard.after.length;
  const isAtStart = shard.layout.indexLocation === "start";
  // The checksum of the index may lie in a part of its own.
  const ownSum = shard.layout.indexHasChecksum ? CHECKSUM_SIZE : 0;
  /** Whether a part begins or ends where the index does, or the record before it, which adopted files have. */
  const holdsIndex = (i: number, partSize: number) => {
    if (isAtStart) {
      return sizeTogether(parts.slice(0, i)) === 0 &&
        (partSize === size || partSize === size - ownSum);
    }
    const behind = sizeTogether(parts.slice(i + 1));
    return behind !== undefined && behind <= sums + ownSum &&
      behind % CHECKSUM_SIZE === 0 &&
      [0, FILE_RECORD_SIZE].includes(behind + partSize - size - sums);
  };
  const path = `/storage_transformers/${dividing[0]}/configuration/parts`;
  const sum = sizeTogether(parts);
  if (sum !== undefined && sum < size + sums) {
    throw new MetadataError(
      `The parts hold ${sum} bytes, where the index of a shard alone takes ${
        size + sums
      }; expected larger parts, or one without a size`,
      path,
    );
  }
  for (const [i, { keySuffix, size: partSize }] of parts.entries()) {
    const isIndex = partSize !== undefined && keySuffix.endsWith(INDEX);
    if (!isIndex || holdsIndex(i, partSize)) continue;
    const before = sums > 0 ? ` before ${sums} bytes of checksums` : "";
    const expected = isAtStart ? "first" : `last${before}`;
    throw new MetadataError(
      `Part ${describe(keySuffix)} is number ${
        i + 1
      } of ${parts.length} and holds ${partSize} bytes, where the index of a shard takes ${size} bytes at its ${shard.layout.indexLocation}; expected it as the ${expected} part with that size`,
      `${path}/${i}/size`,
    );
  }
}
