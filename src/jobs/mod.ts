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
export type {
  Conversion,
  ConvertedArray,
  LeftOutNode,
} from "./plan/conversion.ts";
export { convert } from "./convert/convert.ts";
export { convertInPlace } from "./in_place/convert_in_place.ts";
export type {
  ConvertOptions,
  ConvertProgress,
} from "./plan/convert_options.ts";
export type { Finding, Rule } from "./verify/finding.ts";
export { inspect } from "./inspect/inspect.ts";
export type {
  InspectedArray,
  InspectedChunk,
  InspectedGroup,
  InspectedPart,
  Inspection,
  InspectOptions,
  InvalidNode,
} from "./inspect/inspection.ts";
export type { ConvertInPlaceOptions } from "./in_place/options.ts";
export type { LayoutOptions } from "./plan/layout_options.ts";
export type { NodeLocation } from "./hierarchy/node_location.ts";
export { type Repair, repair } from "./repair/repair.ts";
export type { RepairOptions, Unrepaired } from "./repair/repair_options.ts";
export type { Share } from "../arrays/share.ts";
export { type Verification, verify } from "./verify/verify.ts";
export type { VerifyOptions } from "./verify/verify_options.ts";
