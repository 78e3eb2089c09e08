import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { hillShade } from "../../examples/browser/hill_shade.ts";

type Vector = [east: number, north: number, up: number];

/** Computes the brightness of a plane from the angle between the light and its normal vector. */
function brightness(toEast: number, toNorth: number): number {
  const exaggeration = 1.6;
  const [a, b]: [Vector, Vector] = [
    [1, 0, exaggeration * toEast],
    [0, 1, exaggeration * toNorth],
  ];
  const normal: Vector = [
    a[1] * b[2] - a[2] * b[1],
    a[2] * b[0] - a[0] * b[2],
    a[0] * b[1] - a[1] * b[0],
  ];
  const light: Vector = [-1 / 2, 1 / 2, Math.sqrt(1 / 2)];
  const dot = normal.reduce((sum, value, i) => sum + value * light[i]!, 0);
  return Math.max(0, dot / Math.hypot(...normal));
}

function assertClose(actual: number, expected: number): void {
  assert(Math.abs(actual - expected) < 1e-9, `${actual}, not ${expected}`);
}

Deno.test("hillShade() gives all points of a plane, also at its edges, the brightness of its slope", () => {
  const slope = fc.double({ min: -5, max: 5, noNaN: true });
  const distance = fc.double({ min: 0.1, max: 100, noNaN: true });
  fc.assert(
    fc.property(slope, slope, distance, distance, (east, north, x, y) => {
      const shade = hillShade(
        (column, row) =>
          column >= 0 && column < 3 && row >= 0 && row < 3
            ? column * x * east - row * y * north
            : undefined,
        { x, y },
      );
      for (let row = 0; row < 3; row++) {
        for (let column = 0; column < 3; column++) {
          assertClose(shade(column, row), brightness(east, north));
        }
      }
    }),
  );
});

Deno.test("hillShade() gives slopes that face away from the north-west less light", () => {
  const towards = (east: number, north: number) =>
    hillShade((x, y) => x * east - y * north, { x: 1, y: 1 })(0, 0);
  const level = towards(0, 0);
  assertClose(level, Math.sqrt(1 / 2));
  for (const [east, north] of [[0.1, 0], [0, -0.1], [0.1, -0.1]] as const) {
    assert(towards(east, north) > level);
    assert(towards(-east, -north) < level);
  }
  assertEquals(towards(-5, 5), 0);
});

Deno.test("hillShade() gives a point without neighbours the brightness of level ground", () => {
  const shade = hillShade(
    (x, y) => x === 0 && y === 0 ? 100 : undefined,
    { x: 30, y: 30 },
  );
  assertClose(shade(0, 0), Math.sqrt(1 / 2));
});

Deno.test("hillShade() computes the slope from the neighbours of a point, not from the point", () => {
  const shade = hillShade(
    (x, y) => x === 0 && y === 0 ? 1000 : 3 * x - 2 * y,
    { x: 1, y: 1 },
  );
  assertClose(shade(0, 0), brightness(3, 2));
});
