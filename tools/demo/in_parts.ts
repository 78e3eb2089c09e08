import {
  type ArrayMetadata,
  parseShardLayout,
  shardIndexSize,
} from "../../mod.ts";

/** The file extension of a shard. */
export const SUFFIX = ".shard";

/** The key suffixes of a shard's parts: its header, its data and its index. */
export const PARTS = [".header", "", ".index"] as const;

const HEADER_SIZE = 64;

/** The metadata of the same sharded array with other keys, and with its shards in parts. */
export function inParts(metadata: ArrayMetadata): ArrayMetadata {
  const [header, data, index] = PARTS;
  return {
    ...metadata,
    chunk_key_encoding: { name: "suffix", configuration: { suffix: SUFFIX } },
    storage_transformers: [{
      name: "concat-parts",
      configuration: {
        parts: [
          { key_suffix: header, size: HEADER_SIZE },
          { key_suffix: data },
          { key_suffix: index, size: indexSize(metadata) },
        ],
      },
    }],
  };
}

/** The length of a shard's index in bytes, as the codec of the shards says. */
export function indexSize({ chunk_grid, codecs }: ArrayMetadata): number {
  const { chunk_shape } = chunk_grid.configuration as { chunk_shape: number[] };
  return shardIndexSize(parseShardLayout(codecs[0], chunk_shape));
}
