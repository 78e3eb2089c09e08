/**
 * What zarrita selects along one dimension: `null` for all of it, an index, or a
 * slice of elements, from `start` to before `stop`.
 *
 * @example
 * ```ts
 * import type { DimensionSelection } from "@zarr-parts/zarr-parts/zarrita";
 * import * as zarr from "zarrita";
 *
 * const selection: DimensionSelection[] = [null, 7, zarr.slice(0, 500)];
 * ```
 */
export type DimensionSelection = null | number | {
  start: number | null;
  stop: number | null;
  step: number | null;
};

/** Elements along a dimension, from `start` to before `stop`. */
interface Run {
  readonly start: number;
  readonly stop: number;
}

/**
 * The elements along each dimension that a selection covers without a gap; none
 * where it leaves some out.
 */
export function coveredRuns(
  selection: readonly DimensionSelection[] | null,
  shape: readonly number[],
): Run[] {
  return shape.map((length, i) => coveredRun(selection?.[i] ?? null, length));
}

function coveredRun(selection: DimensionSelection, length: number): Run {
  if (selection === null) return { start: 0, stop: length };
  if (typeof selection === "number") {
    return { start: selection, stop: selection + 1 };
  }
  const { start, stop, step } = selection;
  if ((step ?? 1) !== 1) return { start: 0, stop: 0 };
  // As Python counts: from the end, if negative.
  const place = (index: number) =>
    Math.min(Math.max(index < 0 ? index + length : index, 0), length);
  return { start: place(start ?? 0), stop: place(stop ?? length) };
}
