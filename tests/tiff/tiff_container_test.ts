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
  const refused: [unknown, TiffOptions, string][] = [
    [
      of({ dataType: "string", fillValue: "" }),
      {},
      'Expected one of the data types that TIFF has, "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64" and "complex128", found "string"',
    ],
    [
      of({ dataType: { name: "r16" }, fillValue: [0, 0] }),
      {},
      'found "r16"',
    ],
    [
      arrayMetadata({ dataType: "uint8", shape: [64], chunkShape: [32] }),
      {},
      "give arrayMetadata a shardShape",
    ],
    [
      of({ indexLocation: "start" }),
      {},
      'found it at the start: set index_location to "end"',
    ],
    [
      of({ shape: [64], shardShape: [64], chunkShape: [32] }),
      {},
      "Expected an array of at least 2 dimensions, found 1",
    ],
    [
      of({}),
      { bands: "last" },
      'Expected an array of at least 3 dimensions, as bands: "last" needs them, found 2',
    ],
    [
      of({ chunkShape: [32, 8] }),
      {},
      "Expected inner chunks with multiples of 16 elements along the dimensions 0 and 1, as tiles of TIFF have, found the shape [32, 8]",
    ],
    [
      metadataOf({
        shape: [4, 64, 64],
        shardShape: [4, 64, 64],
        chunkShape: [2, 32, 32],
      }),
      {},
      "Expected inner chunks of one element along dimension 0, since a tile of TIFF holds one page, found the shape [2, 32, 32]",
    ],
    [
      metadataOf({
        shape: [4, 64, 64],
        shardShape: [4, 64, 64],
        chunkShape: [4, 32, 32],
      }),
      { bands: "first" },
      "a tile of TIFF holds one band",
    ],
    [
      metadataOf({
        shape: [64, 64, 4],
        shardShape: [64, 64, 4],
        chunkShape: [32, 32, 2],
      }),
      { bands: "last" },
      "Expected inner chunks with all 4 bands along dimension 2",
    ],
    [
      of({ parts: [".header:64", "", ".index"] }),
      {},
      'Expected parts that leave the TIFF whole: first the one without a size, and then none, or those of the index of 68 bytes, found [".header:64", "", ".index:68"]: for example parts: ["", ".index"]',
    ],
    [of({ parts: ["", ".tail:69"] }), {}, "leave the TIFF whole"],
    [
      withCodecs([BYTES, { name: "gzip", configuration: { level: 5 } }]),
      {},
      'TIFF has no "gzip" there: use "numcodecs.zlib", which compresses the same way',
    ],
    [
      withCodecs([BYTES, { name: "blosc" }]),
      {},
      'TIFF has no "blosc" there',
    ],
    [
      withCodecs([BYTES, { name: "zstd" }, { name: "crc32c" }]),
      {},
      'TIFF has no "crc32c" there: leave it out',
    ],
    [
      withCodecs([
        { name: "transpose", configuration: { order: [1, 0] } },
        BYTES,
      ]),
      {},
      'TIFF has no "transpose" there',
    ],
    [
      withCodecs([{ name: "packbits" }]),
      {},
      'use "imagecodecs_packbits"',
    ],
    [
      withCodecs([{ name: "bytes" }]),
      {},
      'Expected the codec "bytes" with endian "little" or "big", found undefined',
    ],
    [
      withCodecs([{ name: "imagecodecs_floatpred" }, BYTES, "zstd"]),
      {},
      "Expected floating-point numbers",
    ],
    [
      withCodecs([
        { name: "imagecodecs_floatpred" },
        { name: "bytes", configuration: { endian: "big" } },
        "zstd",
      ], { dataType: "float32" }),
      {},
      'in the byte order "little"',
    ],
    [
      withCodecs([
        { name: "imagecodecs_delta", configuration: { axis: 0 } },
        BYTES,
        "zstd",
      ]),
      {},
      "with axis -1 and dist 1, found axis 0 and dist 1",
    ],
    [
      withCodecs([{ name: "imagecodecs_delta" }, BYTES]),
      {},
      'since TIFF readers ignore predictors otherwise, found "no compression"',
    ],
    [
      withCodecs([
        { name: "imagecodecs_delta" },
        BYTES,
        "imagecodecs_packbits",
      ]),
      {},
      'found "imagecodecs_packbits"',
    ],
    [
      withCodecs([BYTES, {
        name: "imagecodecs_deflate",
        configuration: { raw: true },
      }]),
      {},
      "with raw: false",
    ],
    [of({}), { colors: "rgb" }, "found 1 of 16 bits: leave out colors"],
    [
      metadataOf({
        dataType: "uint8",
        shape: [4, 64, 64],
        shardShape: [2, 64, 64],
        chunkShape: [1, 32, 32],
      }),
      { bands: "first", colors: "rgb" },
      'Expected shards with all 4 bands for colors: "rgb", found shards of 2 bands',
    ],
    [
      withCodecs([{ name: "imagecodecs_delta" }, BYTES, "zstd"], {
        dataType: "complex64",
        fillValue: [0, 0],
      }),
      {},
      'Expected no predictor for complex numbers, as TIFF has none, found "imagecodecs_delta"',
    ],
    [
      of({ dataType: "complex64", fillValue: [0, 1] }),
      { sparse: true },
      "Expected the fill value 0 for sparse tiles of complex numbers",
    ],
    [
      of({ fillValue: 5 }),
      { sparse: true, noData: 6 },
      "leave out noData, or --nodata none, to have it set to the fill value",
    ],
  ];
  for (const [metadata, options, message] of refused) {
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
    [
      { tiles: 1 },
      'Unknown option "tiles" of tiffContainer; known are "bands"',
    ],
    [
      { bands: "middle" },
      'Expected the option "bands" to be "first", "last" or "auto", found "middle"',
    ],
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
