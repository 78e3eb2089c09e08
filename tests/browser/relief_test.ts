import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import * as zarr from "zarrita";
import { hillShade } from "../../examples/browser/hill_shade.ts";
import {
  type Colour,
  hypsometricTint,
} from "../../examples/browser/hypsometric_tint.ts";
import { readElevationModel } from "../../examples/browser/read_elevation_model.ts";
import {
  type ElevationModel,
  elevationRange,
  relief,
} from "../../examples/browser/relief.ts";
import { spacingOf } from "../../examples/browser/spacing.ts";
import {
  type ArrayMetadata,
  createArrayChunks,
  MemoryStore,
} from "../../mod.ts";
import { withZarrParts } from "../../zarrita.ts";
import { concatParts } from "../support/metadata.ts";

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

const PLAIN: Colour = [104, 148, 104];
const TOP: Colour = [246, 244, 240];
const DEEP: Colour = [28, 62, 112];
const SHORE: Colour = [164, 205, 224];

Deno.test("hypsometricTint() gives the sea shades of blue, and starts the land at 0", () => {
  const tint = hypsometricTint(-100, 700);
  assertEquals(tint(-100), DEEP);
  assertEquals(tint(-50), [74, 129, 176]);
  assertEquals(tint(0), SHORE);
  const lowest = tint(1e-9);
  assertEquals(lowest.map(Math.round), [...PLAIN]);
  assertEquals(tint(100), [148, 178, 118]);
  assertEquals(tint(700), TOP);
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

const BYTES = { name: "bytes", configuration: { endian: "little" } };

/** Composes the metadata of an array in parts, by default of 3 × 5 points. */
function metadata(changes: Partial<ArrayMetadata> = {}): ArrayMetadata {
  return {
    zarr_format: 3,
    node_type: "array",
    shape: [3, 5],
    data_type: "float32",
    chunk_grid: { name: "regular", configuration: { chunk_shape: [2, 2] } },
    chunk_key_encoding: { name: "suffix", configuration: { suffix: ".bin" } },
    fill_value: -1,
    codecs: [BYTES],
    storage_transformers: [
      concatParts({ key_suffix: "" }, { key_suffix: ".end", size: 2 }),
    ],
    ...changes,
  };
}

async function storeWith(metadata: ArrayMetadata): Promise<MemoryStore> {
  const store = new MemoryStore();
  await createArrayChunks(store, "", metadata);
  return store;
}

const ELEVATIONS = Float32Array.from({ length: 15 }, (_, i) => i * i / 2);

for (
  const [order, codecs] of Object.entries({
    "rows": [BYTES],
    "columns": [{ name: "transpose", configuration: { order: [1, 0] } }, BYTES],
  })
) {
  Deno.test(`readElevationModel() returns the rows of an array that is stored by ${order}`, async () => {
    const store = await storeWith(metadata({ codecs }));
    const array = await zarr.open.v3(withZarrParts(store), { kind: "array" });
    await zarr.set(array as zarr.Array<"float32", typeof array.store>, null, {
      data: ELEVATIONS,
      shape: [3, 5],
      stride: [5, 1],
    });
    const progress: number[][] = [];
    const { elevations, ...model } = await readElevationModel(
      store,
      (...now) => progress.push(now),
    );
    assertEquals(Array.from(elevations), Array.from(ELEVATIONS));
    assertEquals(model, {
      width: 5,
      height: 3,
      fillValue: -1,
      spacing: { x: 30, y: 30 },
    });
    assertEquals(progress, [1, 2, 3, 4, 5, 6].map((chunk) => [chunk, 6]));
  });
}

Deno.test("readElevationModel() refuses arrays of other ranks and data types", async () => {
  const long = metadata({ data_type: "int64" });
  await assertRejects(
    async () => await readElevationModel(await storeWith(long)),
    TypeError,
    "Expected an array of numbers in two dimensions, found int64 in 2",
  );
  const deep = metadata({
    shape: [3, 5, 1],
    chunk_grid: { name: "regular", configuration: { chunk_shape: [2, 2, 1] } },
  });
  await assertRejects(
    async () => await readElevationModel(await storeWith(deep)),
    TypeError,
    "found float32 in 3",
  );
});
