import { CHECKSUM_SIZE } from "../checksum/mod.ts";
import { sizeTogether } from "../concat_parts/mod.ts";
import { describe, MetadataError, sentence } from "../errors/mod.ts";
import { FILE_RECORD_SIZE, shardIndexSize } from "../shards/mod.ts";
import type { Part } from "../splitter/mod.ts";
import type { ChunkLevel, ParsedArray, ShardLevel } from "./parsed_array.ts";

/** The endings of the parts that codecs determine. */
const [INDEX, CHECKSUM] = [".index", ".crc32c"] as const;

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
      sentence`Expected parts to be a list, such as [".header:64", "", ".index"], found ${parts}`,
    );
  }
  const resolved = parts.map((part: string | Part, i): Part => {
    if (typeof part !== "string") return part;
    if (part.endsWith(INDEX)) {
      return { keySuffix: part, size: indexSize(part, chunk) };
    }
    if (part.endsWith(CHECKSUM)) {
      assertChecksumPart(part, i === parts.length - 1, chunk);
      return { keySuffix: part, size: CHECKSUM_SIZE };
    }
    return parsePart(part);
  });
  assertOneUnsized(resolved);
  for (const [i, part] of parts.entries()) {
    const isIndex = typeof part === "string" && part.endsWith(INDEX);
    const problem = isIndex && indexProblem(resolved, i, chunk.shard!);
    if (problem) throw new RangeError(problem);
  }
  const { shard } = chunk;
  const isFull = shard !== undefined &&
    sizeTogether(resolved) === leastSize(shard);
  if (!isFull) return resolved;
  throw new RangeError(
    sentence`Parts ${parts} have no room for the inner chunks of a shard; expected a part without a size, such as ["", ".index"]`,
  );
}

function parsePart(text: string): Part {
  const colon = text.lastIndexOf(":");
  if (colon < 0) return { keySuffix: text };
  const [keySuffix, digits] = [text.slice(0, colon), text.slice(colon + 1)];
  if (/^\d+$/.test(digits)) return { keySuffix, size: Number(digits) };
  const example = `${keySuffix}:64`;
  throw new RangeError(
    sentence`Expected a size in bytes after the colon of the part ${text}, such as ${example}, found ${digits}`,
  );
}

/** Returns the size of a part for the index of a shard. */
function indexSize(part: string, { shard }: ChunkLevel): number {
  if (shard === undefined) {
    throw new RangeError(
      sentence`Part ${part} is for the index of a shard, and the array has no shards; leave out that part, or give the array shards`,
    );
  }
  const { layout, after } = shard;
  if (layout.indexLocation === "start" || areChecksums(shard)) {
    return shardIndexSize(layout);
  }
  throw new RangeError(
    sentence`Part ${part} cannot hold the index of a shard which other codecs encode again, ${
      after.map(({ name }) => name)
    }`,
  );
}

/** Whether shards are encoded by nothing that moves their index: there may be checksums behind them. */
function areChecksums({ after }: ShardLevel): boolean {
  return after.every(({ name }) => name === "crc32c");
}

/** The size of a shard without inner chunks. */
function leastSize({ layout, after }: ShardLevel): number {
  return shardIndexSize(layout) + CHECKSUM_SIZE * after.length;
}

/** Says what is wrong with a part that should hold the index of a shard; `undefined` if it does. */
function indexProblem(
  parts: readonly Part[],
  i: number,
  shard: ShardLevel,
): string | undefined {
  const { indexLocation, indexHasChecksum } = shard.layout;
  const { keySuffix, size: partSize } = parts[i]!;
  const size = shardIndexSize(shard.layout);
  const sums = leastSize(shard) - size;
  const isAtStart = indexLocation === "start";
  // The checksum of the index may lie in a part of its own.
  const sizes = indexHasChecksum ? [size, size - CHECKSUM_SIZE] : [size];
  const others = isAtStart ? parts.slice(0, i) : parts.slice(i + 1);
  const beyond = sizeTogether(others) ?? Infinity;
  const isIndex = isAtStart
    ? beyond === 0 && sizes.includes(partSize!)
    // The record before the index, which adopted files have, belongs to its part.
    : beyond <= leastSize(shard) - Math.min(...sizes) &&
      beyond % CHECKSUM_SIZE === 0 &&
      [0, FILE_RECORD_SIZE].includes(beyond + partSize! - leastSize(shard));
  if (isIndex) return undefined;
  const before = sums > 0 ? ` before ${sums} bytes of checksums` : "";
  const expected = isAtStart ? "first" : `last${before}`;
  return `Part ${describe(keySuffix)} is number ${
    i + 1
  } of ${parts.length} and holds ${partSize} bytes, where the index of a shard takes ${size} bytes at its ${indexLocation}; expected it as the ${expected} part with that size`;
}

/** Refuses a part for the checksum of a chunk where the codecs write none. */
function assertChecksumPart(
  part: string,
  isLast: boolean,
  { codecs }: ChunkLevel,
): void {
  const last = codecs.at(-1)?.name;
  if (last === "crc32c" && isLast) return;
  const advice = last === "sharding_indexed"
    ? 'a shard\'s own checksum is the last 4 bytes of its index, in the part ".index"'
    : 'expected "crc32c" as the last codec, and its checksum as the last part';
  throw new RangeError(
    `Part ${
      describe(part)
    } is for the checksum that the codec "crc32c" appends to a chunk, and the last codec is ${
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
  // Two parts with one suffix are refused by ConcatParts.
  if (second === undefined || first === second) return;
  const example = `${first || second}:64`;
  throw new RangeError(
    sentence`Parts ${first} and ${second} have no size, where one part at most may have none; give a size in bytes, such as ${example}`,
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
  if (dividing.length !== 1 || !shard || !areChecksums(shard)) return;
  const path = `/storage_transformers/${dividing[0]}/configuration/parts`;
  const sum = sizeTogether(parts);
  if (sum !== undefined && sum < leastSize(shard)) {
    throw new MetadataError(
      `The parts hold ${sum} bytes, where the index of a shard alone takes ${
        leastSize(shard)
      }; expected larger parts, or one without a size`,
      path,
    );
  }
  for (const [i, { keySuffix, size }] of parts.entries()) {
    const isIndex = size !== undefined && keySuffix.endsWith(INDEX);
    const problem = isIndex && indexProblem(parts, i, shard);
    if (problem) throw new MetadataError(problem, `${path}/${i}/size`);
  }
}
