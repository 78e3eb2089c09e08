/**
 * An adapter for zarrita, which then reads and writes arrays with `suffix` chunk keys,
 * arrays in parts, and sharded arrays. zarrita is a peer dependency: pass in the copy
 * that you import.
 *
 * @example
 * ```ts
 * import { FileSystemStore } from "@zarr-parts/zarr-parts";
 * import { registerCodecs, withZarrParts } from "@zarr-parts/zarr-parts/zarrita";
 * import { assertEquals } from "@std/assert";
 * import * as zarr from "zarrita";
 *
 * registerCodecs(zarr); // A crc32c that verifies checksums, and packbits.
 * const store = new FileSystemStore("tests/fixtures/dem.zarr");
 * const array = await zarr.open(withZarrParts(store), { kind: "array" });
 * const corner = await zarr.get(array, [zarr.slice(2), zarr.slice(3)]);
 * assertEquals(corner.shape, [2, 3]);
 * ```
 *
 * @module
 */
export { ChunkChangedError } from "./partial_writes.ts";
export { type CodecRegistry, registerCodecs } from "./register_codecs.ts";
export type { DimensionSelection } from "./selection.ts";
export { setSharded } from "./set_sharded.ts";
export type { SetShardedOptions } from "./set_sharded_options.ts";
export {
  withZarrParts,
  type ZarritaStore,
  type ZarrPartsStore,
} from "./with_zarr_parts.ts";
export type { Zarrita, ZarritaArray } from "./zarrita.ts";
