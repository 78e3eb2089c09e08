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

export { type CodecRegistry, registerCodecs } from "./src/codecs/mod.ts";
export {
  runChunkWorker,
  ThreadPool,
  type ThreadPoolOptions,
  type WorkerLike,
} from "./src/threads/mod.ts";
export {
  type DimensionSelection,
  getSharded,
  type GetShardedOptions,
  type ReadProgress,
  type SelectedElements,
  setSharded,
  type SetShardedOptions,
  withZarrParts,
  type Zarrita,
  type ZarritaArray,
  type ZarritaReader,
  type ZarritaStore,
  type ZarrPartsOptions,
  type ZarrPartsStore,
} from "./src/zarrita/mod.ts";
