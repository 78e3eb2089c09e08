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
export type { Conversion, ConvertedArray } from "./conversion.ts";
export { convert } from "./convert.ts";
export { convertInPlace } from "./convert_in_place.ts";
export type { ConvertOptions, ConvertProgress } from "./convert_options.ts";
export type { Finding, Rule } from "./finding.ts";
export { inspect } from "./inspect.ts";
export type {
  InspectedArray,
  InspectedChunk,
  InspectedGroup,
  InspectedPart,
  Inspection,
  InspectOptions,
} from "./inspection.ts";
export type { ConvertInPlaceOptions } from "./in_place_options.ts";
export type { LayoutOptions } from "./layout_options.ts";
export type { NodeLocation } from "./node_location.ts";
export { type Repair, repair } from "./repair.ts";
export type { RepairOptions, Unrepaired } from "./repair_options.ts";
export type { Share } from "../arrays/share.ts";
export { type Verification, verify } from "./verify.ts";
export type { VerifyOptions } from "./verify_options.ts";
