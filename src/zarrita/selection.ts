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
export interface Run {
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
  return shape.map((length, i) => {
    const { start, stop, step } = strideOf(selection?.[i] ?? null, length);
    return step === 1 ? { start, stop } : { start: 0, stop: 0 };
  });
}

/** The shape of what is selected, in which a dimension with an index is none. */
export function selectedShape(
  selection: readonly DimensionSelection[] | null,
  shape: readonly number[],
): number[] {
  return shape.flatMap((length, i) => {
    const along = selection?.[i] ?? null;
    if (typeof along === "number") return [];
    const { start, stop, step } = strideOf(along, length);
    return [Math.max(0, Math.ceil((stop - start) / step))];
  });
}

/** A run of which every `step`-th element is selected. */
function strideOf(
  selection: DimensionSelection,
  length: number,
): Run & { step: number } {
  if (selection === null) return { start: 0, stop: length, step: 1 };
  if (typeof selection === "number") {
    return { start: selection, stop: selection + 1, step: 1 };
  }
  // As Python counts: from the end, if negative.
  const place = (index: number) =>
    Math.min(Math.max(index < 0 ? index + length : index, 0), length);
  const { start, stop, step } = selection;
  return {
    start: place(start ?? 0),
    stop: place(stop ?? length),
    step: step ?? 1,
  };
}
