/** OME-Zarr 0.4, which is moved to 0.5 where nodes of Zarr v2 become nodes of Zarr v3. */
import { assertEquals } from "@std/assert";
import { MemoryStore, type StoreKey, v2View } from "../../mod.ts";
import { migrate } from "../../jobs.ts";
import { encodeJson, readJson, V2_GROUP } from "../support/documents.ts";

const ARRAY = {
  ...{ zarr_format: 2, shape: [4, 4], chunks: [4, 4], dtype: "|u1" },
  ...{ compressor: null, filters: null, fill_value: 0, order: "C" },
};
const DATASETS = [{
  path: "0",
  coordinateTransformations: [{ type: "scale", scale: [1, 0.5] }],
}];
const AXES = [{ name: "y", type: "space" }, { name: "x", type: "space" }];
const IMAGE = { name: "a", axes: AXES, datasets: DATASETS };

/** The path of a group, its attributes in Zarr v2, and those in Zarr v3. */
const CASES: [path: string, before: unknown, after: unknown][] = [
  [
    "image",
    { multiscales: [{ ...IMAGE, version: "0.4" }], omero: { a: 1 }, own: 1 },
    {
      own: 1,
      ome: { version: "0.5", multiscales: [IMAGE], omero: { a: 1 } },
    },
  ],
  [
    "image/labels/cells",
    {
      multiscales: [{ ...IMAGE, version: "0.4" }],
      "image-label": { version: "0.4", colors: [] },
    },
    {
      ome: {
        version: "0.5",
        multiscales: [IMAGE],
        "image-label": { colors: [] },
      },
    },
  ],
  ["image/labels", { labels: ["cells"] }, {
    ome: { version: "0.5", labels: ["cells"] },
  }],
  ["list", { labels: ["cells"] }, { labels: ["cells"] }],
  ["plate", { plate: { version: "0.4", wells: [] } }, {
    ome: { version: "0.5", plate: { wells: [], version: "0.5" } },
  }],
  ["plate/A/1", { well: { version: "0.4", images: [] } }, {
    ome: { version: "0.5", well: { images: [] } },
  }],
  ["images", { "bioformats2raw.layout": 3 }, {
    ome: { version: "0.5", "bioformats2raw.layout": 3 },
  }],
  ["images/OME", { series: ["0"] }, {
    ome: { version: "0.5", series: ["0"] },
  }],
  // Versions that lack members which 0.5 requires, and other attributes of the same names.
  ["old", { multiscales: [{ ...IMAGE, version: "0.3" }] }, {
    multiscales: [{ ...IMAGE, version: "0.3" }],
  }],
  ["pyramid", { multiscales: { layout: [] } }, { multiscales: { layout: [] } }],
  ["well", { well: 7 }, { well: 7 }],
];

function storeOf(): MemoryStore {
  return new MemoryStore([
    ["/.zgroup", encodeJson(V2_GROUP)],
    ...CASES.flatMap(([path, attributes]): [StoreKey, Uint8Array][] => [
      [`/${path}/.zgroup`, encodeJson(V2_GROUP)],
      [`/${path}/.zattrs`, encodeJson(attributes)],
      [`/${path}/0/.zarray`, encodeJson(ARRAY)],
    ]),
  ]);
}

Deno.test("v2View and migrate show OME-Zarr 0.4 as 0.5, with the axes as names of dimensions", async () => {
  const [store, migrated] = [storeOf(), storeOf()];
  await migrate(migrated);
  for (const shown of [v2View(store), migrated]) {
    for (const [path, , after] of CASES) {
      const group = await readJson(shown, `/${path}/zarr.json`);
      assertEquals(group.attributes, after, path);
      const array = await readJson(shown, `/${path}/0/zarr.json`);
      const isLevel = /"ome".*"datasets"/.test(JSON.stringify(after));
      assertEquals(
        array.dimension_names,
        isLevel ? ["y", "x"] : undefined,
        path,
      );
    }
  }
});
