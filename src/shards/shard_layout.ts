import * as v from "valibot";
import { describe } from "../metadata/describe.ts";
import { parseExtension } from "../metadata/extension.ts";
import { below, MetadataError, pointer } from "../metadata/metadata_error.ts";
import { check, expected, members } from "../metadata/schema.ts";

/**
 * How inner chunks lie in a shard and where its index is, as the codec
 * `sharding_indexed` says it.
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
  /** How many inner chunks a shard has along each dimension, at least 1. */
  readonly chunksPerShard: readonly number[];
  /** Where the index lies in the shard. */
  readonly indexLocation: "start" | "end";
  /** The byte order of the numbers in the index. */
  readonly indexEndian: "little" | "big";
  /** Whether the index ends with its CRC32C. */
  readonly indexHasChecksum: boolean;
}

const CONFIGURATION = members("the configuration of sharding_indexed", {
  chunk_shape: v.array(
    v.pipe(
      v.number(expected("a length in chunk_shape to be a number")),
      v.safeInteger(expected("a length in chunk_shape to be a whole number")),
      v.minValue(1, expected("a length in chunk_shape to be 1 or more")),
    ),
    expected("chunk_shape to be a list of lengths"),
  ),
  codecs: v.pipe(
    v.array(v.unknown(), expected("codecs to be a list")),
    v.nonEmpty("Expected at least one codec, found an empty list"),
  ),
  index_codecs: v.array(v.unknown(), expected("index_codecs to be a list")),
  index_location: v.optional(
    v.picklist(["start", "end"], expected('index_location "start" or "end"')),
    "end",
  ),
});

/**
 * Reads the metadata of the codec `sharding_indexed`.
 *
 * @param codec The codec as an array's `codecs` has it, or as those of an outer
 * `sharding_indexed` codec do.
 * @param shardShape The shape of a shard in elements, which is the array's chunk
 * shape or the chunk shape of the outer codec.
 * @returns The layout of its shards.
 * @throws {MetadataError} Metadata that the document does not allow, inner chunks
 * that do not fill the shard, or an index codec other than `bytes` and `crc32c`.
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
  const { name, configuration } = parseExtension(codec, "codec");
  if (name !== "sharding_indexed") {
    throw new MetadataError(
      `Expected the codec "sharding_indexed", found ${describe(name)}`,
      typeof codec === "string" ? "" : "/name",
    );
  }
  return below("/configuration", () => {
    const { chunk_shape, index_codecs, index_location } = check(
      CONFIGURATION,
      configuration,
    );
    return {
      chunksPerShard: below(
        "/chunk_shape",
        () => chunksPerShard(chunk_shape, shardShape),
      ),
      indexLocation: index_location,
      ...below("/index_codecs", () => parseIndexCodecs(index_codecs)),
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
      `Expected a chunk_shape of which a shard of ${
        describe(shardShape)
      } is a multiple in every dimension, found ${describe(chunkShape)}`,
    );
  }
  return chunkShape.map((length, i) => shardShape[i]! / length);
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
      `Expected index_codecs to be bytes, and maybe crc32c after it, found ${
        describe(parsed.map(({ name }) => name))
      }`,
    );
  }
  const { endian } = below(
    "/0/configuration",
    () => check(ENDIAN, bytes.configuration),
  );
  if (checksum !== undefined) {
    below("/1/configuration", () => check(NO_MEMBERS, checksum.configuration));
  }
  return { indexEndian: endian, indexHasChecksum: checksum !== undefined };
}

const NO_MEMBERS = members("the configuration of crc32c", {});

const ENDIAN = members("the configuration of bytes", {
  endian: v.picklist(
    ["little", "big"],
    expected('endian "little" or "big", as numbers of eight bytes need it'),
  ),
});
