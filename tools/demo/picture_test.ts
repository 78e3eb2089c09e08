import { assertEquals } from "@std/assert";
import { decode } from "fast-png";
import { relief } from "../../examples/browser/relief.ts";
import { picture } from "./picture.ts";

Deno.test("picture() has the pixels of the map", () => {
  const model = {
    elevations: [9, -1, 20, 35, 0, 7],
    width: 3,
    height: 2,
    fillValue: -1,
    spacing: { x: 30, y: 30 },
  };
  const { width, height, channels, depth, data } = decode(picture(model));
  assertEquals([width, height, channels, depth], [3, 2, 4, 8]);
  assertEquals(Array.from(data), Array.from(relief(model)));
});
