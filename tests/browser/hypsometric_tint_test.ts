import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  type Colour,
  hypsometricTint,
} from "../../examples/browser/hypsometric_tint.ts";

const PLAIN: Colour = [104, 148, 104];
const SUMMIT: Colour = [246, 244, 240];
const DEEP: Colour = [28, 62, 112];
const SHORE: Colour = [164, 205, 224];

Deno.test("hypsometricTint() spans the land from the lowest to the highest elevation", () => {
  const tint = hypsometricTint(200, 900);
  assertEquals(tint(200), PLAIN);
  assertEquals(tint(900), SUMMIT);
  // The ramp has eight colours, one at each seventh.
  assertEquals(tint(300), [148, 178, 118]);
  assertEquals(tint(350), [177, 193, 133]);
  assertEquals(tint(800), [189, 172, 158]);
});

Deno.test("hypsometricTint() gives the sea shades of blue, and starts the land at 0", () => {
  const tint = hypsometricTint(-100, 700);
  assertEquals(tint(-100), DEEP);
  assertEquals(tint(-50), [74, 129, 176]);
  assertEquals(tint(0), SHORE);
  const lowest = tint(1e-9);
  assertEquals(lowest.map(Math.round), [...PLAIN]);
  assertEquals(tint(100), [148, 178, 118]);
  assertEquals(tint(700), SUMMIT);
});

Deno.test("hypsometricTint() accepts models of a single elevation, and models below the sea", () => {
  assertEquals(hypsometricTint(42, 42)(42), SUMMIT);
  assertEquals(hypsometricTint(0, 0)(0), SHORE);
  assertEquals(hypsometricTint(0, 7)(0), SHORE);
  assertEquals(hypsometricTint(-7, -7)(-7), DEEP);
  assertEquals(hypsometricTint(-8, -4)(-4), [74, 129, 176]);
});

Deno.test("hypsometricTint() has a colour for every elevation in its range", () => {
  const elevation = fc.double({ min: -12_000, max: 9000, noNaN: true });
  fc.assert(fc.property(fc.array(elevation, { minLength: 1 }), (elevations) => {
    const range = [Math.min(...elevations), Math.max(...elevations)] as const;
    const tint = hypsometricTint(...range);
    for (const elevation of elevations) {
      const colour = tint(elevation);
      const [red, , blue] = colour;
      assert(colour.every((value) => value >= 0 && value <= 255), `${colour}`);
      assertEquals(blue > red, elevation <= 0);
    }
  }));
});
