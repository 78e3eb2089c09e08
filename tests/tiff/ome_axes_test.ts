import { assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import * as zarr from "zarrita";
import { MemoryStore } from "../../mod.ts";
import { PageProblem } from "../../src/tiff/tiff_tags.ts";
import { readSeries } from "../../src/tiff/ome_axes.ts";
import {
  adoptTiffs,
  type TiffAxis,
  type TiffPage,
  verifyAdopted,
} from "../../tiff.ts";
import { withZarrParts } from "../../zarrita.ts";
import { elementAt, pyramidFile } from "../adopt/pyramid_file.ts";
import type { TiffEntry } from "./build_tiff.ts";

/** Pages of 6 × 8 pixels, of which the first one has a description. */
function pagesOf(
  count: number,
  description: string,
  bands = 1,
): TiffPage[] {
  return Array.from({ length: count }, (_, i) => ({
    kind: "image",
    axes: (bands === 1 ? ["y", "x"] : ["y", "x", "band"]) as TiffAxis[],
    shape: bands === 1 ? [6, 8] : [6, 8, bands],
    tileShape: bands === 1 ? [6, 8] : [6, 8, bands],
    dataType: "uint8",
    fillValue: 0,
    codecs: [{ name: "bytes" }],
    tiles: [{ offset: 8 + i, length: 1 }],
    ...i === 0 && { description },
  }));
}

function omeOf(attributes: string, content = "", root = ""): string {
  return `<?xml version="1.0" encoding="UTF-8"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06" ${root}><Image ID="Image:0" Name="a &amp; b"><Pixels ID="Pixels:0" SizeX="8" SizeY="6" ${attributes}>${content}</Pixels></Image></OME>`;
}

interface Counts {
  T: number;
  C: number;
  Z: number;
}

/** The pages of planes in C order of t, c and z, by counting through all planes in the order of the file. */
function slowPages(order: string, counts: Counts, ifds: number[]): number[] {
  const found: Record<string, number> = {};
  const [a, b, c] = [...order] as (keyof Counts)[];
  let plane = 0;
  for (let k = 0; k < counts[c!]; k++) {
    for (let j = 0; j < counts[b!]; j++) {
      for (let i = 0; i < counts[a!]; i++) {
        const at = { [a!]: i, [b!]: j, [c!]: k } as unknown as Counts;
        found[`${at.T} ${at.C} ${at.Z}`] = ifds[plane++]!;
      }
    }
  }
  const pages: number[] = [];
  for (let t = 0; t < counts.T; t++) {
    for (let c = 0; c < counts.C; c++) {
      for (let z = 0; z < counts.Z; z++) pages.push(found[`${t} ${c} ${z}`]!);
    }
  }
  return pages;
}

Deno.test("readSeries finds the page of each plane, in every order and by every form of TiffData", async () => {
  const count = fc.integer({ min: 1, max: 4 });
  const orders = ["ZCT", "ZTC", "CZT", "CTZ", "TZC", "TCZ"];
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...orders),
      fc.record({ T: count, C: count, Z: count }),
      fc.constantFrom("none", "empty", "each", "runs"),
      fc.constantFrom(1, 3),
      fc.integer(),
      async (order, counts, form, bands, seed) => {
        const total = counts.T * counts.C * counts.Z;
        const inOrder = Array.from({ length: total }, (_, i) => i);
        const ifds = form === "each"
          ? inOrder.map((i) => (i * 7 + Math.abs(seed)) % total)
          : inOrder;
        const isPermuted = new Set(ifds).size === total;
        if (!isPermuted) return;
        const firsts = inOrder.map((i) => {
          const at: Record<string, number> = {};
          let rest = i;
          for (const axis of order) {
            const length = counts[axis as keyof Counts];
            at[axis] = (rest % length) * (axis === "C" ? bands : 1);
            rest = Math.floor(rest / length);
          }
          return `FirstT="${at.T}" FirstC="${at.C}" FirstZ="${at.Z}"`;
        });
        const content = {
          none: "",
          empty: "<TiffData/>",
          each: firsts.map((first, i) =>
            `<TiffData IFD="${ifds[i]}" ${first}/>`
          ).join(""),
          runs: firsts.flatMap((first, i) =>
            i % 3 > 0 ? [] : [
              `<TiffData IFD="${i}" PlaneCount="${
                Math.min(3, total - i)
              }" ${first}/>`,
            ]
          ).join(""),
        }[form];
        const ome = omeOf(
          `SizeT="${counts.T}" SizeC="${
            bands * counts.C
          }" SizeZ="${counts.Z}" DimensionOrder="XY${order}"`,
          content,
        );
        const found = await readSeries(
          pagesOf(total, ome, bands),
          undefined,
        );
        const { counts: { t, c, z }, pages, name } = found!.series;
        assertEquals(name, "a & b");
        assertEquals([t, c, z], [counts.T, counts.C, counts.Z]);
        assertEquals(pages, slowPages(order, counts, ifds));
      },
    ),
    { numRuns: 200 },
  );
});

Deno.test("readSeries numbers the planes of ImageJ by channels, slices and frames", async () => {
  const counts = { T: 2, C: 3, Z: 4 };
  const description =
    "ImageJ=1.53\nimages=24\nchannels=3\nslices=4\nframes=2\nhyperstack=true\nunit=micron\nspacing=-0.5\nfinterval=3\n";
  const found = await readSeries(pagesOf(24, description), 0);
  const inOrder = Array.from({ length: 24 }, (_, i) => i);
  assertEquals(found!.series.pages, slowPages("CZT", counts, inOrder));
  assertEquals(found!.series.scales, {
    z: { scale: 0.5, unit: "micrometer" },
    t: { scale: 3, unit: "second" },
  });
});

const SIZES = 'SizeT="1" SizeC="2" SizeZ="3" DimensionOrder="XYZCT"';

Deno.test("readSeries reads sizes, units, and the names and colors of channels", async () => {
  const ome = omeOf(
    `${SIZES} PhysicalSizeX="0.25" PhysicalSizeY="250" PhysicalSizeYUnit="nm" PhysicalSizeZ="2" PhysicalSizeZUnit="\u03bcm" TimeIncrement="0.5" TimeIncrementUnit="min"`,
    '<Channel ID="Channel:0:0" Name="DAPI &lt;1&gt;" Color="65535"/><Channel Color="-16776961"/>',
  );
  const { series } = (await readSeries(pagesOf(6, ome), undefined))!;
  assertEquals(series.scales, {
    x: { scale: 0.25, unit: "micrometer" },
    y: { scale: 250, unit: "nanometer" },
    z: { scale: 2, unit: "micrometer" },
    t: { scale: 0.5, unit: "minute" },
  });
  assertEquals(series.channels, [
    { label: "DAPI <1>", color: "0000FF" },
    { color: "FF0000" },
  ]);
  // Sizes that are no numbers, and units that OME-Zarr does not have, are left out.
  const odd = omeOf(
    `${SIZES} PhysicalSizeX="x" PhysicalSizeY="-1" PhysicalSizeZ="3" PhysicalSizeZUnit="pixel"`,
  );
  const other = await readSeries(pagesOf(6, odd), undefined);
  assertEquals(other!.series.scales, { z: { scale: 3 } });
  assertEquals(other!.series.channels, undefined);
});

Deno.test("readSeries gives each sample of a channel its name and color", async () => {
  const cases: [
    bands: number,
    count: number,
    content: string,
    channels: unknown,
  ][] = [
    [3, 3, '<Channel SamplesPerPixel="3" Name="a"/>', [
      { label: "a", color: "FF0000" },
      { label: "a", color: "00FF00" },
      { label: "a", color: "0000FF" },
    ]],
    [
      2,
      4,
      '<Channel SamplesPerPixel="2" Name="a"/><Channel SamplesPerPixel="2" Color="65535"/>',
      [
        ...[{ label: "a" }, { label: "a" }],
        ...[{ color: "0000FF" }, { color: "0000FF" }],
      ],
    ],
    [1, 1, '<Channel Name="a"/>', [{ label: "a" }]],
    [1, 1, '<Channel SamplesPerPixel="9" Name="a"/>', [{ label: "a" }]],
    // As many as the samples, or none.
    [3, 3, '<Channel SamplesPerPixel="2" Name="a"/>', undefined],
    [1, 1, '<Channel Name="a"/><Channel Name="b"/>', undefined],
    [
      65535,
      65535,
      '<Channel SamplesPerPixel="65535" Name="a"/>'.repeat(1e4),
      undefined,
    ],
    [1, 1, "<Channel/>", undefined],
  ];
  for (const [bands, count, content, channels] of cases) {
    const ome = omeOf(
      `SizeT="1" SizeC="${count}" SizeZ="1" DimensionOrder="XYZCT"`,
      content,
    );
    const pages = pagesOf(count / bands, ome, bands);
    const { series } = (await readSeries(pages, undefined))!;
    assertEquals(series.channels, channels as typeof series.channels);
  }
});

const UUID = 'UUID="urn:uuid:1"';
const OTHER =
  '<TiffData IFD="0" FirstZ="3"><UUID FileName="b.ome.tif">urn:uuid:2</UUID></TiffData>';
/** A part of the error, the description, and the numbers of pages and bands and of the series that is asked for. */
const REFUSED: [
  message: string,
  description: string,
  pages?: number,
  bands?: number,
  series?: number,
][] = [
  [
    't 0, c 1, z 0 of its OME-XML, which has pages in another file such as "b.ome.tif": choose a page',
    omeOf(
      SIZES,
      `<TiffData IFD="0" PlaneCount="3"><UUID FileName="a.ome.tif">urn:uuid:1</UUID></TiffData>${OTHER}`,
      UUID,
    ),
  ],
  ["has 3 pages, where its OME-XML counts 6", omeOf(SIZES, OTHER, UUID), 3],
  [
    'has its OME-XML in another file, "a.companion.ome"',
    '<OME><BinaryOnly MetadataFile="a.companion.ome" UUID="urn:uuid:1"/></OME>',
  ],
  ["OME-XML without an image", "<OME></OME>"],
  ['SizeZ "0"', omeOf('SizeT="1" SizeC="2" SizeZ="0"')],
  ['SizeZ "z"', omeOf('SizeT="1" SizeC="2" SizeZ="z"')],
  [
    "has 6 pages, where its OME-XML counts 810000000000000000",
    omeOf('SizeT="900000000" SizeC="900000000" SizeZ="1"'),
  ],
  [
    'DimensionOrder "XYZCQ", expected one such as XYZCT',
    omeOf(SIZES.replace("XYZCT", "XYZCQ")),
  ],
  [
    "9 × 6 pixels, where its page has 8 × 6",
    omeOf(SIZES).replace('SizeX="8"', 'SizeX="9"'),
  ],
  ["2 channels, where its pages have 3 bands", omeOf(SIZES), 6, 3],
  ["expected OME-XML or a hyperstack", "text"],
  ["from 0 to 0, found 1", omeOf(SIZES), 6, 1, 1],
  [
    '"a & b" and "a & b": choose one by the option "series"',
    omeOf(SIZES).replace(/<Image.*<\/Image>/, (image) => image + image),
    6,
    1,
    NaN,
  ],
  ['by the option "page"', "<OME><Image><Pixels></OME>"],
  [
    'by the option "page"',
    `<!DOCTYPE OME [<!ENTITY a "${"x".repeat(1000)}">${
      Array.from({ length: 9 }, (_, i) =>
        `<!ENTITY ${"bcdefghij"[i]} "${`&${"abcdefghi"[i]};`.repeat(10)}">`)
        .join("")
    }]><OME><Image Name="&j;"/></OME>`,
  ],
];

Deno.test("readSeries refuses what is no whole image of the file", async () => {
  for (const [message, text, count = 6, bands = 1, series = 0] of REFUSED) {
    const pages = pagesOf(count, text, bands);
    const number = Number.isNaN(series) ? undefined : series;
    await assertRejects(
      () => readSeries(pages, number),
      PageProblem,
      message,
    );
  }
});

Deno.test("readSeries finds no series in other descriptions", async () => {
  for (
    const description of [
      "",
      "ImageJ=1.5\nimages=3\n",
      "<OME>",
      "about <OME> it",
    ]
  ) {
    const found = await readSeries(
      pagesOf(3, description),
      undefined,
    );
    assertEquals(found, undefined, description);
  }
});

/** A TIFF of pages of 16 × 16 pixels in one tile. */
function numberedPages(count: number, description: string): Uint8Array {
  const kinds = new Array<number>(count).fill(0);
  const entries: TiffEntry[] = [[270, "ascii", `${description}\0`]];
  return pyramidFile(kinds.map(() => [16, 16]), { kinds, entries });
}

Deno.test("adoptTiffs with a series makes an array with the dimensions of OME-XML, which is verified", async () => {
  const ome = omeOf('SizeT="2" SizeC="3" SizeZ="2" DimensionOrder="XYZTC"')
    .replace('SizeX="8" SizeY="6"', 'SizeX="16" SizeY="16"');
  const file = numberedPages(12, ome);
  const store = new MemoryStore([["/a/c/0/0/0/0/0.tif", file]]);
  const { chunks } = await adoptTiffs(store, "a", { series: 0 });
  assertEquals(chunks.metadata.shape, [2, 3, 2, 16, 16]);
  assertEquals(chunks.metadata.dimension_names, ["t", "c", "z", "y", "x"]);
  const root = zarr.root(withZarrParts(store)).resolve("a");
  const array = await zarr.open(root, { kind: "array" });
  for (let t = 0; t < 2; t++) {
    for (let c = 0; c < 3; c++) {
      for (let z = 0; z < 2; z++) {
        const { data } = await zarr.get(array, [t, c, z, 5, zarr.slice(3)]);
        assertEquals(
          [...data as Uint8Array],
          [0, 1, 2].map((x) => elementAt((c * 2 + t) * 2 + z, 5, x)),
        );
      }
    }
  }
  assertEquals((await verifyAdopted(store, "a")).mismatches, []);
  // The same pages in another order.
  const other = ome.replace("XYZTC", "XYTZC");
  await store.set("/a/c/0/0/0/0/0.tif", numberedPages(12, other));
  const { mismatches } = await verifyAdopted(store, "a");
  assertEquals(mismatches.map(({ key }) => key), ["/a/c/0/0/0/0/0.tif"]);

  const flat = new MemoryStore([["/c/0/0/0.tif", file]]);
  const { chunks: pages, report } = await adoptTiffs(flat, "");
  assertEquals(pages.metadata.shape, [12, 16, 16]);
  assertEquals(report.notes.length, 1);
  await assertRejects(
    () => adoptTiffs(flat, "", { series: 0, page: 1 }),
    TypeError,
    "series",
  );
});
