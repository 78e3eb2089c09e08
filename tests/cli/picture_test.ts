import { assertEquals } from "@std/assert";
import { extentOf, paint, paintSamples, rangeOf } from "../../page/colors.ts";
import { numbersOf, transpose, windowOf } from "../../page/slices.ts";
import { choosePictureAxes } from "../../src/cli/page/drawings.ts";

Deno.test("choosePictureAxes takes dimensions named as places, or the last ones, and colors", () => {
  const cases: [number[], (string | null)[], string, unknown[]][] = [
    [[], [], "uint8", [undefined, undefined, undefined]],
    [[9], [], "uint8", [undefined, 0, undefined]],
    [[8, 9], [], "uint8", [0, 1, undefined]],
    [[8, 3], [], "uint8", [0, 1, undefined]],
    [[7, 8, 9], [], "float32", [1, 2, undefined]],
    [[8, 9, 3], [], "uint8", [0, 1, 2]],
    [[8, 9, 4], [], "uint16", [0, 1, 2]],
    [[8, 9, 3], [], "float32", [1, 2, undefined]],
    [[8, 9, 5], [], "uint8", [1, 2, undefined]],
    [[3, 8, 9], [], "uint8", [1, 2, undefined]],
    [[3, 8, 9], ["band", "y", "x"], "uint8", [1, 2, 0]],
    [[5, 3, 8, 9], ["z", "c", "y", "x"], "uint8", [2, 3, 1]],
    [[8, 9, 7], ["lat", "lon", "time"], "float32", [0, 1, undefined]],
    [[9, 8], ["x", "y"], "float32", [1, 0, undefined]],
    [[9, 8], ["x", null], "float32", [0, 1, undefined]],
  ];
  for (const [shape, names, type, expected] of cases) {
    const { rows, columns, colors } = choosePictureAxes(shape, names, type);
    assertEquals([rows, columns, colors], expected, `${shape} ${names}`);
  }
});

Deno.test("windowOf holds whole chunks, and at most 1024 elements", () => {
  const cases: [number, number, number, number[]][] = [
    [10, 4, 0, [0, 10, 4]],
    [10, 100, 9, [0, 10, 100]],
    [1024, 64, 1023, [0, 1024, 64]],
    [1025, 64, 0, [0, 1024, 64]],
    [1025, 64, 1024, [64, 1025, 64]],
    [5000, 1000, 0, [0, 1000, 1000]],
    [5000, 1000, 4999, [4000, 5000, 1000]],
    [5000, 300, 700, [600, 1500, 300]],
    [5000, 300, 4999, [4200, 5000, 300]],
    [5000, 2000, 2500, [2048, 3072, 1024]],
  ];
  for (const [length, chunk, start, expected] of cases) {
    const window = windowOf(length, chunk, start);
    assertEquals(
      [window.start, window.stop, window.step],
      expected,
      `${length} ${chunk} ${start}`,
    );
  }
});

Deno.test("rangeOf leaves out fill values, infinite ones and the rarest", () => {
  const most = Array.from({ length: 100 }, (_, i) => i);
  assertEquals(rangeOf(most, undefined), { low: 1, high: 98 });
  assertEquals(rangeOf([5, NaN, Infinity, 7, 0], 0), { low: 5, high: 7 });
  assertEquals(rangeOf([0, 0], 0), { low: 0, high: 0 });
  assertEquals(rangeOf([NaN], NaN), undefined);
  assertEquals(rangeOf([], undefined), undefined);
});

Deno.test("extentOf leaves out fill values and infinite ones, if there are others", () => {
  assertEquals(extentOf([5, NaN, Infinity, -7, 9], 9), { low: -7, high: 5 });
  assertEquals(extentOf([0, 0], 0), { low: 0, high: 0 });
  assertEquals(extentOf([3], NaN), { low: 3, high: 3 });
  assertEquals(extentOf([NaN], NaN), undefined);
});

Deno.test("paint colors values by their place in the range, and no others", () => {
  const gray = ["#000000", "#ffffff"];
  const paintGray = (values: number[], low: number, high: number) =>
    Array.from(paint(values, { low, high }, gray, 9));
  assertEquals(paintGray([0, 255, 300, -1], 0, 255), [
    ...[0, 0, 0, 255],
    ...[255, 255, 255, 255],
    ...[255, 255, 255, 255],
    ...[0, 0, 0, 255],
  ]);
  assertEquals(paintGray([NaN, 9], 0, 255), [0, 0, 0, 0, 0, 0, 0, 0]);
  assertEquals(paintGray([4], 4, 4), [127, 127, 127, 255]);
  assertEquals(
    Array.from(paintSamples([1, 2, 3, 4, 5, 6], 3, 255)),
    [1, 2, 3, 255, 4, 5, 6, 255],
  );
  assertEquals(
    Array.from(paintSamples([1000, 0, 500, 250], 4, 1000)),
    [255, 0, 128, 64],
  );
});

Deno.test("numbersOf turns elements of all numeric types into numbers", () => {
  assertEquals(numbersOf(new Uint8Array([1, 2])), new Uint8Array([1, 2]));
  assertEquals(
    numbersOf(new BigInt64Array([-1n, 2n])),
    new Float64Array([-1, 2]),
  );
  assertEquals(numbersOf([true, false]), [1, 0]);
  assertEquals(numbersOf(["text"]), undefined);
  assertEquals(numbersOf(5), undefined);
});

Deno.test("transpose reorders dimensions", () => {
  const values = [0, 1, 2, 3, 4, 5];
  assertEquals(transpose(values, [2, 3], [0, 1]), values);
  assertEquals(
    Array.from(transpose(values, [2, 3], [1, 0])),
    [0, 3, 1, 4, 2, 5],
  );
  // Colors first become colors last.
  assertEquals(
    Array.from(transpose([0, 1, 2, 3, 4, 5, 6, 7], [2, 2, 2], [1, 2, 0])),
    [0, 4, 1, 5, 2, 6, 3, 7],
  );
});
