import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  arrayMetadata,
  encodeShard,
  MemoryStore,
  parseShardLayout,
} from "../../mod.ts";
import {
  adoptTiffs,
  readTiffOptions,
  tiffContainer,
  type TiffOptions,
} from "../../tiff.ts";

type Written = Pick<TiffOptions, "noData" | "values">;

/** Stores a TIFF of bands of 16 × 16 elements for each of several options, side by side. */
async function storeWith(
  files: readonly Written[],
  { dataType = "int16", bands = 1 } = {},
): Promise<MemoryStore> {
  const store = new MemoryStore();
  const shape = [bands, 16, 16];
  const metadata = arrayMetadata({
    shape,
    dataType,
    shardShape: shape,
    chunkShape: [1, 16, 16],
    dimensionNames: ["band", "y", "x"],
  });
  const layout = parseShardLayout(metadata.codecs[0], shape);
  const size = Number(/\d+/.exec(dataType)![0]) / 8;
  const tiles = Array.from({ length: bands }, () => new Uint8Array(256 * size));
  for (const [i, options] of files.entries()) {
    const of = tiffContainer(metadata, { ...options, bands: "first" });
    const container = of([0, 0, 0]);
    await store.set(`/${i}.tif`, encodeShard(tiles, layout, { container }));
  }
  return store;
}

/** Adopts the files, and returns the attributes that the tags tell, and the notes. */
async function adopted(store: MemoryStore, count = 1, bands = 1) {
  const { chunks, report } = await adoptTiffs(store, "", {
    files: Array.from({ length: count }, (_, i) => ({
      key: `/${i}.tif` as const,
      coordinates: bands > 1 ? [0, 0, i] : [0, i],
    })),
    chunkKeyEncoding: {
      name: "template",
      configuration: { format: "{-1}.tif" },
    },
  });
  return {
    attributes: chunks.metadata.attributes ?? {},
    notes: report.notes,
  };
}

const KELVIN = { scale: 0.01, offset: 273.15, unit: "K", description: "T" };

Deno.test("adoptTiffs and readTiffOptions take what elements mean from GDAL_METADATA and back", async () => {
  const cases: [
    files: Written[],
    form: { dataType?: string; bands?: number },
    attributes: Record<string, unknown>,
    notes?: RegExp[],
  ][] = [
    [[{}], {}, {}],
    [[{ noData: -9999 }], {}, { _FillValue: -9999 }],
    [[{ noData: 0 }], {}, { _FillValue: 0 }],
    [[{ noData: NaN }], {}, {}],
    [[{ noData: 1.5 }], { dataType: "float32" }, {
      _FillValue: "AAAAAAAA+D8=",
    }],
    [[{ values: { scale: 1, offset: 0, unit: "" } }], {}, {}],
    [[{ values: { offset: -1e-7 } }], {}, { add_offset: -1e-7 }],
    [[{ values: KELVIN }, { values: KELVIN }], { bands: 3 }, {
      scale_factor: 0.01,
      add_offset: 273.15,
      units: "K",
      long_name: "T",
    }],
    [[{ values: { description: ["r", "", "b"] } }], { bands: 3 }, {
      long_name: ["r", "", "b"],
    }],
    // Neither number is right without the other.
    [
      [{ values: KELVIN }, { values: { ...KELVIN, scale: 0.1 } }],
      {},
      { units: "K", long_name: "T" },
      [/^The attributes scale_factor and add_offset are left out/],
    ],
    [
      [{ values: { unit: "m" } }, { values: { description: "n" } }],
      {},
      {},
      [
        /^The attribute long_name is left out/,
        /^The attribute units is left out/,
      ],
    ],
    [[{ noData: 0 }, {}], {}, {}, [/^The attribute _FillValue is left out/]],
  ];
  for (const [files, form, attributes, notes = []] of cases) {
    const store = await storeWith(files, form);
    const { bands } = form;
    const found = await adopted(store, files.length, bands);
    const what = JSON.stringify(files);
    assertEquals(found.attributes, attributes, what);
    assertEquals(found.notes.length, notes.length, what);
    for (const [i, note] of notes.entries()) {
      assert(note.test(found.notes[i]!), found.notes[i]);
    }
    if (notes.length > 0) continue;
    const told = await readTiffOptions(store, "", {
      bands: bands === undefined ? undefined : "first",
    });
    const again = await storeWith([told], form);
    assertEquals(await adopted(again, 1, bands), found, what);
  }
});

Deno.test("tiffContainer escapes texts in GDAL_METADATA", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: "grapheme", minLength: 1 }),
      fc.string({ minLength: 1 }),
      async (unit, description) => {
        // XML has no other control characters, and ends of lines are spaces.
        const plain = (text: string) =>
          // deno-lint-ignore no-control-regex
          !/[\0-\x1f\ufffe\uffff]|(?! )\s/.test(text) && text.isWellFormed();
        fc.pre(plain(unit) && plain(description));
        const store = await storeWith([{ values: { unit, description } }]);
        const { attributes } = await adopted(store);
        assertEquals(attributes, { units: unit, long_name: description });
      },
    ),
    { numRuns: 20 },
  );
});

Deno.test("adoptTiffs reads nothing wrong in damaged GDAL_METADATA", async () => {
  const item = (attributes: string, value: string) =>
    `<GDALMetadata><Item ${attributes}>${value}</Item></GDALMetadata>`;
  const texts: [text: string, attributes: Record<string, unknown>][] = [
    [item('sample="0" role="scale"', "2"), { scale_factor: 2 }],
    [item('sample="0" role="SCALE" name="x"', " 2 "), { scale_factor: 2 }],
    [item('sample="0" role="scale"', "two"), {}],
    [item('sample="0" role="scale"', ""), {}],
    [item('sample="0" role="scale"', "Infinity"), {}],
    [item('sample="0" role="scale"', "<a>2</a>"), {}],
    [item('sample="1" role="scale"', "2"), {}],
    [item('sample="-1" role="scale"', "2"), {}],
    [item('sample="0" role="constructor"', "2"), {}],
    [item('role="unittype"', "m"), {}],
    [item('name="AREA_OR_POINT"', "Area"), {}],
    [item('sample="0" role="unittype"', "&amp;lt;m"), { units: "<m" }],
    [item('sample="0" role="unittype"', "&lt;m"), { units: "<m" }],
    ["<GDALMetadata/>", {}],
    ["<GDALMetadata><Item sample=", {}],
    ["no XML", {}],
    [
      `<!DOCTYPE a [<!ENTITY b "${"b".repeat(99)}">]>${
        item('sample="0" role="scale"', "&b;")
      }`,
      {},
    ],
  ];
  for (const [text, attributes] of texts) {
    // The same length as that of the text that the container writes.
    const description = "d".repeat(text.length + 99);
    const store = await storeWith([{ values: { description } }]);
    const bytes = new Uint8Array((await store.get("/0.tif"))!);
    const latin = Array.from(bytes, (b) => String.fromCharCode(b)).join("");
    const start = latin.indexOf("<GDALMetadata>");
    const end = latin.indexOf("</GDALMetadata>") + "</GDALMetadata>".length;
    assert(start > 0 && end > start);
    bytes.fill(0x20, start, end);
    bytes.set(new TextEncoder().encode(text), start);
    await store.set("/0.tif", bytes);
    const found = await adopted(store);
    assertEquals(found.attributes, attributes, text);
  }
});

Deno.test("tiffContainer refuses names for other bands than the array has", () => {
  const metadata = arrayMetadata({
    shape: [2, 16, 16],
    dataType: "uint8",
    shardShape: [2, 16, 16],
    chunkShape: [1, 16, 16],
  });
  const values = { description: ["one"] };
  assertThrows(
    () => tiffContainer(metadata, { bands: "first", values }),
    RangeError,
    "one name for each of the 2 bands, found 1",
  );
});
