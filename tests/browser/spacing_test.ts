import { assert, assertEquals } from "@std/assert";
import { spacingOf } from "../../examples/browser/spacing.ts";

const SIZE = { width: 10, height: 20 };
const BOX = { west: 5, south: 59.5, east: 6, north: 60.5 };

Deno.test("spacingOf() divides the bounding box, whose degrees of longitude shrink towards the poles", () => {
  const near = (actual: number, expected: number) =>
    assert(Math.abs(actual - expected) < 0.01, `${actual}, not ${expected}`);
  // A degree of latitude is 111,195 m, and one of longitude half of it at 60° north or south.
  for (const [south, north] of [[59.5, 60.5], [-60.5, -59.5]]) {
    const box = { ...BOX, south, north };
    const { x, y } = spacingOf({ bounding_box: box }, SIZE);
    near(x, 5559.75);
    near(y, 5559.75);
  }
  const equator = { west: -180, south: -90, east: 180, north: 90 };
  const { x, y } = spacingOf({ bounding_box: equator }, SIZE);
  near(x, 36 * 111_195);
  near(y, 9 * 111_195);
});

Deno.test("spacingOf() assumes 30 metres without a bounding box in degrees", () => {
  const boxes: unknown[] = [
    undefined,
    null,
    7,
    [5, 59.5, 6, 60.5],
    { ...BOX, west: 6 },
    { ...BOX, north: 59.5 },
    { ...BOX, north: 90.1 },
    { ...BOX, south: -90.1 },
    { ...BOX, west: "5" },
    { ...BOX, west: -Infinity },
    { ...BOX, east: NaN },
    { west: 5, south: 59.5, east: 6 },
  ];
  for (const box of boxes) {
    assertEquals(spacingOf({ bounding_box: box }, SIZE), { x: 30, y: 30 });
  }
  assertEquals(spacingOf({}, SIZE), { x: 30, y: 30 });
});
