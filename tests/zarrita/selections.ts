import fc from "fast-check";
import * as zarr from "zarrita";

/** A selection of zarrita's `get` and `set` along one dimension. */
export type Selection = (null | number | zarr.Slice)[];

/** Selections of at least one element along each dimension that has one. */
export function selectionsOf(
  shape: readonly number[],
): fc.Arbitrary<Selection> {
  return fc.tuple(...shape.map(selectionAlong)) as fc.Arbitrary<Selection>;
}

function selectionAlong(
  length: number,
): fc.Arbitrary<Selection[number]> {
  if (length === 0) return fc.constant(null);
  const range = fc.tuple(fc.nat(length - 1), fc.nat(length - 1)).map((
    [a, b],
  ) => [Math.min(a, b), Math.max(a, b) + 1] as const);
  return fc.oneof(
    fc.constant(null),
    fc.integer({ min: -length, max: length - 1 }),
    range.map(([start, stop]) => zarr.slice(start, stop)),
    fc.tuple(range, fc.integer({ min: 1, max: 4 }))
      .map(([[start, stop], step]) => zarr.slice(start, stop, step)),
  );
}

/** The indices that are selected along a dimension, one by one. */
function indicesOf(selection: Selection[number], length: number): number[] {
  const all = Array.from({ length }, (_, i) => i);
  if (selection === null) return all;
  if (typeof selection === "number") {
    return [selection < 0 ? length + selection : selection];
  }
  const { start, stop, step } = selection;
  return all.filter((i) =>
    i >= (start ?? 0) && i < (stop ?? length) &&
    (i - (start ?? 0)) % (step ?? 1) === 0
  );
}

/** The places of the selected elements in an array's elements, in C order. */
export function placesOf(
  selection: Selection,
  shape: readonly number[],
): number[] {
  return shape.reduce(
    (places, length, i) =>
      places.flatMap((place) =>
        indicesOf(selection[i]!, length).map((index) => place * length + index)
      ),
    [0],
  );
}

/** The shape of a selection, without the dimensions that are selected by an index. */
export function shapeOf(
  selection: Selection,
  shape: readonly number[],
): number[] {
  return shape.flatMap((length, i) =>
    typeof selection[i] === "number"
      ? []
      : [indicesOf(selection[i]!, length).length]
  );
}
