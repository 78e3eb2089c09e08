import fc from "fast-check";
import * as zarr from "zarrita";

export type Selection = (null | number | zarr.Slice)[] | null;

/** Any selection of elements: all, single ones, slices, with steps, past the ends, from the end. */
export function selectionOf(shape: readonly number[]): fc.Arbitrary<Selection> {
  return fc.tuple(...shape.map(alongDimension));
}

function alongDimension(
  length: number,
): fc.Arbitrary<null | number | zarr.Slice> {
  const place = fc.option(fc.integer({ min: -length, max: length + 1 }));
  const inside = fc.tuple(fc.nat(length), fc.nat(length)).map((ends) =>
    ends.sort((a, b) => a - b)
  );
  const step = fc.integer({ min: 1, max: length + 1 });
  return fc.oneof(
    { weight: 1, arbitrary: fc.constant(null) },
    { weight: 2, arbitrary: fc.nat(Math.max(0, length - 1)) },
    {
      weight: 4,
      arbitrary: fc.tuple(inside, step).map(([[start, stop], step]) =>
        zarr.slice(start!, stop!, step)
      ),
    },
    {
      weight: 1,
      arbitrary: fc.tuple(place, place, fc.constantFrom(null, 1, 2, -1, -2))
        .map(([start, stop, step]) => zarr.slice(start, stop, step)),
    },
  );
}
