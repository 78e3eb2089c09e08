/**
 * Work on whole arrays and groups: `convert` and `convertInPlace`, `verify`, `repair`,
 * `inspect`, `migrate` and `references`. Each has a folder or a file.
 */
export { migrate, type MigrateOptions, type Migration } from "./migrate.ts";
export { checkedStream } from "./chunk_checks.ts";
export { LayoutError, type LayoutOptions } from "./convert/change_layout.ts";
export { convert } from "./convert/convert.ts";
export type {
  Conversion,
  ConvertedArray,
  ConvertOptions,
  ConvertProgress,
  LeftOutNode,
  OtherArray,
  RecodedChunks,
} from "./convert/convert_options.ts";
export { isUnfinished } from "./convert/unfinished_marker.ts";
export type { NodeLocation, NodeSelection } from "../hierarchy/mod.ts";
export type { Recoding } from "./recode/recoding.ts";
export { convertInPlace } from "./in_place/convert_in_place.ts";
export type { ConvertInPlaceOptions } from "./in_place/convert_in_place.ts";
export {
  inspect,
  type InspectedArray,
  type InspectedChunk,
  type InspectedGroup,
  type InspectedPart,
  type Inspection,
  type InspectOptions,
  type InvalidNode,
} from "./inspect.ts";
export { references, type ReferencesOptions } from "./references.ts";
export {
  type Repair,
  repair,
  type RepairOptions,
  type Unrepaired,
} from "./repair.ts";
export type { Finding, Rule, VerifyOptions } from "./verify/findings.ts";
export { type Verification, verify } from "./verify/verify.ts";
