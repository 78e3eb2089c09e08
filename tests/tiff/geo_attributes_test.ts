import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { MemoryStore } from "../../mod.ts";
import {
  geoAttributes,
  geoPlaceOf,
  geoPlaceOfFiles,
  joinAttributes,
} from "../../src/tiff/geo_attributes.ts";
import { adoptTiffs, type TiffPlace } from "../../tiff.ts";
import type { TiffEntry } from "./build_tiff.ts";
import { geoEntries, pyramidFile } from "../adopt/pyramid_file.ts";

function assertClose(actual: number, expected: number): void {
  assert(Math.abs(actual - expected) < 1e-6, `${actual} is not ${expected}`);
}

const SCALE = {
  modelPixelScale: [10, 20, 0],
  modelTiepoint: [0, 0, 0, 1000, 2000, 0],
};
const keys = (...entries: number[][]) => ({
  geoKeyDirectory: [1, 1, 0, entries.length, ...entries.flat()],
});
const PROJECTED = [1024, 0, 1, 1];
const GEOGRAPHIC = [1024, 0, 1, 2];
const POINT = [1025, 0, 1, 2];

const PLACES: [
  what: string,
  place: TiffPlace,
  expected:
    | { transform?: number[]; code?: string; isPoint?: boolean }
    | undefined,
][] = [
  ["scale and tiepoint", SCALE, { transform: [10, 0, 1000, 0, -20, 2000] }],
  [
    "a tiepoint in the picture",
    { ...SCALE, modelTiepoint: [5, 3, 0, 1000, 2000, 0] },
    { transform: [10, 0, 950, 0, -20, 2060] },
  ],
  [
    "a negative scale, whose sign other programs ignore",
    { ...SCALE, modelPixelScale: [10, -20, 0] },
    { transform: [10, 0, 1000, 0, -20, 2000] },
  ],
  [
    "a rotation",
    {
      modelTransformation: [
        ...[3, 4, 0, 100],
        ...[4, -3, 0, 200],
        ...[0, 0, 0, 0],
        ...[0, 0, 0, 1],
      ],
    },
    { transform: [3, 4, 100, 4, -3, 200] },
  ],
  [
    "points",
    { ...SCALE, ...keys(POINT) },
    { transform: [10, 0, 995, 0, -20, 2010], isPoint: true },
  ],
  [
    "points that are rotated",
    {
      modelTransformation: [3, 4, 0, 100, 4, -3, 0, 200, ...Array(8).fill(0)],
      ...keys(POINT),
    },
    { transform: [3, 4, 96.5, 4, -3, 199.5], isPoint: true },
  ],
  [
    "a projected system",
    { ...SCALE, ...keys(PROJECTED, [2048, 0, 1, 4326], [3072, 0, 1, 32632]) },
    { transform: [10, 0, 1000, 0, -20, 2000], code: "EPSG:32632" },
  ],
  [
    "a geographic system",
    { ...SCALE, ...keys(GEOGRAPHIC, [2048, 0, 1, 4326]) },
    { transform: [10, 0, 1000, 0, -20, 2000], code: "EPSG:4326" },
  ],
  [
    "a geographic system without a model",
    { ...SCALE, ...keys([2048, 0, 1, 4258]) },
    { transform: [10, 0, 1000, 0, -20, 2000], code: "EPSG:4258" },
  ],
  ["no tags of use", { geoAsciiParams: "WGS 84|" }, undefined],
  ["a scale of 0", { ...SCALE, modelPixelScale: [0, 20, 0] }, undefined],
  ["a scale without tiepoint", { modelPixelScale: [1, 1, 0] }, undefined],
  ["a short transformation", { modelTransformation: [1, 2, 3] }, undefined],
  [
    "a transformation to a line",
    { modelTransformation: [1, 2, 0, 0, 2, 4, 0, 0, ...Array(8).fill(0)] },
    undefined,
  ],
  [
    "numbers that are none",
    { ...SCALE, modelTiepoint: [0, 0, 0, NaN, 2000, 0] },
    undefined,
  ],
  [
    "a directory that claims more keys than it has",
    { ...SCALE, geoKeyDirectory: [1, 1, 0, 9999, 3072, 0, 1, 32632] },
    { transform: [10, 0, 1000, 0, -20, 2000], code: "EPSG:32632" },
  ],
];

for (const [what, place, expected] of PLACES) {
  Deno.test(`geoPlaceOf reads ${what}`, () => {
    const found = geoPlaceOf(place);
    assertEquals(
      found && { ...found, notes: undefined },
      expected && {
        isPoint: false,
        ...expected,
        notes: undefined,
      } as unknown,
    );
    assertEquals(found?.notes ?? [], []);
  });
}

Deno.test("geoPlaceOf keeps the tags that no attribute says, with a note", () => {
  const cases: [TiffPlace, TiffPlace, string][] = [
    [
      {
        ...SCALE,
        ...keys(PROJECTED, [3072, 0, 1, 32767]),
        geoDoubleParams: [1, 2],
        geoAsciiParams: "mine|",
      },
      {
        ...keys(PROJECTED, [3072, 0, 1, 32767]),
        geoDoubleParams: [1, 2],
        geoAsciiParams: "mine|",
      },
      "no code of EPSG",
    ],
    [
      { ...SCALE, ...keys([3072, 0, 1, 32632], [4096, 0, 1, 5773]) },
      keys([3072, 0, 1, 32632], [4096, 0, 1, 5773]),
      "vertical",
    ],
    [
      {
        modelTiepoint: [0, 0, 0, 1, 2, 0, 9, 9, 0, 3, 4, 0],
        ...keys([2048, 0, 1, 4326]),
      },
      { modelTiepoint: [0, 0, 0, 1, 2, 0, 9, 9, 0, 3, 4, 0] },
      "2 ground control points",
    ],
  ];
  for (const [place, tags, note] of cases) {
    const found = geoPlaceOf(place);
    assertEquals(found?.tags, tags);
    assertEquals(found?.notes.length, 1);
    assertEquals(found!.notes[0]!.includes(note), true, found!.notes[0]);
  }
});

Deno.test("geoAttributes give every pixel of a level the coordinates of the pixels it stands for", () => {
  const number = fc.integer({ min: -50, max: 50 }).map((n) => n / 4);
  const factor = fc.constantFrom(1, 2, 3, 4.5);
  fc.assert(
    fc.property(
      fc.tuple(number, number, number, number, number, number),
      fc.boolean(),
      factor,
      factor,
      ([a, b, c, d, e, f], isPoint, factorX, factorY) => {
        fc.pre(a * e - b * d !== 0);
        const place = {
          transform: [a, b, c, d, e, f] as const,
          isPoint,
          notes: [],
        };
        const [height, width] = [7, 5];
        const placed = geoAttributes(
          place,
          { height, width, factorX, factorY },
          ["y", "x"],
        );
        const level = placed["spatial:transform"] as number[];
        // Coordinates of corners, or of the center of a pixel with its index.
        const at = (column: number, row: number) => {
          const [k, l] = isPoint ? [column - 0.5, row - 0.5] : [column, row];
          return [
            level[0]! * k + level[1]! * l + level[2]!,
            level[3]! * k + level[4]! * l + level[5]!,
          ];
        };
        const [xs, ys]: [number[], number[]] = [[], []];
        const inset = isPoint ? 0.5 : 0;
        for (const column of [0, 2, width]) {
          for (const row of [0, 3, height]) {
            const [x, y] = at(column, row);
            const [own, other] = [column * factorX, row * factorY];
            assertClose(x!, a * own + b * other + c);
            assertClose(y!, d * own + e * other + f);
          }
        }
        for (const column of [inset, width - inset]) {
          for (const row of [inset, height - inset]) {
            const [x, y] = at(column, row);
            xs.push(x!);
            ys.push(y!);
          }
        }
        const box = placed["spatial:bbox"] as number[];
        const expected = [
          Math.min(...xs),
          Math.min(...ys),
          Math.max(...xs),
          Math.max(...ys),
        ];
        box.forEach((value, i) => assertClose(value, expected[i]!));
        assertEquals(
          placed["spatial:registration"],
          isPoint ? "node" : "pixel",
        );
      },
    ),
  );
});

/** A file of 100 × 100 pixels in a mosaic, whose first pixel is at `x`. */
function fileAt(column: number, x: number, more: TiffPlace = {}) {
  return {
    key: `/${column}.tif`,
    row: 0,
    column,
    height: 100,
    width: 100,
    place: { ...SCALE, modelTiepoint: [0, 0, 0, x, 2000, 0], ...more },
  };
}

Deno.test("geoPlaceOfFiles takes places that fit up to a hundredth of a pixel, and no others", () => {
  const other = { ...fileAt(100, 2000), place: undefined };
  const cases: [string, Parameters<typeof geoPlaceOfFiles>[0], boolean][] = [
    ["two files", [fileAt(0, 1000), fileAt(100, 2000)], true],
    ["a file that is not the first", [fileAt(200, 3000)], true],
    ["0.009 pixels", [fileAt(0, 1000), fileAt(100, 2000.09)], true],
    ["0.011 pixels", [fileAt(0, 1000), fileAt(100, 2000.11)], false],
    ["a gap", [fileAt(0, 1000), fileAt(100, 2010)], false],
    [
      "another scale",
      [fileAt(0, 1000), fileAt(100, 2000, { modelPixelScale: [10.01, 20, 0] })],
      false,
    ],
    [
      "another system",
      [fileAt(0, 1000), fileAt(100, 2000, keys([3072, 0, 1, 32633]))],
      false,
    ],
    ["points", [fileAt(0, 1000), fileAt(100, 2000, keys(POINT))], false],
    ["a file without a place", [fileAt(0, 1000), other], false],
  ];
  for (const [what, files, isFit] of cases) {
    const { place, notes } = geoPlaceOfFiles(files);
    assertEquals(
      place?.transform,
      isFit ? [10, 0, 1000, 0, -20, 2000] : undefined,
      what,
    );
    assertEquals(notes.length, isFit ? 0 : 1, what);
  }
  assertEquals(geoPlaceOfFiles([other]), { notes: [] });
});

Deno.test("adoptTiffs tells the place of an overview, of a stack, and under names of the user", async () => {
  const sizes = [[32, 48], [16, 24]] as const;
  const file = pyramidFile(sizes, { entries: geoEntries(1000, 2000) });
  const store = new MemoryStore([
    ["/a/c/0/0.tif", file],
    ["/b/c/0/0/0.tif", file],
    ["/b/c/1/0/0.tif", file],
  ]);
  const one = await adoptTiffs(store, "a", {
    overview: 1,
    dimensionNames: ["lat", "lon"],
    attributes: { "spatial:registration": "own" },
  });
  const { attributes } = one.chunks.metadata;
  assertEquals(attributes?.["spatial:transform"], [20, 0, 1000, 0, -40, 2000]);
  assertEquals(attributes?.["spatial:dimensions"], ["lat", "lon"]);
  assertEquals(attributes?.["spatial:registration"], "own");
  const stack = await adoptTiffs(store, "b", { stack: true });
  const placed = stack.chunks.metadata.attributes;
  assertEquals(placed?.["spatial:transform"], [10, 0, 1000, 0, -20, 2000]);
  assertEquals(placed?.["spatial:shape"], [32, 48]);
  const unnamed = await adoptTiffs(store, "a", {
    dimensionNames: [null, null],
    overwrite: true,
  });
  assertEquals(unnamed.chunks.metadata.attributes, undefined);
});

Deno.test("adoptTiffs takes numbers of GeoTIFF that are texts for none", async () => {
  const entries: TiffEntry[] = [
    [33550, "ascii", "4.915e-07 3.739e-07 0\0"],
    [33922, "ascii", "0 0 0 -0.95 37.68 0\0"],
    [34735, "ascii", "1 1 0 7 1024\0"],
  ];
  const file = pyramidFile([[16, 16]], { entries });
  const store = new MemoryStore([["/c/0/0.tif", file]]);
  const { chunks } = await adoptTiffs(store, "");
  assertEquals(chunks.metadata.attributes, undefined);
});

Deno.test("joinAttributes puts attributes of the user over others, and joins conventions", () => {
  assertEquals(
    joinAttributes({ a: 1, b: 2, zarr_conventions: [1] }, {
      b: 3,
      zarr_conventions: [2],
    }),
    { a: 1, b: 3, zarr_conventions: [1, 2] },
  );
  assertEquals(joinAttributes({}, undefined), {});
});
