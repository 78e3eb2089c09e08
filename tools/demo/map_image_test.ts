import { assertEquals } from "@std/assert";
import { decode } from "fast-png";
import { relief } from "../../examples/browser/relief.ts";
import { mapImage } from "./map_image.ts";

const FILL = -1;

/** A plane that rises to the east, of points that are 30 m apart. */
function plane(width: number, height: number) {
  return {
    elevations: Array.from(
      { length: width * height },
      (_, i) => 10 * (i % width),
    ),
    width,
    height,
    fillValue: FILL,
    spacing: { x: 30, y: 30 },
  };
}

function colourAt(png: Uint8Array, x: number, y: number): number[] {
  const { data, width } = decode(png);
  return Array.from(
    data.subarray(4 * (y * width + x), 4 * (y * width + x) + 4),
  );
}

Deno.test("mapImage() has square pixels, two for a point from west to east", () => {
  const sizes = [[30, 30], [30, 45], [60, 30]].map(([x, y]) => {
    const model = { ...plane(6, 4), spacing: { x: x!, y: y! } };
    const { width, height, channels, depth } = decode(mapImage(model));
    return { width, height, channels, depth };
  });
  const pixels = { channels: 4, depth: 8 };
  assertEquals(sizes, [
    { width: 12, height: 8, ...pixels },
    { width: 12, height: 12, ...pixels },
    { width: 12, height: 4, ...pixels },
  ]);
});

Deno.test("mapImage() interpolates the colours of the relief", () => {
  const model = plane(3, 1);
  const points = relief(model);
  const mixed = (left: number, right: number) =>
    [0, 1, 2, 3].map((channel) => {
      const [a, b] = [
        points[4 * left + channel]!,
        points[4 * right + channel]!,
      ];
      return Math.round(a + (b - a) / 4);
    });
  const png = mapImage(model);
  const expected = [mixed(0, 0), mixed(0, 1), mixed(1, 0), mixed(1, 2)];
  expected.forEach((colour, x) => {
    assertEquals(
      colourAt(png, x, 0).map((value, i) => Math.abs(value - colour[i]!) <= 1),
      [true, true, true, true],
      `pixel ${x}`,
    );
  });
  assertEquals(colourAt(png, 5, 0), mixed(2, 2));
});

Deno.test("mapImage() draws a scale bar of 5 km where there is room for it", () => {
  const model = plane(200, 40);
  const { width, height } = decode(mapImage(model));
  const isBlack = (x: number) =>
    colourAt(mapImage(model), x, height - MARGIN_TO_BAR).join() === "0,0,0,255";
  // 5 km are 5000 / 15 pixels.
  const black = [17, 18, 350, 351].map(isBlack);
  assertEquals([width, black], [400, [false, true, true, false]]);
});

/** From the lower edge of the map to the middle of the bar. */
const MARGIN_TO_BAR = 15;
