import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  type ElevationModel,
  elevationRange,
  relief,
} from "../../examples/browser/relief.ts";

const FILL = -32768;
const CLEAR = [0, 0, 0, 0];
const SUMMIT = [246, 244, 240, 255];

function model(
  rows: readonly (readonly number[])[],
  fillValue: number | null = FILL,
): ElevationModel {
  return {
    elevations: rows.flat(),
    width: rows[0]?.length ?? 0,
    height: rows.length,
    fillValue,
    spacing: { x: 30, y: 30 },
  };
}

/** Returns the pixels of the relief, each as a list. */
function pixels(model: ElevationModel): number[][] {
  const values = relief(model);
  return Array.from(
    { length: values.length / 4 },
    (_, i) => Array.from(values.subarray(4 * i, 4 * i + 4)),
  );
}

const sum = ([red, green, blue]: number[]) => red! + green! + blue!;

Deno.test("elevationRange() leaves out points without a known elevation", () => {
  const some = [FILL, 5, NaN, -3, Infinity, -Infinity, 7];
  assertEquals(elevationRange(model([some])), { lowest: -3, highest: 7 });
  assertEquals(elevationRange(model([[FILL, NaN]])), undefined);
  assertEquals(elevationRange(model([])), undefined);
  assertEquals(elevationRange(model([[FILL, 0]], null)), {
    lowest: FILL,
    highest: 0,
  });
});

Deno.test("relief() draws points without a known elevation as transparent", () => {
  assertEquals(pixels(model([[FILL, 9, NaN], [9, Infinity, 9]])), [
    CLEAR,
    SUMMIT,
    CLEAR,
    SUMMIT,
    CLEAR,
    SUMMIT,
  ]);
  assertEquals(pixels(model([[FILL, NaN]])), [CLEAR, CLEAR]);
  assertEquals(pixels(model([])), []);
});

Deno.test("relief() draws level ground in its own colour", () => {
  assertEquals(pixels(model([[9, 9], [9, 9]])), Array(4).fill(SUMMIT));
});

Deno.test("relief() draws slopes to the west and north brighter than others", () => {
  const ridge = pixels(model([[1, 2, 5, 9, 5, 2, 1]])).map(sum);
  for (const distance of [1, 2]) {
    assert(ridge[3 - distance]! > ridge[3 + distance]!, `${ridge}`);
  }
  const column = pixels(model([[1], [2], [5], [9], [5], [2], [1]])).map(sum);
  for (const distance of [1, 2]) {
    assert(column[3 - distance]! > column[3 + distance]!, `${column}`);
  }
});

Deno.test("relief() draws the sea by its depth alone", () => {
  const rows = [[50, -5, 90], [-20, -5, 70], [-9, 0, -5]];
  const [, a, , , b, , , shore, c] = pixels(model(rows));
  assertEquals([a, b], [c, c]);
  assertEquals(shore, [164, 205, 224, 255]);
  assert(a![2]! > a![0]!, "the sea is not blue");
});

Deno.test("relief() draws points of a plane alike at the edge and inside", () => {
  const [rows, columns] = [[0, 1, 2], [0, 1, 2, 3]];
  const down = pixels(model(rows.map((y) => columns.map(() => 500 - 20 * y))));
  const right = pixels(model(rows.map(() => columns.map((x) => 500 - 20 * x))));
  rows.forEach((y) =>
    columns.forEach((x) => {
      assertEquals(down[4 * y + x], down[4 * y]);
      assertEquals(right[4 * y + x], right[x]);
    })
  );
});

Deno.test("relief() draws points of a plane alike beside points without a known elevation", () => {
  const inside = fc.integer({ min: 2, max: 4 });
  const slope = fc.integer({ min: -30, max: 30 });
  fc.assert(
    fc.property(inside, inside, slope, slope, (holeX, holeY, toX, toY) => {
      const rows = Array.from(
        { length: 7 },
        (_, y) => Array.from({ length: 7 }, (_, x) => 999 + toX * x + toY * y),
      );
      const whole = pixels(model(rows));
      rows[holeY]![holeX] = FILL;
      whole[7 * holeY + holeX] = CLEAR;
      assertEquals(pixels(model(rows)), whole);
    }),
  );
});

Deno.test("relief() computes slopes with the spacing", () => {
  const rows = [[10, 40, 30], [20, 80, 50], [60, 90, 70]];
  const small = model(rows);
  const large = {
    ...model(rows.map((row) => row.map((elevation) => 8 * elevation))),
    spacing: { x: 240, y: 240 },
  };
  assertEquals(pixels(large), pixels(small));
  const flat = { ...small, spacing: { x: 1e9, y: 1e9 } };
  assert(sum(pixels(flat)[1]!) !== sum(pixels(small)[1]!));
});
