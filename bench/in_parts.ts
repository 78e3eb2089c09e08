import {
  type ArrayMetadata,
  parseShardLayout,
  shardIndexSize,
} from "../mod.ts";

/** The file extension of a shard. */
const SUFFIX = ".shard";

/** The key suffixes of a shard's parts: its inner chunks, and its index. */
const PARTS = ["", ".index"] as const;

/** The metadata of a sharded array with a file extension and the index of each shard as a part. */
export function inParts(metadata: ArrayMetadata): ArrayMetadata {
  const [data, index] = PARTS;
  return {
    ...metadata,
    chunk_key_encoding: { name: "suffix", configuration: { suffix: SUFFIX } },
    storage_transformers: [{
      name: "concat-parts",
      configuration: {
        parts: [
          { key_suffix: data },
          { key_suffix: index, size: indexSize(metadata) },
        ],
      },
    }],
  };
}

/** The size of a shard's index in bytes. */
function indexSize({ chunk_grid, codecs }: ArrayMetadata): number {
  const { chunk_shape } = chunk_grid.configuration as { chunk_shape: number[] };
  return shardIndexSize(parseShardLayout(codecs[0], chunk_shape));
}
