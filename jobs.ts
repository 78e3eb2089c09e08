/**
 * Jobs on whole arrays and groups, in any stores, for scripts and clusters: each takes a
 * signal, a number of tasks at once and a share of the work, and tells its progress.
 *
 * @example
 * ```ts
 * import { FileSystemStore, MemoryStore } from "@zarr-parts/zarr-parts";
 * import { convert } from "@zarr-parts/zarr-parts/jobs";
 * import { assertEquals } from "@std/assert";
 *
 * const source = new FileSystemStore("tests/fixtures/dem.zarr");
 * const { isFinished } = await convert(source, new MemoryStore(), { suffix: ".shard" });
 * assertEquals(isFinished, true);
 * ```
 *
 * @module
 */

export type { Share } from "./src/arrays/mod.ts";
export {
  type Conversion,
  convert,
  type ConvertedArray,
  convertInPlace,
  type ConvertInPlaceOptions,
  type ConvertOptions,
  type ConvertProgress,
  type Finding,
  inspect,
  type InspectedArray,
  type InspectedChunk,
  type InspectedGroup,
  type InspectedPart,
  type Inspection,
  type InspectOptions,
  type InvalidNode,
  type LayoutOptions,
  type LeftOutNode,
  migrate,
  type MigrateOptions,
  type Migration,
  type NodeLocation,
  type NodeSelection,
  type OtherArray,
  type RecodedChunks,
  type Recoding,
  references,
  type ReferencesOptions,
  type Repair,
  repair,
  type RepairOptions,
  type Rule,
  type Unrepaired,
  type Verification,
  verify,
  type VerifyOptions,
} from "./src/jobs/mod.ts";
