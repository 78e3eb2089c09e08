import { assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import * as zarr from "zarrita";
import { coveredRuns, selectedShape } from "../../src/zarrita/selection.ts";
import { setSharded } from "../../zarrita.ts";
import { squareShards } from "./sharded_array.ts";

const edge = fc.option(fc.integer({ min: -9, max: 9 }));
const along = fc.oneof(
  fc.constant(null),
  fc.record({
    start: edge,
    stop: edge,
    step: fc.option(fc.integer({ min: 1, max: 3 })),
  }),
);

/** An array of two dimensions in which every element is its own number. */
async function numbered(rows: number, columns: number) {
  const array = await zarr.create(new Map<string, Uint8Array>(), {
    shape: [rows, columns],
    chunkShape: [rows, columns],
    dtype: "uint8",
    fillValue: 0,
  });
  const data = Uint8Array.from({ length: rows * columns }, (_, i) => i);
  const stride = [columns, 1];
  await zarr.set(array, null, { data, shape: [rows, columns], stride });
  return array;
}

Deno.test("selectedShape and coveredRuns agree with zarrita's selections", async () => {
  const array = await numbered(5, 7);
  await fc.assert(
    fc.asyncProperty(along, fc.oneof(along, fc.nat(6)), async (y, x) => {
      const selection = [y, x];
      const shape = selectedShape(selection, [5, 7]);
      if (shape.includes(0)) return; // zarrita refuses to read nothing.
      const read = await zarr.get(array, selection) as zarr.Chunk<"uint8">;
      assertEquals(shape, read.shape);

      const selected = new Set(read.data);
      const runs = coveredRuns(selection, [5, 7]);
      for (let row = 0; row < 5; row++) {
        for (let column = 0; column < 7; column++) {
          const isCovered = [row, column].every((at, i) =>
            at >= runs[i]!.start && at < runs[i]!.stop
          );
          if (isCovered) assertEquals(selected.has(7 * row + column), true);
        }
      }
      const hasNoGap = [y, x].every((along) => (Object(along).step ?? 1) === 1);
      const covered = runs.reduce(
        (n, { start, stop }) => n * (stop - start),
        1,
      );
      if (hasNoGap) assertEquals(covered, selected.size);
    }),
    { numRuns: 300 },
  );
});

Deno.test("setSharded accepts a typed array with exactly the selected number of elements", async () => {
  const { array } = await squareShards();
  const selection = [zarr.slice(1, 3), zarr.slice(0, 6, 2)];
  await setSharded(zarr, array, selection, Uint8Array.of(1, 2, 3, 4, 5, 6));
  await setSharded(zarr, array, [0, null], Uint8Array.of(9, 8, 7, 6, 5, 4));
  const expected = [
    ...[9, 8, 7, 6, 5, 4],
    ...[1, 0, 2, 0, 3, 0],
    ...[4, 0, 5, 0, 6, 0],
    ...[0, 0, 0, 0, 0, 0],
  ];
  assertEquals(
    Array.from((await zarr.get(array)).data as Uint8Array),
    expected,
  );
  for (const length of [0, 5, 7]) {
    await assertRejects(
      () => setSharded(zarr, array, selection, new Uint8Array(length)),
      RangeError,
      `Expected 6 elements for a selection of the shape [2, 3], found ${length}`,
    );
  }
  assertEquals(
    Array.from((await zarr.get(array)).data as Uint8Array),
    expected,
  );
});
