import { below, MetadataError, pointer, sentence } from "../errors/mod.ts";
import {
  checkLengths,
  checkList,
  checkMembers,
  checkOneOf,
  parseExtension,
} from "../metadata/mod.ts";

/**
 * The greatest number of inner chunks in a shard. The index of more would be longer than
 * 2^53−1 bytes. The expression has only literals, so that bundlers can drop an unused one.
 */
export const MOST_CHUNKS = 2 ** 49 - 1;

/**
 * The layout of a shard, from the metadata of the codec `sharding_indexed`.
 *
 * @example An index at the start, without a checksum
 * ```ts
 * import { type ShardLayout, shardIndexSize } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const layout: ShardLayout = {
 *   chunksPerShard: [3, 4],
 *   indexLocation: "start",
 *   indexEndian: "little",
 *   indexHasChecksum: false,
 * };
 * assertEquals(shardIndexSize(layout), 192);
 * ```
 */
export interface ShardLayout {
  /** The number of inner chunks along each dimension, at least 1. */
  readonly chunksPerShard: readonly number[];
  /** The place of the index in the shard. */
  readonly indexLocation: "start" | "end";
  /** The byte order of the numbers in the index. */
  readonly indexEndian: "little" | "big";
  /** Whether the index ends with its CRC32C. */
  readonly indexHasChecksum: boolean;
}

/** How the shards of an array are stored. */
export interface ShardForm {
  /** The layouts of the shards, of the shards nested in them, and so on. */
  readonly layouts: readonly ShardLayout[];
  /** The number of bytes at the start of a shard that are kept in any case, and have no inner chunks: those of head parts. */
  readonly headSize?: number | undefined;
  /** Whether the record of a file may lie before the index. */
  readonly mayHaveRecords?: boolean | undefined;
  /** The most bytes of an innermost chunk. More are damage, and not read. No limit by default. */
  readonly mostBytes?: number | undefined;
}

/**
 * The path of an inner chunk: its grid coordinates in the shard. Where inner chunks are
 * shards themselves, the coordinates in the nested shard follow, and so on.
 */
export type InnerPath = readonly (readonly number[])[];

/**
 * Parses the metadata of the codec `sharding_indexed`.
 *
 * @param codec The codec, a member of the `codecs` of an array or of an outer
 * `sharding_indexed` codec.
 * @param shardShape The shape of a shard in elements: the chunk shape of the array
 * or of the outer codec.
 * @returns The layout of the shards.
 * @throws {MetadataError} If the metadata is not valid, the inner chunks do not fill
 * the shard, or an index codec is neither `bytes` nor `crc32c`.
 * @throws {TypeError} If the shape of a shard is not a list.
 *
 * @example The shards of the `concat-parts` document
 * ```ts
 * import { parseShardLayout, shardIndexSize } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const layout = parseShardLayout({
 *   name: "sharding_indexed",
 *   configuration: {
 *     chunk_shape: [500, 500],
 *     index_codecs: [
 *       { name: "bytes", configuration: { endian: "little" } },
 *       { name: "crc32c" },
 *     ],
 *     codecs: [{ name: "packbits" }],
 *   },
 * }, [5000, 5000]);
 * assertEquals(layout.chunksPerShard, [10, 10]);
 * assertEquals(shardIndexSize(layout), 1604);
 * ```
 */
export function parseShardLayout(
  codec: unknown,
  shardShape: readonly number[],
): ShardLayout {
  if (!Array.isArray(shardShape)) {
    throw new TypeError(
      sentence`Expected the shape of a shard, a list of lengths, found ${shardShape}`,
    );
  }
  const { name, configuration } = parseExtension(codec, "codec");
  if (name !== "sharding_indexed") {
    throw new MetadataError(
      sentence`Expected the codec "sharding_indexed", found ${name}`,
      typeof codec === "string" ? "" : "/name",
    );
  }
  return below("/configuration", () => {
    const { chunk_shape, codecs, index_codecs, index_location = "end" } =
      checkMembers(
        configuration,
        "the configuration of sharding_indexed",
        ["chunk_shape", "codecs", "index_codecs"],
        ["index_location"],
      );
    const chunkShape = checkLengths(chunk_shape, "chunk_shape", 1);
    if (checkList(codecs, "codecs").length === 0) {
      throw new MetadataError(
        "Expected at least one codec, found an empty list",
        "/codecs",
      );
    }
    const indexCodecs = checkList(index_codecs, "index_codecs");
    const indexLocation = checkOneOf(
      index_location,
      ["start", "end"],
      'index_location "start" or "end"',
      "/index_location",
    );
    return {
      chunksPerShard: below(
        "/chunk_shape",
        () => chunksPerShard(chunkShape, shardShape),
      ),
      indexLocation,
      ...below("/index_codecs", () => parseIndexCodecs(indexCodecs)),
    };
  });
}

function chunksPerShard(
  chunkShape: readonly number[],
  shardShape: readonly number[],
): number[] {
  const fits = chunkShape.length === shardShape.length &&
    chunkShape.every((length, i) =>
      shardShape[i]! > 0 && shardShape[i]! % length === 0
    );
  if (!fits) {
    throw new MetadataError(
      sentence`Expected a chunk_shape of which a shard of ${shardShape} is a multiple in every dimension, found ${chunkShape}`,
    );
  }
  const counts = chunkShape.map((length, i) => shardShape[i]! / length);
  const count = counts.reduce((product, n) => product * n, 1);
  if (count <= MOST_CHUNKS) return counts;
  throw new MetadataError(
    sentence`Expected as many inner chunks in a shard as an index of no more than 2^53−1 bytes has, found ${counts}`,
  );
}

function parseIndexCodecs(
  codecs: readonly unknown[],
): Pick<ShardLayout, "indexEndian" | "indexHasChecksum"> {
  const parsed = codecs.map((codec, i) =>
    below(pointer("", i), () => parseExtension(codec, "codec"))
  );
  const [bytes, checksum] = parsed;
  if (
    bytes?.name !== "bytes" || parsed.length > 2 ||
    checksum !== undefined && checksum.name !== "crc32c"
  ) {
    throw new MetadataError(
      sentence`Expected index_codecs to be bytes, and maybe crc32c after it, found ${
        parsed.map(({ name }) => name)
      }`,
    );
  }
  const indexEndian = below("/0/configuration", () => {
    const { endian } = checkMembers(
      bytes.configuration,
      "the configuration of bytes",
      ["endian"],
    );
    const expected =
      'endian "little" or "big", as numbers of eight bytes need it';
    return checkOneOf(endian, ["little", "big"], expected, "/endian");
  });
  if (checksum !== undefined) {
    below(
      "/1/configuration",
      () =>
        checkMembers(
          checksum.configuration,
          "the configuration of crc32c",
          [],
        ),
    );
  }
  return { indexEndian, indexHasChecksum: checksum !== undefined };
}
