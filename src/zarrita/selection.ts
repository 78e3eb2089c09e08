import { describe } from "../metadata/describe.ts";

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

/** Refuses what selects nothing in an array, or what zarrita takes for something else. */
export function assertSelection(
  selection: unknown,
  shape: readonly number[],
): asserts selection is DimensionSelection[] | null {
  if (selection === null) return;
  if (!Array.isArray(selection) || selection.length !== shape.length) {
    throw new TypeError(
      `Expected null, or a selection for each of ${shape.length} dimensions, found ${
        describe(selection)
      }`,
    );
  }
  selection.forEach((along: DimensionSelection, i) => {
    const isSelection = along === null ||
      (typeof along === "number"
        ? Number.isInteger(along) && along >= -shape[i]! && along < shape[i]!
        : isSlice(along));
    if (isSelection) return;
    throw new RangeError(
      `Expected null, an index from ${-shape[i]!} to ${
        shape[i]! - 1
      } or a slice of whole numbers with a step from 1 for dimension ${i}, found ${
        describe(along)
      }`,
    );
  });
}

function isSlice(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { start, stop, step } = value as Record<string, unknown>;
  return [start, stop, step].every((edge) =>
    edge === null || Number.isInteger(edge)
  ) && (step === null || step as number >= 1);
}

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
    const start = selection < 0 ? selection + length : selection;
    return { start, stop: start + 1, step: 1 };
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
