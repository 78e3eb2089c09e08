import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { rational } from "../../src/tiff/tiff_array.ts";

Deno.test("rational gives fractions that equal numbers where such fractions exist, and close ones elsewhere", () => {
  const known: [number, [number, number]][] = [
    [0, [0, 1]],
    [72, [72, 1]],
    [300.25, [1201, 4]],
    [1 / 3, [1, 3]],
    [2 ** 32 - 1, [2 ** 32 - 1, 1]],
  ];
  for (const [number, fraction] of known) {
    assertEquals(rational(number), fraction);
  }
  fc.assert(
    fc.property(fc.double({ min: 1e-4, max: 1e5, noNaN: true }), (number) => {
      const [above, below] = rational(number);
      assert(Number.isInteger(above) && above < 2 ** 32);
      assert(Number.isInteger(below) && below > 0 && below < 2 ** 32);
      assert(Math.abs(above / below - number) <= number * 1e-4);
    }),
  );
});
