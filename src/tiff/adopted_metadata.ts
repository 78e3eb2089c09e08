import { adoptedLayout, adoptedParts } from "../adoption/index_part.ts";
import type { Mosaic } from "../adoption/mosaic.ts";
import { arrayMetadata } from "../arrays/array_metadata.ts";
import type { ChunkKeyEncoding } from "../chunk_key_encoding/chunk_key_encoding.ts";
import type { ArrayMetadata } from "../metadata/array_metadata.ts";
import type { AdoptTiffsOptions } from "./adopt_options.ts";
import type { TiffShard } from "./tiff_shard.ts";

/** The metadata of an array of files like a shard. */
export function metadataOf(
  shard: TiffShard,
  { shape, shardShape, chunksPerShard }: Mosaic,
  keyEncoding: ChunkKeyEncoding,
  { dimensionNames = shard.dimensionNames, attributes }: AdoptTiffsOptions,
): ArrayMetadata {
  const { dataType, fillValue, tileShape, codecs } = shard;
  return arrayMetadata({
    shape,
    dataType,
    shardShape,
    chunkShape: tileShape,
    codecs,
    fillValue: dataType.startsWith("complex") ? [fillValue, 0] : fillValue,
    keyEncoding,
    parts: adoptedParts(adoptedLayout(chunksPerShard)),
    dimensionNames,
    attributes,
  });
}
