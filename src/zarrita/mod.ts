export { ChunkChangedError } from "./partial_writes.ts";
export type { DimensionSelection } from "./selection.ts";
export { setSharded } from "./set_sharded.ts";
export type {
  SetShardedOptions,
  Zarrita,
  ZarritaArray,
} from "./set_sharded_options.ts";
export { innermostCodecs } from "./sharded_array.ts";
export {
  withZarrParts,
  type ZarritaStore,
  type ZarrPartsStore,
} from "./with_zarr_parts.ts";
