import type { ArrayMetadata, NamedConfiguration } from "../../mod.ts";
import type { Recoding } from "../../jobs.ts";
import type { PlainArray } from "./recode_oracle.ts";
import fc from "fast-check";

type DataType = [
  dataType: string | NamedConfiguration,
  /** The length of an element and of its numbers. */
  size: number,
  unit: number,
  fillValue: unknown,
  fill: readonly number[],
];

const own = (name: string, configuration: Record<string, unknown>) => ({
  ...{ name, configuration },
});
const TYPES: readonly DataType[] = [
  ["uint8", 1, 1, 7, [7]],
  ["int16", 2, 2, -2, [254, 255]],
  ["float32", 4, 4, "NaN", [0, 0, 192, 127]],
  ["float16", 2, 2, 1.5, [0, 62]],
  ["bool", 1, 1, true, [1]],
  ["float64", 8, 8, 1, [0, 0, 0, 0, 0, 0, 240, 63]],
  ["complex128", 16, 8, [0, 1], [...Array<number>(14).fill(0), 240, 63]],
  [
    own("null_terminated_bytes", { length_bytes: 5 }),
    ...[5, 1, "YQ==", [97, 0, 0, 0, 0]] as const,
  ],
  ["int64", 8, 8, -(2n ** 63n) + 1n, [1, 0, 0, 0, 0, 0, 0, 128]],
  ["complex64", 8, 4, [1, "Infinity"], [0, 0, 128, 63, 0, 0, 128, 127]],
  ["r24", 3, 1, [1, 2, 3], [1, 2, 3]],
  [
    own("numpy.datetime64", { unit: "s", scale_factor: 1 }),
    ...[8, 8, "NaT", [0, 0, 0, 0, 0, 0, 0, 128]] as const,
  ],
  [
    own("fixed_length_utf32", { length_bytes: 12 }),
    ...[12, 4, "aβ", [97, 0, 0, 0, 178, 3, 0, 0, 0, 0, 0, 0]] as const,
  ],
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
    const [dataType, size, unit, fillValue, fillBytes] = type;
    const fill = Uint8Array.from(fillBytes);
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
      data_type: dataType,
      chunk_grid: {
        name: "regular",
        configuration: { chunk_shape: from.shards ?? from.chunks },
      },
      chunk_key_encoding: { name: "default" },
      fill_value: fillValue,
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
