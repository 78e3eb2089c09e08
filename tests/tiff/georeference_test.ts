import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { geoKeysOf } from "../../src/tiff/georeference.ts";
import {
  type ArrayMetadata,
  arrayMetadata,
  encodeShard,
  MemoryStore,
  parseShardLayout,
} from "../../mod.ts";
import {
  describeTiff,
  tiffContainer,
  type TiffOptions,
  type TiffPage,
} from "../../tiff.ts";

const GEOGRAPHIC = 'GEOGCRS["WGS 84",DATUM["World",ELLIPSOID["WGS 84",1,2]]';
const PROJECTED = 'PROJCRS["UTM",BASEGEOGCRS["WGS 84",ID["EPSG",4326]]';

/** The GeoKeys of a code. */
function keysOf(code: number, kind: "projected" | "geographic") {
  return {
    geoKeyDirectory: kind === "projected"
      ? [1, 1, 0, 2, 1024, 0, 1, 1, 3072, 0, 1, code]
      : [1, 1, 0, 2, 1024, 0, 1, 2, 2048, 0, 1, code],
  };
}

const SYSTEMS: [
  system: unknown,
  code: number,
  kind: "projected" | "geographic",
][] = [
  ["EPSG:32632", 32632, "projected"],
  [" epsg:4326 ", 4326, "geographic"],
  ["urn:ogc:def:crs:EPSG::3857", 3857, "projected"],
  ["urn:ogc:def:crs:EPSG:9.8.6:25832", 25832, "projected"],
  ["http://www.opengis.net/def/crs/EPSG/0/32632", 32632, "projected"],
  ["https://www.opengis.net/def/crs/EPSG/0/4258", 4258, "geographic"],
  ["OGC:CRS84", 4326, "geographic"],
  ["http://www.opengis.net/def/crs/OGC/1.3/CRS84", 4326, "geographic"],
  ["urn:ogc:def:crs:OGC:1.3:CRS84", 4326, "geographic"],
  [`${GEOGRAPHIC},ID["EPSG",4326]]`, 4326, "geographic"],
  [
    `${PROJECTED},USAGE[SCOPE["a]b ""c"""]],ID["EPSG",32632]]`,
    32632,
    "projected",
  ],
  [
    'PROJCS["UTM",GEOGCS["W",AUTHORITY["EPSG","4326"]],AUTHORITY["EPSG","32632"]]',
    32632,
    "projected",
  ],
  ['GEOGCS ( "W" , AUTHORITY ( "EPSG" , "4326" ) )', 4326, "geographic"],
  [
    `COMPOUNDCRS["both",${PROJECTED},ID["EPSG",32632]],VERTCRS["h",ID["EPSG",5773]],ID["EPSG",7415]]`,
    32632,
    "projected",
  ],
  [
    `COMPD_CS["both",GEOGCS["W",AUTHORITY["EPSG","4326"]],VERT_CS["h",AUTHORITY["EPSG","5773"]]]`,
    4326,
    "geographic",
  ],
  [
    `BOUNDCRS[SOURCECRS[${PROJECTED},ID["EPSG",32632]]],TARGETCRS[${GEOGRAPHIC},ID["EPSG",4326]]]]`,
    32632,
    "projected",
  ],
  [
    { type: "ProjectedCRS", id: { authority: "EPSG", code: 32632 } },
    32632,
    "projected",
  ],
  [
    {
      type: "CompoundCRS",
      components: [{ id: { authority: "EPSG", code: 4326 } }],
    },
    4326,
    "geographic",
  ],
  [
    {
      type: "BoundCRS",
      source_crs: { id: { authority: "EPSG", code: "25832" } },
    },
    25832,
    "projected",
  ],
];

Deno.test("geoKeysOf finds the code of a system in all notations", () => {
  for (const [system, code, kind] of SYSTEMS) {
    assertEquals(geoKeysOf(system), keysOf(code, kind), String(system));
  }
  // The ends of ranges, too.
  for (const code of [4326, 4258, 3819, 3821, 20046]) {
    assertEquals(geoKeysOf(`EPSG:${code}`), keysOf(code, "geographic"));
  }
  for (const code of [32632, 2000, 3857, 3816, 2193]) {
    assertEquals(geoKeysOf(`EPSG:${code}`), keysOf(code, "projected"));
  }
});

/** PROJJSON of systems in one another. */
function nested(depth: number): unknown {
  let system: unknown = { id: { authority: "EPSG", code: 4326 } };
  for (let i = 0; i < depth; i++) {
    system = { type: "BoundCRS", source_crs: system };
  }
  return system;
}

Deno.test("geoKeysOf refuses systems without a code that GeoTIFF takes", () => {
  const refused: [unknown, string][] = [
    ["", 'found ""'],
    ["EPSG:4978", 'found "EPSG:4978"'], // geocentric
    ["EPSG:4979", 'found "EPSG:4979"'],
    ["EPSG:1999", 'found "EPSG:1999"'],
    ["EPSG:3822", 'found "EPSG:3822"'],
    ["EPSG:5773", 'found "EPSG:5773"'], // vertical
    ["EPSG:900913", 'found "EPSG:900913"'],
    ["ESRI:102100", 'found "ESRI:102100"'],
    ["IAU_2015:30100", "found"],
    [`${PROJECTED}]`, 'found "UTM"'],
    [`${PROJECTED},ID["ESRI",102100]]`, 'found "UTM"'],
    [`${PROJECTED},ID["EPSG",32632]`, "found"], // cut
    [`${PROJECTED}]]]]`, "found"],
    ['VERTCRS["h",ID["EPSG",5773]]', 'found "h"'],
    ['PROJCS["mine",GEOGCS["G"],PROJECTION["Krovak"]]', 'found "mine"'],
    ["[[[", "found"],
    [`${"COMPD_CS[".repeat(1e5)}${PROJECTED}${"]".repeat(1e5)}`, "found"],
    [nested(1e4), "found"],
    [{ type: "CompoundCRS" }, "found"],
    [{ type: "CompoundCRS", components: [] }, "found"],
    [{ type: "CompoundCRS", components: { 0: { id: 4326 } } }, "found"],
    [{ type: "CompoundCRS", components: [null] }, "found"],
    [{ type: "BoundCRS" }, "found"],
    [{ type: "BoundCRS", source_crs: "EPSG:4326" }, "found"],
    [{ id: { authority: "EPSG", code: {} } }, "found"],
    [{ name: "my own", type: "ProjectedCRS" }, 'found "my own"'],
    [{ id: { authority: "EPSG", code: 1.5 } }, "found"],
    [4326, "found 4326"],
    [null, "found null"],
  ];
  for (const [system, message] of refused) {
    const error = assertThrows(() => geoKeysOf(system), RangeError, message);
    assertEquals(error.message.includes("code of EPSG"), true);
  }
});

Deno.test("geoKeysOf takes any text, and ends", () => {
  const texts = fc.oneof(
    fc.string(),
    fc.array(
      fc.constantFrom("[", "]", '"', ",", "PROJCRS", "ID", "EPSG", "4326"),
    ).map((tokens) => tokens.join("")),
  );
  fc.assert(fc.property(texts, (text) => {
    try {
      geoKeysOf(text);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
  }));
});

/** An array of 60 × 100 elements in shards of 32 × 48. */
const METADATA: ArrayMetadata = arrayMetadata({
  shape: [60, 100],
  dataType: "uint8",
  shardShape: [32, 48],
  chunkShape: [16, 16],
});

/** The first page of a shard. */
async function pageOf(
  options: TiffOptions,
  shard: number[],
): Promise<TiffPage> {
  const layout = parseShardLayout(METADATA.codecs[0], [32, 48]);
  const container = tiffContainer(METADATA, options)(shard);
  const tiles = [0, 1, 2, 3, 4, 5].map(() => new Uint8Array(256));
  const bytes = encodeShard(tiles, layout, { container });
  const store = new MemoryStore([["/a.tiff", bytes]]);
  const { pages } = await describeTiff((range) =>
    store.getRange("/a.tiff", range)
  );
  return pages[0]!;
}

Deno.test("tiffContainer writes the place of each shard from numbers and a system", async () => {
  const crs = "EPSG:32632";
  const upright = await pageOf(
    { georeference: { transform: [10, 0, 500, 0, -20, 900], crs } },
    [1, 2],
  );
  assertEquals(upright.place, {
    modelPixelScale: [10, 20, 0],
    modelTiepoint: [0, 0, 0, 500 + 96 * 10, 900 - 32 * 20, 0],
    geoKeyDirectory: [
      ...[1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 32632],
    ],
  });
  const boxed = await pageOf(
    { georeference: { bbox: [500, -300, 1500, 900], crs } },
    [1, 2],
  );
  assertEquals(boxed.place, upright.place);
  const points = await pageOf(
    { georeference: { bbox: [500, -280, 1490, 900], isPoint: true } },
    [0, 0],
  );
  assertEquals(points.place, {
    modelPixelScale: [10, 20, 0],
    modelTiepoint: [0, 0, 0, 500, 900, 0],
    geoKeyDirectory: [1, 1, 0, 1, 1025, 0, 1, 2],
  });
  const turned = await pageOf(
    { georeference: { transform: [1, 2, 500, 3, 4, 900], crs: "EPSG:4326" } },
    [1, 2],
  );
  assertEquals(turned.place, {
    modelTransformation: [
      ...[1, 2, 0, 500 + 96 + 2 * 32],
      ...[3, 4, 0, 900 + 3 * 96 + 4 * 32],
      ...[0, 0, 0, 0, 0, 0, 0, 1],
    ],
    geoKeyDirectory: [
      ...[1, 1, 0, 3, 1024, 0, 1, 2, 1025, 0, 1, 1, 2048, 0, 1, 4326],
    ],
  });
});

Deno.test("tiffContainer writes tags of GeoTIFF as they are, also those that describeTiff finds", async () => {
  const first = await pageOf(
    { georeference: { bbox: [0, 0, 100, 60], crs: "EPSG:4326" } },
    [0, 0],
  );
  const again = await pageOf({ georeference: first.place! }, [1, 1]);
  assertEquals(again.place, {
    ...first.place,
    modelTiepoint: [0, 0, 0, 48, 60 - 32, 0],
  });
});

Deno.test("tiffContainer refuses georeferences that do not fit the array", () => {
  const refused: [TiffOptions["georeference"], string][] = [
    [{ bbox: [1, 0, 1, 5] }, "a bounding box [xmin, ymin, xmax, ymax]"],
    [{ bbox: [0, 5, 1, 0] }, "that is not empty"],
    [
      { transform: [1, 0, 0, 0, -1, 0], size: [60, 99] },
      "Expected the georeference of an array of 60 × 100 elements along y and x, found one for 60 × 99",
    ],
    [{ bbox: [0, 0, 1, 1], crs: "EPSG:1" }, "code of EPSG"],
  ];
  for (const [georeference, message] of refused) {
    assertThrows(
      () => tiffContainer(METADATA, { georeference }),
      RangeError,
      message,
    );
  }
  const wrong: unknown[] = [
    { transform: [1, 0, 0, 0, 1] },
    { bbox: [0, 0, 1, NaN] },
    { bbox: [0, 0, 1, 1], transform: [1, 0, 0, 0, 1, 0] },
    { bbox: [0, 0, 1, 1], crs: 4326 },
    { bbox: [0, 0, 1, 1], epsg: 4326 },
    { bbox: [0, 0, 1, 1], isPoint: "yes" },
    { bbox: [0, 0, 1, 1], size: [1] },
  ];
  for (const georeference of wrong) {
    assertThrows(
      () => tiffContainer(METADATA, { georeference } as TiffOptions),
      TypeError,
      "or transform of 6 numbers or bbox of 4",
    );
  }
});
