import { describe, describeAll } from "../metadata/describe.ts";
import type { NamedConfiguration } from "../metadata/array_metadata.ts";
import { parseShardLayout } from "../shards/shard_layout.ts";
import { shardIndexSize } from "../shards/shard_index.ts";
import type { Part } from "../splitter/part.ts";

/** The size of a CRC32C checksum in bytes. */
const CHECKSUM_SIZE = 4;

/**
 * Resolves parts in short notation: `".header:64"` is a part of 64 bytes,
 * `".index"` the shard index, `".crc32c"` the checksum that the codec `crc32c`
 * appends, and any other text the key suffix of the part without a size.
 *
 * @param parts Parts in either form.
 * @param codecs The array's codecs, written out.
 * @param chunkShape The shape of a stored chunk, which is a shard's where there are shards.
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
