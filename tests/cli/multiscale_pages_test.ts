/** Pages about groups whose attributes name levels. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  arrayMetadata,
  createArrayChunks,
  MemoryStore,
  type StoreKey,
} from "../../mod.ts";
import { paintChannels } from "../../page/colors.ts";
import { createPages } from "../../src/cli/page/create_pages.ts";
import { channelsOf, multiscalesOf } from "../../src/hierarchy/mod.ts";
import { withoutNamedNodes } from "../../src/hierarchy/mod.ts";
import { encodeJson, utf8 } from "../support/documents.ts";
import { runs } from "../support/runs.ts";

function group(attributes: unknown): Uint8Array {
  return encodeJson({ zarr_format: 3, node_type: "group", attributes });
}

/** Creates arrays, given their shapes by path. */
async function storeOf(
  arrays: Readonly<Record<string, readonly number[]>>,
  attributes: unknown,
): Promise<MemoryStore> {
  const store = new MemoryStore([["/zarr.json", group(attributes)]]);
  for (const [path, shape] of Object.entries(arrays)) {
    const metadata = arrayMetadata({
      shape,
      dataType: "uint16",
      chunkShape: shape.map((length) => Math.min(length, 4)),
    });
    await createArrayChunks(store, path, metadata);
  }
  return store;
}

/** The page of a node: its text, without tags and with single spaces, and what its script draws. */
async function pageOf(store: MemoryStore, path = "/") {
  const problems: unknown[] = [];
  const pages = createPages(store, "data", {
    onError: (error) => problems.push(error),
  });
  const response = await pages(
    new Request(`http://host${path}`, { headers: { Accept: "text/html" } }),
  );
  const html = await response!.text();
  const script = /id="array">([^<]*)</.exec(html)?.[1];
  const text = html.replaceAll(/<(?:script|style)[^]*?<\/\w+>/g, "")
    .replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");
  return {
    ...{ html, text, problems, status: response!.status },
    pictured: script === undefined ? undefined : JSON.parse(script),
  };
}

const scale = (...scale: number[]) => [{ type: "scale", scale }];
const CZYX = [
  { name: "c", type: "channel" },
  ...["z", "y", "x"].map((name) => ({
    name,
    type: "space",
    unit: "micrometer",
  })),
];

/** Attributes, the texts of the page, and the array that the page draws. */
const CASES: Readonly<
  Record<string, {
    arrays: Record<string, number[]>;
    attributes: unknown;
    texts: string[];
    pictured: Record<string, unknown>;
  }>
> = {
  "OME-Zarr 0.5 with channels": {
    arrays: { "0": [2, 6, 20, 30], "1": [2, 6, 10, 15], "2": [2, 6, 5, 8] },
    attributes: {
      ome: {
        version: "0.5",
        multiscales: [{
          name: "cells",
          type: "gaussian",
          axes: CZYX,
          datasets: [1, 2, 4].map((factor, i) => ({
            path: `${i}`,
            coordinateTransformations: scale(1, 0.5, 0.36 * factor, 9e-7),
          })),
          coordinateTransformations: scale(1, 1, 10, 1),
        }],
        omero: {
          channels: [
            { label: "DAPI", color: "0000FF", window: { start: 1, end: 9 } },
            { color: "red", active: false, window: { start: 9, end: 1 } },
          ],
          rdefs: { defaultZ: 4 },
        },
      },
    },
    texts: [
      "name cells attributes OME-Zarr 0.5",
      "dimensions c (channel), z (space, micrometer), y (space, micrometer), x (space, micrometer) resampling gaussian",
      "0 2 × 6 × 20 × 30 uint16 in chunks of 2 × 4 × 4 × 4",
      "pixels of 0.5 × 3.6 × 9e-7 micrometer",
      "2 2 × 6 × 5 × 8 uint16 in chunks of 2 × 4 × 4 × 4 pixels of 0.5 × 14.4 × 9e-7 micrometer",
      "The smallest of 3 levels, 2 .",
    ],
    pictured: {
      path: "2",
      url: "http://host/2",
      names: ["c", "z", "y", "x"],
      axes: { rows: 2, columns: 3, colors: 0 },
      start: [0, 4, 0, 0],
      channels: [
        {
          index: 0,
          label: "DAPI",
          color: "#0000ff",
          window: [1, 9],
          isActive: true,
        },
        { index: 1, label: "channel 1", color: "#ffffff", isActive: false },
      ],
    },
  },
  "OME-Zarr 0.4 without channels": {
    arrays: { "a/0": [3, 4, 8, 8], "a/1": [3, 4, 4, 4] },
    attributes: {
      multiscales: [{
        version: "0.4",
        axes: [{ name: "t", type: "time", unit: "second" }, ...CZYX.slice(1)],
        datasets: [{ path: "a/0" }, {
          path: "./a//1/",
          coordinateTransformations: scale(5, 2, 2, 2),
        }],
      }],
    },
    texts: [
      "OME-Zarr 0.4",
      "t (time, second), z (space, micrometer), y (space,",
      "./a//1/ 3 × 4 × 4 × 4",
      "pixels of 2 × 2 × 2 micrometer",
    ],
    pictured: {
      path: "a/1",
      axes: { rows: 2, columns: 3 },
      start: [0, 2, 0, 0],
      channels: [],
    },
  },
  "GeoZarr with groups": {
    arrays: {
      "r10/x": [16],
      "r10/b1": [16, 16],
      "r20/x": [8],
      "r20/b1": [8, 8],
    },
    attributes: {
      "proj:code": "EPSG:32633",
      "spatial:dimensions": ["y", "x"],
      multiscales: {
        layout: [
          { asset: "r10", "spatial:transform": [10, 0, 5e5, 0, -10, 5e6] },
          {
            asset: "r20",
            derived_from: "r10",
            "spatial:transform": [20, 0, 5e5, 0, -20, 5e6],
          },
        ],
        resampling_method: "average",
      },
    },
    texts: [
      "attributes GeoZarr multiscales dimensions y (space), x (space) resampling average projection EPSG:32633",
      "r10/b1 16 × 16 uint16 in chunks of 4 × 4 pixels of 10 × 10",
      "pixels of 20 × 20",
    ],
    pictured: { path: "r20/b1", axes: { rows: 0, columns: 1 } },
  },
  "ndpyramid": {
    arrays: { "0/air": [2, 5, 5], "1/air": [2, 8, 8], "0/time": [2] },
    attributes: {
      multiscales: [{
        type: "reduce",
        datasets: [0, 1].map((level) => ({
          ...{ path: `${level}`, level },
          crs: "EPSG:3857",
        })),
        metadata: { method: "pyramid_reproject" },
      }],
    },
    texts: [
      "attributes ndpyramid resampling reduce projection EPSG:3857",
      "0/air",
    ],
    pictured: { path: "0/air", axes: { rows: 1, columns: 2 } },
  },
  "two conventions about the same levels": {
    arrays: { "0": [8, 8], "1": [4, 4] },
    attributes: {
      ome: {
        version: "0.5",
        multiscales: [{
          axes: ["y", "x"].map((name) => ({ name, type: "space" })),
          datasets: [1, 2].map((factor, i) => ({
            path: `${i}`,
            coordinateTransformations: scale(factor, factor),
          })),
        }],
      },
      multiscales: {
        layout: [
          { asset: "1", "spatial:transform": [60, 0, 0, 0, -61, 0] },
          { asset: "0" },
        ],
      },
    },
    texts: [
      "attributes OME-Zarr 0.5, GeoZarr multiscales",
      "pixels of 1 × 1",
      "pixels of 61 × 60",
    ],
    pictured: { path: "1" },
  },
};

for (
  const [name, { arrays, attributes, texts, pictured }] of Object.entries(CASES)
) {
  Deno.test(`a page of a group shows the levels of ${name}`, async () => {
    const page = await pageOf(await storeOf(arrays, attributes));
    assertEquals([page.status, page.problems], [200, []]);
    for (const text of texts) {
      assert(page.text.includes(text), `${text}\n${page.text}`);
    }
    for (const [member, value] of Object.entries(pictured)) {
      assertEquals(page.pictured[member], value, member);
    }
    assert(page.html.includes('<div id="view">'));
  });
}

Deno.test("a page of a group says which levels cannot be shown, and why", async () => {
  const datasets = [
    "0",
    "missing",
    "../0",
    "../../x",
    ".",
    "",
    "/",
    "0/..",
    "sub",
  ]
    .concat("__proto__", "broken").map((path) => ({ path }));
  const store = await storeOf({ "a/0": [8, 8] }, {});
  await store.set(
    "/a/zarr.json",
    group({ multiscales: [{ datasets: [...datasets, {}, { path: 7 }] }] }),
  );
  await store.set("/a/sub/zarr.json", group({}));
  await store.set("/a/broken/zarr.json", utf8("<html>"));
  const { text, pictured, problems, status } = await pageOf(store, "/a");
  assertEquals([status, pictured.path, problems.length], [200, "a/0", 1]);
  for (
    const line of [
      "missing there is no such node",
      "../0 not below this group",
      "../../x not below this group",
      ". not below this group",
      "0/.. not below this group",
      "sub a group without arrays",
      "__proto__ there is no such node",
      "broken /a/broken/zarr.json: The metadata is invalid",
      "without a path not below this group",
    ]
  ) assert(text.includes(line), `${line}\n${text}`);
  await store.delete("/a/0/zarr.json");
  const without = await pageOf(store, "/a");
  assertEquals([without.status, without.pictured], [200, undefined]);
  assert(without.text.includes("No level can be read"), without.text);
});

Deno.test("a page of a group draws the first image of which a level can be read", async () => {
  const { pictured, text } = await pageOf(
    await storeOf({ "b": [8, 8] }, {
      multiscales: [{ datasets: [{ path: "a" }] }, {
        datasets: [{ path: "b" }],
      }],
    }),
  );
  assertEquals(pictured.path, "b");
  assert(text.includes("a there is no such node"), text);
});

const EVIL = "</script><img src=x onerror=alert(1)>";

Deno.test("a page of a group shows some of many levels and channels", async () => {
  const long = "x".repeat(10_000);
  const many = Array.from({ length: 10_000 }, (_, i) => ({ path: `${i}` }));
  const omero = {
    channels: Array.from({ length: 100 }, () => ({ label: long })),
  };
  const axes = [CZYX[0], ...CZYX.slice(2)];
  for (
    const attributes of [
      { multiscales: [{ axes, datasets: many, name: long }], omero },
      { multiscales: Array(1000).fill({ datasets: [{ path: "0" }] }) },
      { multiscales: { layout: many } },
      {
        multiscales: [{
          axes,
          datasets: [{
            path: "0",
            coordinateTransformations: scale(1, 1e300, 1),
          }],
          coordinateTransformations: scale(1, 1e300, 1),
        }],
      },
    ]
  ) {
    const { html, text, status, pictured } = await pageOf(
      await storeOf({ "0": [50, 8, 8] }, attributes),
    );
    const [shown] = html.split('id="attributes"');
    assertEquals([status, shown!.length < 200_000], [200, true]);
    assert(!text.includes("Infinity"), text);
    assert((pictured?.channels.length ?? 0) <= 16);
  }
});

Deno.test("multiscalesOf leaves out nothing but what is of no known form", () => {
  assertEquals(multiscalesOf({}, ""), []);
  assertEquals(
    multiscalesOf({ multiscales: [{ datasets: [] }] }, "").length,
    1,
  );
  const [image] = multiscalesOf({
    multiscales: [{ axes: ["y", "x"], datasets: [{ path: "0" }] }],
  }, "a/b");
  assertEquals(image!.axes.map(({ name }) => name), ["y", "x"]);
  assertEquals(image!.levels.map(({ path }) => path), ["a/b/0"]);
  const [off] = channelsOf({ omero: { channels: [{ active: false }] } });
  assertEquals(off!.isActive, true);
});

Deno.test("paintChannels adds the colors of channels", () => {
  const samples = [0, 100, 50, 300, 100, NaN, 25, 200];
  const channels = [
    { index: 0, color: "#ff0000", window: [0, 100] as const },
    { index: 1, color: "#00ff80", window: [100, 300] as const },
  ];
  assertEquals([...paintChannels(samples, 2, channels)], [
    ...[0, 0, 0, 255],
    ...[128, 255, 128, 255],
    ...[255, 0, 0, 255],
    ...[64, 128, 64, 255],
  ]);
  assertEquals(
    [...paintChannels([5, 5], 1, [{ index: 0, color: "#ffffff" }])],
    [
      ...[0, 0, 0, 255, 0, 0, 0, 255],
    ],
  );
  assertEquals(
    [...paintChannels([1, 3], 1, [{ index: 0, color: "#ffffff" }])],
    [
      ...[0, 0, 0, 255, 255, 255, 255, 255],
    ],
  );
});

Deno.test("a page of a group that cannot list finds its levels by their paths", async () => {
  const store = await storeOf({ "0": [8, 8] }, {
    multiscales: [{ datasets: [{ path: "0" }, { path: "1" }] }],
  });
  const blind = { get: (key: StoreKey) => store.get(key) } as MemoryStore;
  const { text, pictured } = await pageOf(blind);
  assertEquals(pictured.path, "0");
  assert(text.includes("1 /1/zarr.json: "), text);
});

/** Attributes that use all members that pages and conversions read. */
const RICH = {
  ...CASES["GeoZarr with groups"]!.attributes as Record<string, unknown>,
  ome: {
    ...(CASES["OME-Zarr 0.5 with channels"]!.attributes as { ome: object }).ome,
    labels: ["a"],
    plate: { wells: [{ path: "0" }] },
    well: { images: [{ path: "0" }] },
    series: ["0"],
  },
  omero: { channels: [{ color: "FF0000", window: { start: 0, end: 1 } }] },
};

const anyValue = fc.oneof(
  fc.constantFrom<unknown>(
    EVIL,
    "red;x:url(//a)",
    1e308,
    null,
    true,
    0,
    -1,
    1.5,
    1e300,
    2n ** 70n,
    "",
    "..",
    "0",
  ),
  fc.jsonValue(),
);

/** A value with one of its inner values replaced: by numbers that lead to the inner value. */
function replaced(
  value: unknown,
  steps: readonly number[],
  by: unknown,
): unknown {
  const [step, ...rest] = steps;
  if (step === undefined || typeof value !== "object" || value === null) {
    return by;
  }
  const members = Object.entries(value);
  if (members.length === 0) return by;
  const [name, inner] = members[step % members.length]!;
  const changed = replaced(inner, rest, by);
  return Array.isArray(value)
    ? value.with(Number(name), changed)
    : { ...value, [name]: changed };
}

const anyAttributes = fc.array(
  fc.tuple(fc.array(fc.nat(), { maxLength: 7 }), anyValue),
  { minLength: 1, maxLength: 3 },
).map((changes) =>
  changes.reduce<unknown>(
    (value, [steps, by]) => replaced(value, steps, by),
    RICH,
  )
);

Deno.test("a page of a group comes for any attributes", async () => {
  let images = 0;
  await fc.assert(
    fc.asyncProperty(anyAttributes, async (attributes) => {
      withoutNamedNodes({ attributes }, "a", (path) => path.length % 2 === 0);
      const store = new MemoryStore();
      const json = JSON.stringify(
        { zarr_format: 3, node_type: "group", attributes },
        (_, value) => typeof value === "bigint" ? `BIG${value}` : value,
      ).replaceAll(/"BIG(\d+)"/g, "$1");
      await store.set("/zarr.json", utf8(json));
      const metadata = arrayMetadata({
        ...{ shape: [4, 6], dataType: "uint8", chunkShape: [4, 6] },
      });
      for (const path of ["0", "1"]) {
        await createArrayChunks(store, path, metadata);
      }
      const { status, problems, html, text, pictured } = await pageOf(store);
      assertEquals(/<img|alert\(1\)<\/script/.test(html), false, json);
      const [shown] = text.split(" Attributes ");
      const isOdd = /\bNaN\b|Infinity|undefined|\[object/.test(shown!);
      assertEquals(isOdd, false, json);
      for (const { color } of pictured?.channels ?? []) {
        assert(/^#[\da-f]{6}$/.test(color), color);
      }
      for (const start of pictured?.start ?? []) assert(start >= 0, json);
      const isValid = typeof attributes === "object" && attributes !== null &&
        !Array.isArray(attributes);
      assertEquals(status, isValid || attributes === null ? 200 : 502, json);
      if (status === 200) assertEquals(problems, [], json);
      if (html.includes('class="levels"')) images++;
    }),
    { numRuns: runs(500) },
  );
  assert(images > 0, `${images} images`);
});
