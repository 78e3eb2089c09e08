import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  arrayMetadata,
  encodeShard,
  MetadataError,
  parseShardLayout,
  type ShardIndex,
} from "../../mod.ts";
import { tiffContainer, type TiffOptions } from "../../tiff.ts";
import { caseOf, type Variant } from "./tiff_cases.ts";

function metadataOf(variant: Variant = {}) {
  return caseOf(variant).metadata;
}

/** Metadata with other codecs of inner chunks. */
function withCodecs(codecs: unknown[], variant: Variant = {}) {
  const metadata = structuredClone(metadataOf(variant));
  const [sharding] = metadata.codecs as unknown as [
    { configuration: { codecs: unknown[] } },
  ];
  sharding.configuration.codecs = codecs;
  return metadata;
}

const BYTES = { name: "bytes", configuration: { endian: "little" } };

Deno.test("tiffContainer refuses arrays that TIFF cannot hold, with the reason and a way out", () => {
  const shards = {
    shape: [64, 64],
    shardShape: [64, 64],
    chunkShape: [32, 32],
  };
  const of = (changes: Partial<Parameters<typeof arrayMetadata>[0]>) =>
    arrayMetadata({ dataType: "uint16", ...shards, ...changes });
  /** An array of cubes. */
  const cube = (
    shape: number[],
    chunkShape: number[],
    shardShape = shape,
    dataType = "uint16",
  ) => metadataOf({ dataType, shape, shardShape, chunkShape });
  const delta = { name: "imagecodecs_delta" };
  const float = { name: "imagecodecs_floatpred" };
  const big = { name: "bytes", configuration: { endian: "big" } };
  const last = { bands: "last" } as const;
  const first = { bands: "first" } as const;
  const refused: [message: string, unknown, TiffOptions?][] = [
    [
      '"complex64" and "complex128", found "string"',
      of({ dataType: "string", fillValue: "" }),
    ],
    ['found "r16"', of({ dataType: { name: "r16" }, fillValue: [0, 0] })],
    [
      "are the inner chunks of a shard",
      arrayMetadata({ dataType: "uint8", shape: [64], chunkShape: [32] }),
    ],
    ['set index_location to "end"', of({ indexLocation: "start" })],
    [
      "at least 2 dimensions, found 1",
      of({ shape: [64], shardShape: [64], chunkShape: [32] }),
    ],
    ['3 dimensions, as bands: "last" needs them, found 2', of({}), last],
    [
      "multiples of 16 elements along the dimensions 0 and 1",
      of({ chunkShape: [32, 8] }),
    ],
    ["holds one page, found", cube([4, 64, 64], [2, 32, 32])],
    ["holds one band", cube([4, 64, 64], [4, 32, 32]), first],
    [
      "with all 4 bands along dimension 2",
      cube([64, 64, 4], [32, 32, 2]),
      last,
    ],
    [
      'index of 68 bytes, found [".header:64", "", ".index:68"]: for example',
      of({ parts: [".header:64", "", ".index"] }),
    ],
    ["leave the TIFF whole", of({ parts: ["", ".tail:69"] })],
    [
      'TIFF has no "gzip" there: use "numcodecs.zlib"',
      withCodecs([BYTES, { name: "gzip", configuration: { level: 5 } }]),
    ],
    ['TIFF has no "blosc" there', withCodecs([BYTES, { name: "blosc" }])],
    [
      'TIFF has no "crc32c" there: leave it out',
      withCodecs([BYTES, { name: "zstd" }, { name: "crc32c" }]),
    ],
    [
      'TIFF has no "transpose" there',
      withCodecs([
        { name: "transpose", configuration: { order: [1, 0] } },
        BYTES,
      ]),
    ],
    ['"imagecodecs_packbits"', withCodecs([{ name: "packbits" }])],
    ['"little" or "big", found undefined', withCodecs([{ name: "bytes" }])],
    ["floating-point numbers", withCodecs([float, BYTES, "zstd"])],
    [
      'in the byte order "little"',
      withCodecs([float, big, "zstd"], { dataType: "float32" }),
    ],
    [
      "with axis -1 and dist 1, found axis 0 and dist 1",
      withCodecs([{ ...delta, configuration: { axis: 0 } }, BYTES, "zstd"]),
    ],
    ['otherwise, found "no compression"', withCodecs([delta, BYTES])],
    [
      'found "imagecodecs_packbits"',
      withCodecs([delta, BYTES, "imagecodecs_packbits"]),
    ],
    [
      "with raw: false",
      withCodecs([BYTES, {
        name: "imagecodecs_deflate",
        configuration: { raw: true },
      }]),
    ],
    ["found 1 of 16 bits: leave out colors", of({}), { colors: "rgb" }],
    [
      "shards with all 4 bands",
      cube([4, 64, 64], [1, 32, 32], [2, 64, 64], "uint8"),
      { ...first, colors: "rgb" },
    ],
    [
      "no predictor for complex numbers",
      withCodecs([delta, BYTES, "zstd"], {
        dataType: "complex64",
        fillValue: [0, 0],
      }),
    ],
    [
      "the fill value 0 for sparse tiles of complex numbers",
      of({ dataType: "complex64", fillValue: [0, 1] }),
      { sparse: true },
    ],
    [
      "leave out noData",
      of({ fillValue: 5 }),
      { sparse: true, noData: 6 },
    ],
  ];
  for (const [message, metadata, options] of refused) {
    assertThrows(
      () => tiffContainer(metadata as never, options),
      RangeError,
      message,
    );
  }
  assertThrows(() => tiffContainer({} as never), MetadataError);
});

Deno.test("tiffContainer accepts predictors along the rows in both notations, and parts of the index alone", () => {
  const accepted = [
    withCodecs([
      { name: "imagecodecs_delta", configuration: { axis: 1 } },
      BYTES,
      "zstd",
    ]),
    withCodecs([{ name: "imagecodecs_delta" }, BYTES, "zlib"]),
    withCodecs([{ name: "bytes" }], { dataType: "uint8" }),
    arrayMetadata({
      shape: [64, 64],
      dataType: "uint8",
      shardShape: [64, 64],
      chunkShape: [32, 32],
      parts: ["", ".tail:68"],
    }),
  ];
  for (const metadata of accepted) tiffContainer(metadata)([0, 0]);
});

Deno.test("tiffContainer refuses options that are unknown or of a wrong type", () => {
  const refused: [unknown, string][] = [
    [null, "Expected the options of tiffContainer as an object, found null"],
    [{ tiles: 1 }, 'Unknown option "tiles" of tiffContainer; known are'],
    [{ bands: "middle" }, '"first", "last" or "auto", found "middle"'],
    [{ colors: "cmyk" }, '"gray", "rgb" or "auto"'],
    [{ directory: 8 }, '"start" or "end", found 8'],
    [{ bigTiff: "yes" }, 'true or false, found "yes"'],
    [{ sparse: 1 }, "true or false, found 1"],
    [{ description: "a\0b" }, "without the character NUL"],
    [{ resolution: { x: 1, y: -1 } }, "x and y from 0 to 2^32−1"],
    [{ resolution: { x: 1, y: 2 ** 32 } }, "x and y from 0 to 2^32−1"],
    [{ resolution: { x: 1, y: 1, unit: "mile" } }, '"inch" or "centimeter"'],
    [{ georeference: {} }, "modelPixelScale of 3 numbers"],
    [
      {
        georeference: {
          modelPixelScale: [1, 1, 0],
          modelTiepoint: [0, 0, 0, 1, 1, 1],
          geoKeyDirectory: [65536],
        },
      },
      "modelPixelScale of 3 numbers",
    ],
    [
      {
        georeference: {
          modelTransformation: [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
          modelPixelScale: [1, 1, 0],
        },
      },
      "or modelTransformation of 16 numbers",
    ],
    [{ ome: "<OME/>" }, "an object with axes"],
    [{ noData: "1" }, 'a number or a bigint, found "1"'],
  ];
  for (const [options, message] of refused) {
    assertThrows(
      () => tiffContainer(metadataOf(), options as TiffOptions),
      TypeError,
      message,
    );
  }
});

Deno.test("the containers of tiffContainer are those of shards in the chunk grid", () => {
  const container = tiffContainer(metadataOf()); // 2 × 2 shards
  container([1, 1]);
  for (const shard of [[0], [0, 2], [-1, 0], [0.5, 0], [0, 0, 0], undefined]) {
    assertThrows(
      () => container(shard as never),
      RangeError,
      "Expected the grid coordinates of a shard in a chunk grid of [2, 2]",
    );
  }
});

Deno.test("tiffContainer writes BigTIFF if a classic TIFF could not hold the inner chunks", () => {
  const metadata = metadataOf();
  const { chunksPerShard } = parseShardLayout(metadata.codecs[0], [64, 64]);
  const [rows, columns] = chunksPerShard;
  /** An index of inner chunks that fill a file up to an offset. */
  const indexUpTo = (end: number): ShardIndex =>
    Array.from(
      { length: rows! * columns! },
      (_, i) =>
        i === 0
          ? { offset: 0, length: end - 100 }
          : { offset: end - 100 + i, length: 1 },
    );
  const version = (end: number, options: TiffOptions = {}) =>
    tiffContainer(metadata, options)([0, 0]).head!(indexUpTo(end))[2];
  for (const directory of ["start", "end"] as const) {
    assertEquals(version(2 ** 32 - 2 ** 25, { directory }), 42);
    assertEquals(version(2 ** 32, { directory }), 43);
    assertEquals(version(1000, { directory, bigTiff: true }), 43);
  }
  assertThrows(
    () => version(2 ** 32 + 200, { bigTiff: false }),
    RangeError,
    "in the classic TIFF of shard [0, 0]",
  );
  const { tail } = tiffContainer(metadata, {
    bigTiff: false,
    directory: "end",
  })([0, 0]);
  assertThrows(
    () => tail!(indexUpTo(2 ** 32 - 10), 2 ** 32 - 10),
    RangeError,
    "set bigTiff to true",
  );
});

Deno.test("tiffContainer puts absent inner chunks into one tile of the fill value, and none if sparse", () => {
  const metadata = metadataOf({ fillValue: 3 });
  const layout = parseShardLayout(metadata.codecs[0], [64, 64]);
  const tile = 16 * 32 * 2;
  const chunks = Array.from(
    { length: 8 },
    (_, i) => i < 5 ? new Uint8Array(tile) : undefined,
  );
  const size = (options: TiffOptions, given = chunks) =>
    encodeShard(given, layout, {
      container: tiffContainer(metadata, options)([0, 0]),
    }).length;
  const full = size({}, chunks.map(() => new Uint8Array(tile)));
  assertEquals(size({}), full - 2 * tile);
  // The tag GDAL_NODATA with the text "3" takes 12 bytes.
  assertEquals(size({ sparse: true }), full - 3 * tile + 12);
  assert(size({ directory: "end" }) <= size({}) + 1);
});
