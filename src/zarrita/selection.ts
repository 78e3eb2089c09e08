import { describe } from "../metadata/describe.ts";

/**
 * A selection along one dimension, as zarrita takes it: `null` for all elements, an
 * index, or a slice from `start` to `stop` (exclusive).
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

/** Refuses a selection that does not fit the array, or that zarrita would misinterpret. */
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

/** Elements along a dimension, from `start` to `stop` (exclusive). */
export interface Run {
  readonly start: number;
  readonly stop: number;
}

/**
 * The elements along each dimension that a selection covers without gaps; none for a
 * selection with gaps.
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

/** The shape of the selected elements. Dimensions with an index are left out. */
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

/** The run of a selection, of which every `step`-th element is selected. */
export function strideOf(
  selection: DimensionSelection,
  length: number,
): Run & { step: number } {
  if (selection === null) return { start: 0, stop: length, step: 1 };
  if (typeof selection === "number") {
    const start = selection < 0 ? selection + length : selection;
    return { start, stop: start + 1, step: 1 };
  }
  // Negative indices count from the end, as in Python.
  const place = (index: number) =>
    Math.min(Math.max(index < 0 ? index + length : index, 0), length);
  const { start, stop, step } = selection;
  return {
    start: place(start ?? 0),
    stop: place(stop ?? length),
    step: step ?? 1,
  };
}
