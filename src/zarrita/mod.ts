/** The adapter for zarrita: stores with plain arrays for it, and writing of shards. */
export { ChunkChangedError } from "./partial_writes.ts";
export {
  getSharded,
  type SelectedElements,
  type ZarritaReader,
} from "./get_sharded.ts";
export { INNER_CHUNKS } from "./inner_chunk_translation.ts";
export type { DimensionSelection } from "./selection.ts";
export {
  setSharded,
  type SetShardedOptions,
  type Zarrita,
  type ZarritaArray,
} from "./set_sharded.ts";
export {
  innermostCodecs,
  ShardedArray,
  shardLevelsOf,
} from "./sharded_array.ts";
export type { GetShardedOptions, ReadProgress } from "./sharded_read.ts";
export {
  withZarrParts,
  type ZarritaStore,
  type ZarrPartsOptions,
  type ZarrPartsStore,
} from "./with_zarr_parts.ts";
