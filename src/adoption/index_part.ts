import type {
  ArrayMetadata,
  NamedConfiguration,
} from "../metadata/array_metadata.ts";
import {
  encodeFileRecord,
  FILE_RECORD_SIZE,
  type FileRecord,
} from "../shards/file_record.ts";
import {
  encodeShardIndex,
  type ShardIndex,
  shardIndexSize,
} from "../shards/shard_index.ts";
import type { ShardLayout } from "../shards/shard_layout.ts";
import type { Part } from "../splitter/part.ts";
import { joinBytes } from "../stores/join_bytes.ts";

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
