import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { convert } from "../../jobs.ts";
import {
  type ArrayMetadata,
  arrayMetadata,
  type ArrayMetadataOptions,
  createArrayChunks,
  MemoryStore,
} from "../../mod.ts";
import { fitTiff, type FitTiffOptions, tiffContainer } from "../../tiff.ts";
import { runs } from "../support/runs.ts";

const BYTES = { name: "bytes", configuration: { endian: "little" } };

type Variant = Partial<Omit<ArrayMetadataOptions, "codecs">> & {
  codecs?: unknown[];
};

function metadataOf({ codecs, ...variant }: Variant): ArrayMetadata {
  const metadata = arrayMetadata({
    shape: [900, 900],
    dataType: "float32",
    chunkShape: [90, 90],
    ...variant,
  });
  if (codecs === undefined) return metadata;
  const changed = structuredClone(metadata) as unknown as {
    codecs: unknown[];
  };
  const [first] = changed.codecs as [
    { name: string; configuration: { codecs: unknown[] } },
  ];
  if (first.name === "sharding_indexed") first.configuration.codecs = codecs;
  else changed.codecs = codecs;
  return changed as unknown as ArrayMetadata;
}

/** A case: an array, options, and the codecs after `bytes`, the tiles and the files that are expected. */
type Fit = [
  name: string,
  variant: Variant,
  options: FitTiffOptions,
  codecs: unknown[],
  chunks: number[],
  shards: number[],
];

const ZSTD = { name: "zstd", configuration: { level: 3, checksum: false } };
const zlib = (level: number) => ({
  name: "numcodecs.zlib",
  configuration: { level },
});
const blosc = (cname: string) => ({
  name: "blosc",
  configuration: {
    cname,
    clevel: 7,
    shuffle: "shuffle",
    typesize: 4,
    blocksize: 0,
  },
});
const TIMES = { shape: [365, 721, 1440], chunkShape: [1, 721, 1440] };
const CELLS = {
  shape: [10, 3, 50, 200, 250],
  chunkShape: [1, 1, 1, 200, 250],
  dimensionNames: ["t", "c", "z", "y", "x"],
};

// deno-fmt-ignore
const FITS: Fit[] = [
  ["tiles are the next multiples of 16", { shardShape: [900, 900] }, {}, [], [96, 96], [960, 960]],
  ["small chunks are joined", {}, {}, [], [96, 96], [960, 960]],
  ["joined chunks have at most 4096 × 4096 pixels", { shape: [9e5, 9e5], dataType: "uint8", chunkShape: [16, 16] }, {}, [], [16, 16], [4096, 4096]],
  ["joined chunks have at most 64 MiB", { shape: [9e5, 9e5], dataType: "float64", chunkShape: [256, 256] }, {}, [], [256, 256], [4096, 2048]],
  ["gzip becomes zlib of its level", { codecs: [BYTES, { name: "gzip", configuration: { level: 4 } }] }, {}, [zlib(4)], [96, 96], [960, 960]],
  ["blosc with zlib becomes zlib", { codecs: [BYTES, blosc("zlib")] }, {}, [zlib(7)], [96, 96], [960, 960]],
  ["blosc with zstd keeps its level", { codecs: [BYTES, blosc("zstd")] }, {}, [{ name: "zstd", configuration: { level: 7, checksum: false } }], [96, 96], [960, 960]],
  ["blosc with lz4 becomes zstd", { codecs: [BYTES, blosc("lz4")] }, {}, [ZSTD], [96, 96], [960, 960]],
  ["unknown compressions become zstd", { codecs: [BYTES, { name: "acme.squeeze" }] }, {}, [ZSTD], [96, 96], [960, 960]],
  ["checksums are left out", { codecs: [BYTES, zlib(1), { name: "crc32c" }] }, {}, [zlib(1)], [96, 96], [960, 960]],
  ["codecs that TIFF has stay", { codecs: [{ name: "imagecodecs_delta" }, BYTES, zlib(9)], shardShape: [900, 900], chunkShape: [45, 45] }, {}, [zlib(9)], [48, 48], [912, 912]],
  ["a transpose is left out", { codecs: [{ name: "transpose", configuration: { order: [1, 0] } }, BYTES, ZSTD] }, {}, [ZSTD], [96, 96], [960, 960]],
  ["whole planes are divided into tiles", TIMES, {}, [], [1, 736, 720], [1, 736, 1440]],
  ["chunks of several planes become pages", { shape: [365, 721, 1440], chunkShape: [365, 10, 10] }, {}, [], [1, 192, 192], [365, 192, 192]],
  ["pages are all of a dimension", TIMES, { pages: [0] }, [], [1, 736, 720], [365, 736, 1440]],
  ["slices and channels are pages of one file", CELLS, {}, [], [1, 1, 1, 208, 256], [1, 3, 50, 208, 256]],
  ["the last two dimensions without names are pages of one file", { ...CELLS, dimensionNames: undefined }, {}, [], [1, 1, 1, 208, 256], [1, 3, 50, 208, 256]],
  ["a first dimension without a name is not", { shape: [50, 200, 250], chunkShape: [1, 200, 250] }, {}, [], [1, 208, 256], [1, 208, 256]],
  ["no dimension has pages", CELLS, { pages: [] }, [], [1, 1, 1, 208, 256], [1, 1, 1, 208, 256]],
  ["named dimensions have pages", CELLS, { pages: ["t"] }, [], [1, 1, 1, 208, 256], [10, 1, 1, 208, 256]],
  ["slices are shared out evenly", { ...CELLS, shape: [1, 1, 1000, 200, 250] }, {}, [], [1, 1, 1, 208, 256], [1, 1, 250, 208, 256]],
  ["a last dimension of 3 is samples", { shape: [900, 900, 3], dataType: "uint8", chunkShape: [90, 90, 1] }, { bands: "auto" }, [], [96, 96, 3], [960, 960, 3]],
  ["a first dimension of 4 is bands", { shape: [4, 900, 900], chunkShape: [1, 90, 90] }, { bands: "auto" }, [], [1, 96, 96], [4, 960, 960]],
  ["a first dimension of 5 is pages", { shape: [5, 900, 900], chunkShape: [1, 90, 90] }, { bands: "auto" }, [], [1, 96, 96], [1, 960, 960]],
  ["a first dimension with the name of bands is bands", { shape: [2, 12, 900, 900], chunkShape: [1, 1, 90, 90], dimensionNames: ["time", "band", "y", "x"] }, { bands: "auto" }, [], [1, 1, 96, 96], [1, 12, 960, 960]],
  ["a last dimension of 3 with another name is no samples", { shape: [9, 900, 3], chunkShape: [1, 90, 3], dimensionNames: ["z", "y", "x"] }, { bands: "auto" }, [], [1, 96, 16], [9, 960, 16]],
  ["shards keep their shape", { shape: [9, 900, 900], shardShape: [3, 360, 360], chunkShape: [1, 90, 90] }, {}, [], [1, 96, 96], [3, 384, 384]],
  ["an array shorter than its chunk has smaller tiles", { shape: [10, 20], chunkShape: [512, 512] }, {}, [], [16, 32], [16, 32]],
  ["a shard longer than the array is not", { shape: [3, 90, 100], shardShape: [900, 900, 900], chunkShape: [1, 90, 90] }, {}, [], [1, 96, 96], [3, 96, 192]],
  ["an array without elements", { shape: [0, 20], chunkShape: [1, 20] }, {}, [], [16, 32], [16, 32]],
  ["given chunks", {}, { chunks: [32, 48] }, [], [32, 48], [928, 912]],
  ["given shards", {}, { shards: [320, 480] }, [], [80, 96], [320, 480]],
];

Deno.test("fitTiff finds the nearest codecs, tiles and files", async (t) => {
  for (const [name, variant, options, codecs, chunks, shards] of FITS) {
    await t.step(name, () => {
      const fit = fitTiff(metadataOf(variant), options);
      const isKept = name === "codecs that TIFF has stay";
      assertEquals({ ...fit, codecs: fit?.codecs?.slice(1) as unknown[] }, {
        codecs: isKept ? [BYTES, ...codecs] : codecs,
        chunks,
        shards,
      });
    });
  }
});

Deno.test("fitTiff returns undefined for arrays whose shards can be TIFF files", () => {
  const shards = { shardShape: [960, 960], chunkShape: [96, 96] };
  for (
    const variant of [
      shards,
      { ...shards, codecs: [BYTES, zlib(3)] },
      { ...shards, suffix: ".tiff", parts: ["", ".index"] },
      // Parts are given to the array later.
      { ...shards, parts: [".header:64", ""] },
      { ...shards, dataType: "bool" },
      { ...shards, dataType: "complex128" },
    ]
  ) {
    assertEquals(fitTiff(metadataOf(variant)), undefined);
  }
});

Deno.test("fitTiff refuses arrays that no TIFF can hold, and options that do not fit", () => {
  const refused: [Variant, FitTiffOptions, string][] = [
    [{ shape: [9], chunkShape: [3] }, {}, "at least 2 dimensions, found 1"],
    [{ shape: [], chunkShape: [] }, {}, "at least 2 dimensions, found 0"],
    [{ dataType: "string", fillValue: "" }, {}, "data types that TIFF has"],
    [
      {
        dataType: {
          name: "fixed_length_utf32",
          configuration: { length_bytes: 8 },
        },
        fillValue: "",
      },
      {},
      'found "fixed_length_utf32"',
    ],
    [{}, { bands: "last" }, "at least 3 dimensions"],
    [
      { shape: [65536, 9, 9], chunkShape: [1, 9, 9] },
      { bands: "first" },
      'Expected at most 65535 bands, found 65536: leave out bands: "first"',
    ],
    [{}, { chunks: [1, 16, 16] }, "as many dimensions as the array, 2"],
    [{}, { chunks: [24, 16] }, "multiples of 16 elements"],
    [{}, { shards: [100, 160] }, "shards of [112, 160] would fit"],
    [TIMES, { pages: ["z"] }, 'among [0], those before y and x, found "z"'],
    [CELLS, { pages: ["x"] }, 'among ["t", "c", "z"]'],
    [CELLS, { pages: [3] }, "found 3"],
    [
      { shape: [2 ** 30, 2 ** 30, 9], chunkShape: [1, 1, 9] },
      { shards: [2 ** 30, 2 ** 30, 16] },
      "give the shape of smaller shards",
    ],
  ];
  for (const [variant, options, message] of refused) {
    assertThrows(
      () => fitTiff(metadataOf(variant), options),
      RangeError,
      message,
    );
  }
  const wrong: [unknown, string][] = [
    [{ tiles: [16, 16] }, 'Unknown option "tiles" of fitTiff'],
    [{ chunks: 16 }, "a list of whole numbers from 1, found 16"],
    [{ chunks: [0, 16] }, "a list of whole numbers from 1"],
    [{ pages: "z" }, "a list of names or numbers of dimensions"],
    [{ bands: "none" }, '"first", "last" or "auto"'],
  ];
  for (const [options, message] of wrong) {
    assertThrows(
      () => fitTiff(metadataOf({}), options as FitTiffOptions),
      TypeError,
      message,
    );
  }
});

/** The codecs of chunks before and after `bytes`, of which TIFF has some. */
const CODECS: unknown[][] = [
  [BYTES],
  [BYTES, zlib(1)],
  [{ name: "bytes", configuration: { endian: "big" } }, ZSTD],
  [{ name: "imagecodecs_delta" }, BYTES, ZSTD],
  [BYTES, blosc("lz4"), { name: "crc32c" }],
  [BYTES, { name: "gzip", configuration: { level: 9 } }],
];

interface Drawn {
  readonly metadata: ArrayMetadata;
  readonly options: FitTiffOptions;
}

/** Arrays of two to five dimensions with any chunks, shards, codecs and names. */
const arrays: fc.Arbitrary<Drawn> = fc.integer({ min: 2, max: 5 }).chain(
  (rank) =>
    fc.record({
      shape: fc.array(
        fc.oneof(
          fc.constantFrom(0, 1, 3, 4, 16, 1024),
          fc.integer({ min: 0, max: 70000 }),
        ),
        { minLength: rank, maxLength: rank },
      ),
      chunk: fc.array(
        fc.oneof(
          fc.constantFrom(1, 15, 16, 17, 512, 1024, 1025),
          fc.integer({ min: 1, max: 3000 }),
        ),
        { minLength: rank, maxLength: rank },
      ),
      counts: fc.option(
        fc.array(fc.integer({ min: 1, max: 5 }), {
          minLength: rank,
          maxLength: rank,
        }),
      ),
      codecs: fc.constantFrom(...CODECS),
      dataType: fc.constantFrom("uint8", "int64", "float32", "complex64"),
      names: fc.option(
        fc.shuffledSubarray(["t", "c", "z", "y", "x", "band", "rgb"], {
          minLength: rank,
          maxLength: rank,
        }),
      ),
      indexLocation: fc.constantFrom("start" as const, "end" as const),
      bands: fc.constantFrom(
        undefined,
        "auto" as const,
        "first" as const,
        "last" as const,
      ),
    }),
).filter(({ chunk }) =>
  // A chunk of 4 GiB and more cannot be decoded.
  8 * product(chunk) < 2 ** 32
).filter(({ shape, chunk, counts, bands }) => {
  // Each element may become a page, all bands lie in one file, and recoding
  // refuses an index of 2^28 places.
  const bandAxis = { first: shape.length - 3, last: shape.length - 1 };
  const shard = chunk.map((length, i) =>
    bands !== undefined && bands !== "auto" && i === bandAxis[bands]
      ? Math.max(length, shape[i]!)
      : length
  );
  return shard.reduce((p, n, i) => p * n * (counts?.[i] ?? 1), 1) < 2 ** 28;
}).filter(({ bands, shape }) =>
  bands === undefined || bands === "auto" ||
  shape.length > 2 && shape.at(bands === "first" ? -3 : -1)! < 2 ** 16
).map((
  { shape, chunk, counts, names, codecs, dataType, indexLocation, bands },
) => ({
  metadata: metadataOf({
    shape,
    dataType,
    fillValue: dataType === "complex64" ? [0, 0] : 0,
    chunkShape: chunk,
    ...counts && {
      shardShape: chunk.map((length, i) => length * counts[i]!),
      indexLocation,
    },
    ...names && { dimensionNames: names },
    codecs: dataType === "complex64" ? codecs.slice(-1) : codecs,
  }),
  options: { bands },
}));

function product(lengths: readonly number[]): number {
  return lengths.reduce((result, length) => result * length, 1);
}

Deno.test("fitTiff finds shapes and codecs that tiffContainer accepts, and that are found again for the new array", async () => {
  await fc.assert(
    fc.asyncProperty(arrays, async ({ metadata, options }) => {
      const fit = fitTiff(metadata, options);
      const store = new MemoryStore();
      await createArrayChunks(store, "", metadata);
      const { arrays } = await convert(store, new MemoryStore(), {
        recode: () => fit,
        container: (metadata) => tiffContainer(metadata, options),
        dryRun: true,
      });
      assertEquals(fitTiff(arrays[0]!.metadata, options), undefined);
      if (fit === undefined) return;
      const [chunks, shards] = [fit.chunks!, fit.shards!];
      assert([...chunks, ...shards].every((length) => length >= 1));
      const isSharded = metadata.codecs.some((codec) =>
        (codec as { name: string }).name === "sharding_indexed"
      );
      const size = product(shards);
      if (isSharded) return;
      // Files are small, unless one tile with the pages of a chunk and all bands is not.
      const { chunk_shape } = metadata.chunk_grid.configuration;
      const first = chunks.length - 3;
      const least = chunk_shape.map((length, i) =>
        i === first && shards[i] === metadata.shape[i]
          ? shards[i]!
          : Math.min(length, metadata.shape[i]!) + chunks[i]!
      );
      assert(size <= Math.max(2 ** 26, product(least)));
    }),
    { numRuns: runs(300) },
  );
});
