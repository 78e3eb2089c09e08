import { storageOf } from "../arrays/storage_of.ts";
import { completeMetadata } from "../arrays/complete_metadata.ts";
import type { ShardFiles } from "../arrays/shard_files.ts";
import type { ChunkKeyEncoding } from "../chunk_key_encoding/chunk_key_encoding.ts";
import type { ArrayMetadata } from "../metadata/array_metadata.ts";
import { formatZarrJson } from "../metadata/format_zarr_json.ts";

/**
 * The `zarr.json` of a shard as an array of its own, whose chunks are the inner
 * chunks. At the edge of the outer array, the inner one ends where that array ends.
 *
 * @param shard The grid coordinates of the shard.
 * @throws {MetadataError} If no Zarr client could open the inner array.
 */
export function innerDocument(
  { storage, innerShape, innerCodecs }: ShardFiles,
  names: ChunkKeyEncoding,
  shard: readonly number[],
): Uint8Array {
  const { storage_transformers: _, ...metadata } = storage.metadata;
  const inner = {
    ...metadata,
    shape: storage.chunkShape.map((length, i) =>
      Math.min(length, metadata.shape[i]! - shard[i]! * length)
    ),
    chunk_grid: {
      name: "regular",
      configuration: { chunk_shape: innerShape },
    },
    chunk_key_encoding: names.toJSON(),
    codecs: innerCodecs as ArrayMetadata["codecs"],
  };
  return formatZarrJson(
    completeMetadata(storageOf(inner, { isComplete: false })),
  );
}
