import { assert, assertEquals, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import {
  arrayMetadata,
  createArrayChunks,
  MemoryStore,
  MetadataError,
} from "../../mod.ts";
import { readTiffOptions, type TiffOptions } from "../../tiff.ts";
import { withZarrParts } from "../../zarrita.ts";
import { encodeJson, groupMetadata } from "../support/documents.ts";

type Attributes = Record<string, unknown>;

/** A group with attributes, and an array of 40 × 50 elements of a data type. */
async function storeWith(
  group: Attributes,
  array: Attributes,
  {
    path = "a",
    names = ["y", "x"],
    shape = [40, 50],
    dataType = "uint16",
    others = {},
  }: {
    path?: string;
    names?: string[];
    shape?: number[];
    dataType?: string;
    others?: Record<string, Attributes>;
  } = {},
): Promise<MemoryStore> {
  const store = new MemoryStore();
  const setGroup = (key: string, attributes: Attributes) =>
    store.set(
      `${key}/zarr.json` as "/",
      encodeJson({ ...groupMetadata(), attributes }),
    );
  await setGroup("", group);
  for (const [name, attributes] of Object.entries(others)) {
    await setGroup(`/${name}`, attributes);
  }
  const metadata = arrayMetadata({
    shape,
    dataType,
    chunkShape: shape,
    dimensionNames: names,
    attributes: array,
  });
  await createArrayChunks(store, path, metadata);
  return store;
}

/** Stores coordinates beside an array. */
async function addLine(
  store: MemoryStore,
  name: string,
  line: number[],
  dataType = "float64",
  attributes: Attributes = {},
) {
  const metadata = arrayMetadata({
    shape: [line.length],
    dataType,
    chunkShape: [Math.ceil(line.length / 3)],
    codecs: ["zstd"],
    attributes,
  });
  await createArrayChunks(store, name, metadata);
  const root = zarr.root(withZarrParts(store)).resolve(name);
  const array = await zarr.open(root, { kind: "array" });
  assert(array.is("float64") || array.is("float32") || array.is("int32"));
  const Numbers = {
    float64: Float64Array,
    float32: Float32Array,
    int32: Int32Array,
  }[array.dtype];
  await zarr.set(array as zarr.Array<"float64", typeof root.store>, null, {
    data: Numbers.from(line) as Float64Array,
    shape: [line.length],
    stride: [1],
  });
}

const UTM = [1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 32632];
const WKT = 'PROJCRS["UTM",BASEGEOGCRS["WGS 84"],ID["EPSG",32632]]';
/** Pixels of 30 × 20 from 500, 900. */
const TRANSFORM = [30, 0, 500, 0, -20, 900];
const PLACED: TiffOptions["georeference"] = {
  modelPixelScale: [30, 20, 0],
  modelTiepoint: [0, 0, 0, 500, 900, 0],
  geoKeyDirectory: UTM,
};
const WITHOUT_SYSTEM = {
  ...PLACED,
  geoKeyDirectory: [1, 1, 0, 1, 1025, 0, 1, 1],
};

type Case = [
  name: string,
  group: Attributes,
  array: Attributes,
  options: Parameters<typeof storeWith>[2],
  expected: TiffOptions["georeference"],
];

const code = { "proj:code": "EPSG:32632" };
const spatial = {
  "spatial:transform": TRANSFORM,
  "spatial:dimensions": ["y", "x"],
};
// deno-fmt-ignore
const PLACES: Case[] = [
  ["no attributes", {}, {}, {}, undefined],
  ["a system alone", {}, code, {}, undefined],
  ["spatial: and proj: of the array", {}, { ...spatial, ...code }, {}, PLACED],
  ["the system of the group", code, spatial, {}, PLACED],
  ["the system of the array before that of the group", { "proj:code": "EPSG:4326" }, { ...spatial, ...code }, {}, PLACED],
  ["a place without a system", {}, spatial, {}, WITHOUT_SYSTEM],
  ["well-known text", {}, { ...spatial, "proj:code": null, "proj:wkt2": WKT }, {}, PLACED],
  ["PROJJSON", {}, { ...spatial, "proj:projjson": { id: { authority: "EPSG", code: 32632 } } }, {}, PLACED],
  ["GeoKeys of adopted files", {}, { ...spatial, geotiff: { geoKeyDirectory: UTM } }, {}, PLACED],
  ["GeoKeys that are none", {}, { ...spatial, ...code, geotiff: { geoKeyDirectory: [1, 1, 0, "x"] } }, {}, PLACED],
  ["GeoKeys beside points of adopted files", {}, { ...spatial, geotiff: { geoKeyDirectory: UTM, modelTiepoint: [1] } }, {}, PLACED],
  ["points", {}, { ...spatial, ...code, "spatial:registration": "node" }, {}, { ...PLACED, geoKeyDirectory: UTM.with(11, 2) }],
  ["a box", {}, { "spatial:bbox": [500, 100, 2000, 900], ...code }, {}, PLACED],
  ["a box of points", {}, { "spatial:bbox": [500, 120, 1970, 900], ...code, "spatial:registration": "node" }, {}, { ...PLACED, geoKeyDirectory: UTM.with(11, 2) }],
  ["a box of points of the group", { "spatial:registration": "node" }, { "spatial:bbox": [500, 120, 1970, 900], ...code }, {}, { ...PLACED, geoKeyDirectory: UTM.with(11, 2) }],
  ["a place of the group", { ...spatial, ...code }, {}, {}, PLACED],
  ["a place of the group for another shape", { ...spatial, ...code, "spatial:shape": [80, 100] }, {}, {}, undefined],
  ["a level", { ...code, "spatial:transform": [15, 0, 500, 0, -10, 900], multiscales: { layout: [{ asset: "b" }, { asset: "a", "spatial:transform": TRANSFORM, "spatial:shape": [40, 50] }] } }, {}, {}, PLACED],
  ["other dimensions", {}, { ...spatial, ...code, "spatial:dimensions": ["x", "y"] }, {}, undefined],
  ["another kind of transform", {}, { ...spatial, ...code, "spatial:transform_type": "rpc" }, {}, undefined],
  ["a group above the group", { ...spatial, ...code }, {}, { path: "g/a", others: { g: {} } }, undefined],
  ["the grid mapping of rioxarray", {}, { grid_mapping: "crs" }, { others: { crs: { GeoTransform: "500 30 0 900 0 -20", crs_wkt: WKT } } }, PLACED],
  ["the grid mapping in its long form", {}, { grid_mapping: "crs: x y" }, { others: { crs: { GeoTransform: "500.0 30.0 0.0 900.0 0.0 -20.0", spatial_ref: WKT } } }, PLACED],
  ["the usual name of a grid mapping", {}, {}, { others: { spatial_ref: { GeoTransform: "500 30 0 900 0 -20", crs_wkt: WKT } } }, PLACED],
  ["a grid mapping with too few numbers", {}, { grid_mapping: "crs" }, { others: { crs: { GeoTransform: "500 30 0", crs_wkt: WKT } } }, undefined],
];

Deno.test("readTiffOptions finds the place of an array in its attributes and those around it", async (t) => {
  for (const [name, group, array, options, expected] of PLACES) {
    await t.step(name, async () => {
      const store = await storeWith(group, array, options);
      const path = options?.path ?? "a";
      const found = await readTiffOptions(store, path);
      assertEquals(found.georeference, expected);
      const none = await readTiffOptions(store, path, { georeference: false });
      assertEquals(none, {});
    });
  }
});

Deno.test("readTiffOptions finds the place of an array in evenly spaced coordinates beside it", async () => {
  const xs = Array.from({ length: 50 }, (_, i) => 515 + 30 * i);
  const ys = Array.from({ length: 40 }, (_, i) => 890 - 20 * i);
  const cases: [number[], number[], string, boolean][] = [
    [ys, xs, "float64", true],
    [ys, xs, "float32", true],
    [ys, xs, "int32", true],
    [ys, xs.with(20, xs[20]! + 1), "float64", false],
    [ys, xs.slice(1), "float64", false],
    [ys, xs.map(() => 7), "float64", false],
    [ys.with(3, NaN), xs, "float64", false],
  ];
  for (const [rows, columns, dataType, isPlaced] of cases) {
    const store = await storeWith({}, { _CRS: { wkt: WKT } });
    await addLine(store, "y", rows, dataType);
    await addLine(store, "x", columns, dataType);
    const { georeference } = await readTiffOptions(store, "a");
    assertEquals(georeference, isPlaced ? PLACED : undefined);
  }
});

Deno.test("readTiffOptions refuses a system that GeoTIFF cannot represent, with the ways out", async () => {
  const store = await storeWith({}, {
    ...spatial,
    "proj:wkt2": 'PROJCRS["my own"]',
  });
  await assertRejects(
    () => readTiffOptions(store, "a"),
    RangeError,
    'found "my own": give the georeference of a GeoTIFF with this system, or none',
  );
  // Any description with a code will do.
  const both = await storeWith({}, {
    ...spatial,
    "proj:code": "ESRI:102100",
    "proj:wkt2": WKT,
  });
  assertEquals((await readTiffOptions(both, "a")).georeference, PLACED);
});

const AXES = [
  { name: "c", type: "channel" },
  { name: "z", type: "space", unit: "micrometer" },
  { name: "y", type: "space", unit: "micrometer" },
  { name: "x", type: "space", unit: "micrometer" },
];
const MULTISCALES = [{
  name: "cells",
  axes: AXES,
  datasets: [
    {
      path: "0",
      coordinateTransformations: [{ type: "scale", scale: [1, 3, 1, 2] }],
    },
    {
      path: "levels/1",
      coordinateTransformations: [
        { type: "scale", scale: [1, 3, 2, 4] },
        { type: "translation", translation: [0, 0, 0.5, 1] },
      ],
    },
  ],
  coordinateTransformations: [
    { type: "scale", scale: [1, 1, 10, 10] },
    { type: "translation", translation: [0, 5, 0, 0] },
  ],
}];
const omero = {
  channels: [{ label: "DAPI", color: "0000FF", active: true }, 7],
};
const STACK = { shape: [2, 5, 40, 50], names: ["c", "z", "y", "x"] };

/** A number as xarray encodes it in arrays of floats. */
function base64(value: number): string {
  const bytes = new Uint8Array(new Float64Array([value]).buffer);
  return btoa(String.fromCharCode(...bytes));
}

Deno.test("readTiffOptions finds the missing element in the attributes of CF", async () => {
  const cases: [
    dataType: string,
    attributes: Attributes,
    noData: number | bigint | undefined,
  ][] = [
    ["int16", {}, undefined],
    ["int16", { _FillValue: -9999 }, -9999],
    ["int16", { _FillValue: 0 }, 0],
    ["int16", { missing_value: -9999 }, -9999],
    ["int16", { missing_value: [-9999] }, -9999],
    ["int16", { _FillValue: -1, missing_value: -2 }, -1],
    ["int16", { _FillValue: 32768, missing_value: -2 }, -2],
    ["int16", { _FillValue: 1.5 }, undefined],
    ["int64", { _FillValue: 2 ** 53 }, 2n ** 53n],
    ["float32", { _FillValue: base64(1e20) }, Math.fround(1e20)],
    ["float64", { _FillValue: base64(-Infinity) }, -Infinity],
    ["float64", { _FillValue: "NaN" }, NaN],
    ["float64", { _FillValue: "AAAA" }, undefined],
    ["complex64", { _FillValue: [base64(0), base64(0)] }, undefined],
    ["bool", { _FillValue: true }, undefined],
  ];
  for (const [dataType, attributes, noData] of cases) {
    const store = await storeWith({}, attributes, { dataType });
    const told = await readTiffOptions(store, "a");
    const message = `${dataType} ${JSON.stringify(attributes)}`;
    assertEquals(told.noData, noData, message);
    assertEquals("noData" in told, noData !== undefined, message);
  }
});

Deno.test("readTiffOptions finds the dimensions of the levels of OME-Zarr 0.4 and 0.5", async () => {
  for (
    const group of [
      { ome: { version: "0.5", multiscales: MULTISCALES, omero } },
      { multiscales: MULTISCALES, omero },
    ]
  ) {
    const level = await storeWith(group, {}, {
      ...STACK,
      path: "levels/1",
      others: { levels: {} },
    });
    assertEquals(await readTiffOptions(level, "levels/1"), {
      ome: {
        name: "cells",
        axes: ["c", "z", "y", "x"],
        scale: [1, 3, 20, 40],
        translation: [0, 5, 5, 10],
        units: [undefined, "micrometer", "micrometer", "micrometer"],
        channels: [{ label: "DAPI", color: "0000FF" }, {}],
      },
    });
    const first = await storeWith(group, {}, { ...STACK, path: "0" });
    const { ome } = await readTiffOptions(first, "0");
    assertEquals([ome?.scale, ome?.translation], [
      [1, 3, 10, 20],
      [0, 5, 0, 0],
    ]);
  }
});

Deno.test("readTiffOptions takes no channels of OME-Zarr before y and x for bands, unless asked", async () => {
  const of = (names: string[], shape: number[]) =>
    storeWith(
      {
        multiscales: [{
          axes: names.map((name) => AXES.find((axis) => axis.name === name)),
          datasets: [{ path: "0" }],
        }],
      },
      {},
      { path: "0", names: names.map(() => null) as never, shape },
    );
  const cyx = await of(["c", "y", "x"], [3, 40, 50]);
  const yxc = await of(["y", "x", "c"], [40, 50, 3]);
  const zyx = await of(["z", "y", "x"], [7, 40, 50]);
  const found = async (...args: Parameters<typeof readTiffOptions>) => {
    const { ome, ...others } = await readTiffOptions(...args);
    return [ome?.axes.join(""), others];
  };
  const auto = { bands: "auto" as const };
  assertEquals(await found(cyx, "0", auto), ["cyx", { bands: undefined }]);
  assertEquals(await found(yxc, "0", auto), ["yxc", { bands: "last" }]);
  assertEquals(await found(zyx, "0", auto), ["zyx", {}]);
  assertEquals(await found(cyx, "0", { bands: "first" }), ["cyx", {}]);
  assertEquals(await found(cyx, "0"), ["cyx", {}]);
});

Deno.test("readTiffOptions leaves out dimensions that OME-XML cannot represent, and documents that are not valid", async () => {
  const of = (changes: Attributes) => ({
    multiscales: [{ ...MULTISCALES[0], ...changes }],
  });
  const cases: [Attributes, Parameters<typeof storeWith>[2]][] = [
    [of({}), { ...STACK, path: "2" }], // no level
    [of({}), { ...STACK, path: "0", dataType: "int64" }],
    [of({ axes: AXES.with(1, { name: "depth", type: "space" }) }), {
      ...STACK,
      path: "0",
    }],
    [of({ axes: AXES.slice(1) }), { ...STACK, path: "0" }],
    [of({ axes: AXES.toReversed() }), { ...STACK, path: "0" }],
    [of({ axes: "czyx" }), { ...STACK, path: "0" }],
    [of({ datasets: null }), { ...STACK, path: "0" }],
    [{ multiscales: [7, null] }, { ...STACK, path: "0" }],
    [{ multiscales: {} }, { ...STACK, path: "0" }],
  ];
  for (const [group, options] of cases) {
    const store = await storeWith(group, {}, options);
    assertEquals(await readTiffOptions(store, options!.path!), {});
  }
  const damaged = await storeWith(of({}), {}, { ...STACK, path: "0" });
  await damaged.set("/zarr.json", new TextEncoder().encode("{"));
  assertEquals(await readTiffOptions(damaged, "0"), {});
  await assertRejects(() => readTiffOptions(damaged, "nothing"), MetadataError);
});
