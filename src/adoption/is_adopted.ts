import type { ArrayStorage } from "../arrays/array_storage.ts";
import { FILE_RECORD_SIZE } from "../shards/file_record.ts";
import { shardIndexSize } from "../shards/shard_index.ts";
import type { ShardLayout } from "../shards/shard_layout.ts";
import { INDEX_SUFFIX } from "./index_part.ts";

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
