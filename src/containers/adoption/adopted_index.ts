import type { ArrayStorage } from "../../arrays/mod.ts";
import type { ArrayMetadata, NamedConfiguration } from "../../metadata/mod.ts";
import { joinBytes } from "../../runtime/mod.ts";
import {
  encodeFileRecord,
  encodeShardIndex,
  FILE_RECORD_SIZE,
  type FileRecord,
  type ShardIndex,
  shardIndexSize,
  type ShardLayout,
} from "../../shards/mod.ts";
import type { Part } from "../../splitter/mod.ts";

/** The text that the key of an index has after that of its file. */
export const INDEX_SUFFIX = ".index";

/** The layout of the index of an adopted file. */
export function adoptedLayout(chunksPerShard: readonly number[]): ShardLayout {
  return {
    chunksPerShard,
    indexLocation: "end",
    indexEndian: "little",
    indexHasChecksum: true,
  };
}

/** The codec of adopted shards. */
export function adoptedSharding(
  chunkShape: readonly number[],
  codecs: ArrayMetadata["codecs"],
): NamedConfiguration {
  return {
    name: "sharding_indexed",
    configuration: {
      chunk_shape: [...chunkShape],
      codecs,
      index_codecs: [
        { name: "bytes", configuration: { endian: "little" } },
        { name: "crc32c" },
      ],
      index_location: "end",
    },
  };
}

/** The parts of an adopted shard: the file as it is, and its index beside it. */
export function adoptedParts(layout: ShardLayout): Part[] {
  const size = FILE_RECORD_SIZE + shardIndexSize(layout);
  return [{ keySuffix: "" }, { keySuffix: INDEX_SUFFIX, size }];
}

/** The bytes of the part that holds the index of an adopted file. */
export function encodeIndexPart(
  record: FileRecord,
  index: ShardIndex,
  layout: ShardLayout,
): Uint8Array {
  return joinBytes([
    encodeFileRecord(record),
    encodeShardIndex(index, layout),
  ]);
}

/** Whether an array has the parts of adopted files: files as they are, and indexes with a record of the file. */
export function isAdopted(
  { layers }: ArrayStorage,
  layout: ShardLayout,
): boolean {
  const [file, index, ...others] = layers.flat();
  return layers.length === 1 && others.length === 0 &&
    layout.indexLocation === "end" &&
    file?.keySuffix === "" && file.size === undefined &&
    index?.keySuffix === INDEX_SUFFIX &&
    index.size === FILE_RECORD_SIZE + shardIndexSize(layout);
}
