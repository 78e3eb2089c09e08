import type { ArrayMetadata, NamedConfiguration } from "../../mod.ts";
import type { Recoding } from "../../jobs.ts";
import type { PlainArray } from "./recode_oracle.ts";
import fc from "fast-check";

/** Data types, with the length of an element and of its numbers, and the bytes of a fill value. */
const TYPES: readonly {
  readonly dataType: string | NamedConfiguration;
  readonly size: number;
  readonly unit: number;
  readonly fillValue: unknown;
  readonly fill: readonly number[];
}[] = [
  { dataType: "uint8", size: 1, unit: 1, fillValue: 7, fill: [7] },
  { dataType: "int16", size: 2, unit: 2, fillValue: -2, fill: [254, 255] },
  {
    dataType: "float32",
    size: 4,
    unit: 4,
    fillValue: "NaN",
    fill: [0, 0, 192, 127],
  },
  { dataType: "float16", size: 2, unit: 2, fillValue: 1.5, fill: [0, 62] },
  { dataType: "bool", size: 1, unit: 1, fillValue: true, fill: [1] },
  {
    dataType: "float64",
    size: 8,
    unit: 8,
    fillValue: 1,
    fill: [0, 0, 0, 0, 0, 0, 240, 63],
  },
  {
    dataType: "complex128",
    size: 16,
    unit: 8,
    fillValue: [0, 1],
    fill: [...Array<number>(14).fill(0), 240, 63],
  },
  {
    dataType: {
      name: "null_terminated_bytes",
      configuration: { length_bytes: 5 },
    },
    size: 5,
    unit: 1,
    fillValue: "YQ==",
    fill: [97, 0, 0, 0, 0],
  },
  {
    dataType: "int64",
    size: 8,
    unit: 8,
    fillValue: -(2n ** 63n) + 1n,
    fill: [1, 0, 0, 0, 0, 0, 0, 128],
  },
  {
    dataType: "complex64",
    size: 8,
    unit: 4,
    fillValue: [1, "Infinity"],
    fill: [0, 0, 128, 63, 0, 0, 128, 127],
  },
  { dataType: "r24", size: 3, unit: 1, fillValue: [1, 2, 3], fill: [1, 2, 3] },
  {
    dataType: {
      name: "numpy.datetime64",
      configuration: { unit: "s", scale_factor: 1 },
    },
    size: 8,
    unit: 8,
    fillValue: "NaT",
    fill: [0, 0, 0, 0, 0, 0, 0, 128],
  },
  {
    dataType: {
      name: "fixed_length_utf32",
      configuration: { length_bytes: 12 },
    },
    size: 12,
    unit: 4,
    fillValue: "aβ",
    fill: [97, 0, 0, 0, 178, 3, 0, 0, 0, 0, 0, 0],
  },
];

/** A recoding, and an array for it. */
export interface RecodedCase {
  readonly array: PlainArray;
  readonly recode: Recoding;
  readonly leavesOut: boolean;
}

const compressors = fc.constantFrom<NamedConfiguration[][]>(
  [],
  [{ name: "gzip", configuration: { level: 1 } }],
  [{ name: "zstd", configuration: { level: 1, checksum: false } }],
  [{ name: "crc32c" }],
  [{ name: "gzip", configuration: { level: 1 } }, { name: "crc32c" }],
);

/** The codecs of chunks of some rank. */
function codecsOf(rank: number): fc.Arbitrary<NamedConfiguration[]> {
  const axes = Array.from({ length: rank }, (_, i) => i);
  return fc.record({
    order: fc.option(
      fc.shuffledSubarray(axes, { minLength: rank, maxLength: rank }),
      { nil: undefined, freq: 3 },
    ),
    endian: fc.constantFrom("little", "big"),
    compressor: compressors,
  }).map(({ order, endian, compressor }) => [
    ...order && rank > 0
      ? [{ name: "transpose", configuration: { order } }]
      : [],
    { name: "bytes", configuration: { endian } },
    ...compressor,
  ]);
}

function shapeOf(rank: number, most: number): fc.Arbitrary<number[]> {
  return fc.array(fc.integer({ min: 1, max: most }), {
    minLength: rank,
    maxLength: rank,
  });
}

/** The shapes of chunks, and of shards of some of them. */
function grids(rank: number): fc.Arbitrary<{
  chunks: number[];
  shards: number[] | null;
}> {
  return fc.record({
    chunks: shapeOf(rank, 5),
    counts: fc.option(shapeOf(rank, 3), { nil: null }),
  }).map(({ chunks, counts }) => ({
    chunks,
    shards: counts && counts.map((count, i) => count * chunks[i]!),
  }));
}

/** Arrays of up to three dimensions, and recodings of them. */
export const recodedCases: fc.Arbitrary<RecodedCase> = fc
  .integer({ min: 0, max: 3 })
  .chain((rank) =>
    fc.record({
      shape: fc.array(fc.integer({ min: 0, max: 9 }), {
        minLength: rank,
        maxLength: rank,
      }),
      type: fc.constantFrom(...TYPES),
      from: grids(rank),
      to: grids(rank),
      codecs: codecsOf(rank),
      newCodecs: fc.option(codecsOf(rank), { nil: undefined }),
      keepsShapes: fc.integer({ min: 0, max: 3 }),
      // Long runs of fill values make absent chunks.
      seed: fc.infiniteStream(fc.integer({ min: 0, max: 5 })),
      leavesOut: fc.boolean(),
    })
  )
  .map(({ type, shape, from, to, codecs, newCodecs, ...rest }) => {
    const { size, unit } = type;
    const fill = Uint8Array.from(type.fill);
    const count = shape.reduce((n, length) => n * length, 1);
    const elements = new Uint8Array(count * size);
    let isFill = true;
    for (let i = 0; i < count; i++) {
      const next = rest.seed.next().value!;
      if (next === 0) isFill = !isFill;
      for (let j = 0; j < size; j++) {
        elements[i * size + j] = isFill
          ? fill[j]!
          : (i * 31 + j * 7 + next) & 255;
      }
    }
    const metadata: ArrayMetadata = {
      zarr_format: 3,
      node_type: "array",
      shape,
      data_type: type.dataType,
      chunk_grid: {
        name: "regular",
        configuration: { chunk_shape: from.shards ?? from.chunks },
      },
      chunk_key_encoding: { name: "default" },
      fill_value: type.fillValue,
      codecs: from.shards === null ? codecs : [{
        name: "sharding_indexed",
        configuration: {
          chunk_shape: from.chunks,
          codecs,
          index_codecs: [
            { name: "bytes", configuration: { endian: "little" } },
            { name: "crc32c" },
          ],
        },
      }],
    };
    const keepsChunks = rest.keepsShapes === 1 || rest.keepsShapes === 3;
    const recode: Recoding = {
      ...newCodecs && { codecs: newCodecs },
      chunks: keepsChunks ? from.chunks : to.chunks,
      shards: rest.keepsShapes === 3
        ? from.shards
        : to.shards && to.shards.map((length, i) =>
          length / to.chunks[i]! * (keepsChunks ? from.chunks : to.chunks)[i]!
        ),
    };
    return {
      array: { metadata, size, unit, fill, elements },
      recode,
      leavesOut: rest.leavesOut,
    };
  });
