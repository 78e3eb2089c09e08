/** The adapter for zarrita: stores with plain arrays for it, and writing of shards. */
export {
  getSharded,
  type GetShardedOptions,
  type ReadProgress,
  type SelectedElements,
  type ZarritaReader,
} from "./get_sharded.ts";
export type { DimensionSelection } from "./selection.ts";
export {
  setSharded,
  type SetShardedOptions,
  type Zarrita,
} from "./set_sharded.ts";
export type { ZarritaArray } from "./zarrita_array.ts";
export { INNER_CHUNKS } from "./sharded_array.ts";
export {
  withZarrParts,
  type ZarritaStore,
  type ZarrPartsOptions,
  type ZarrPartsStore,
} from "./with_zarr_parts.ts";
