import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  arrayMetadata,
  type ArrayMetadataOptions,
  encodeShard,
  MemoryStore,
  parseShardLayout,
} from "../../mod.ts";
import {
  describeTiff,
  type OmeImage,
  tiffContainer,
  type TiffOptions,
} from "../../tiff.ts";

const CELLS = {
  shape: [2, 3, 5, 40, 50],
  dataType: "uint16",
  shardShape: [1, 2, 4, 32, 32],
  chunkShape: [1, 1, 1, 16, 16],
};
const IMAGE: OmeImage = {
  name: `a "b" <c> & µ\n\0d`,
  axes: ["t", "c", "z", "y", "x"],
  scale: [2, 1, 3, 0.5, 0.25],
  translation: [0, 0, 10, 0, 1],
  units: ["second", undefined, "micrometer", "nanometer", "nanometer"],
  channels: [{}, {}, { label: "GFP", color: "00ff00" }],
};

/** The descriptions of the pages of a shard. */
async function descriptionsOf(
  shard: number[],
  options: TiffOptions,
  array: Partial<ArrayMetadataOptions> = {},
): Promise<(string | undefined)[]> {
  const metadata = arrayMetadata({ ...CELLS, ...array } as typeof CELLS);
  const shape = metadata.chunk_grid.configuration.chunk_shape;
  const layout = parseShardLayout(metadata.codecs[0], shape);
  const count = layout.chunksPerShard.reduce((product, n) => product * n, 1);
  const container = tiffContainer(metadata, options)(shard);
  const tiles = Array<undefined>(count).fill(undefined);
  const bytes = encodeShard(tiles, layout, { container });
  const store = new MemoryStore([["/a.tiff", bytes]]);
  const { pages } = await describeTiff((range) =>
    store.getRange("/a.tiff", range)
  );
  return pages.map(({ description }) => description);
}

Deno.test("tiffContainer writes OME-XML of the part of the array in each shard", async () => {
  const [first, ...others] = await descriptionsOf([1, 1, 1, 1, 1], {
    ome: IMAGE,
  });
  assertEquals(others, []); // One channel and one slice are left in this corner.
  const pixels =
    '<Pixels ID="Pixels:0" DimensionOrder="XYZCT" Type="uint16" BigEndian="false" SizeX="18" SizeY="8" SizeZ="1" SizeC="1" SizeT="1" PhysicalSizeX="0.25" PhysicalSizeXUnit="nm" PhysicalSizeY="0.5" PhysicalSizeYUnit="nm" PhysicalSizeZ="3" PhysicalSizeZUnit="µm" TimeIncrement="2" TimeIncrementUnit="s">' +
    '<Channel ID="Channel:0:0" Name="GFP" SamplesPerPixel="1" Color="16711935"/>' +
    '<TiffData IFD="0" PlaneCount="1"/>' +
    '<Plane TheZ="0" TheC="0" TheT="0" PositionX="9" PositionXUnit="nm" PositionY="16" PositionYUnit="nm" PositionZ="22" PositionZUnit="µm"/></Pixels>';
  assert(first?.includes(pixels), first);
  assert(
    first!.includes('Name="a &quot;b&quot; &lt;c&gt; &amp; µ d"'),
    first,
  );
});

Deno.test("tiffContainer writes OME-XML into the first page alone, with a plane for each page", async () => {
  const [first, ...others] = await descriptionsOf([0, 0, 0, 0, 0], {
    ome: IMAGE,
  });
  assertEquals(others, Array(7).fill(undefined));
  const planes = Array.from(
    first!.matchAll(/TheZ="(\d)" TheC="(\d)" TheT="(\d)"/g),
    ([, ...numbers]) => numbers.join(""),
  );
  assertEquals(planes, [
    ...["000", "100", "200", "300"],
    ...["010", "110", "210", "310"],
  ]);
});

Deno.test("tiffContainer orders the dimensions of OME-XML by those of the array", async () => {
  const cases: [
    axes: string[],
    shape: number[],
    options: TiffOptions,
    string[],
  ][] = [
    [["y", "x"], [40, 50], {}, ["XYZCT", 'SamplesPerPixel="1"']],
    [["z", "y", "x"], [3, 40, 50], {}, ["XYZCT", 'SizeZ="3"']],
    [["c", "y", "x"], [3, 40, 50], {}, ["XYCZT", 'ID="Channel:0:2"']],
    [["z", "c", "y", "x"], [2, 3, 40, 50], {}, ["XYCZT", 'SizeC="3"']],
    [["c", "t", "y", "x"], [2, 3, 40, 50], {}, ["XYTCZ", 'SizeT="3"']],
    [["t", "y", "x", "c"], [2, 40, 50, 3], { bands: "last" }, [
      ...["XYCTZ", 'SizeC="3"', 'Interleaved="true"', 'SamplesPerPixel="3"'],
    ]],
    [["c", "y", "x"], [3, 40, 50], { bands: "first" }, [
      ...["XYCZT", 'SizeC="3"', 'SamplesPerPixel="3"'],
    ]],
  ];
  for (const [axes, shape, options, parts] of cases) {
    const picture = axes.map((axis) => ["y", "x"].includes(axis));
    const [first] = await descriptionsOf(
      shape.map(() => 0),
      { ...options, ome: { axes } },
      {
        shape,
        shardShape: shape.map((n, i) => picture[i] ? 64 : n),
        chunkShape: shape.map((n, i) =>
          picture[i] ? 16 : axes[i] === "c" && options.bands === "last" ? n : 1
        ),
      },
    );
    for (const part of parts) assert(first?.includes(part), first);
    // Without units there are no sizes, and no places.
    assert(!/PhysicalSize|Position|TimeIncrement/.test(first!), first);
  }
});

Deno.test("tiffContainer refuses arrays that OME-XML cannot represent", () => {
  const refused: [Partial<ArrayMetadataOptions>, unknown, string][] = [
    [
      { dataType: "int64" },
      IMAGE,
      'a data type that OME-XML has, found "int64"',
    ],
    [{ dataType: "float16" }, IMAGE, 'found "float16"'],
    [{}, {}, "Expected ome.axes to be"],
    [{}, { axes: ["t", "c", "z", "x", "y"] }, "where the picture has them"],
    [{}, { axes: ["t", "c", "c", "y", "x"] }, "Expected ome.axes"],
    [{}, { axes: ["t", "c", "q", "y", "x"] }, "Expected ome.axes"],
    [{}, { axes: ["y", "x"] }, "one for each of the 5 dimensions"],
    [
      {},
      { ...IMAGE, scale: [1] },
      "Expected ome.scale with one member for each",
    ],
    [{}, { ...IMAGE, units: [] }, "Expected ome.units"],
  ];
  for (const [array, ome, message] of refused) {
    const metadata = arrayMetadata({ ...CELLS, ...array } as typeof CELLS);
    assertThrows(
      () => tiffContainer(metadata, { ome: ome as OmeImage }),
      RangeError,
      message,
    );
  }
  assertThrows(
    () =>
      tiffContainer(arrayMetadata(CELLS), { ome: IMAGE, description: "cells" }),
    TypeError,
    'Expected one of the options "description" and "ome", found both',
  );
});
