import type { NamedConfiguration } from "../../mod.ts";
import { type ElementType, SIZES } from "./fixtures_elements.ts";
import { rawJSON } from "./fixtures_found.ts";
import {
  array,
  BLOSC,
  bytes,
  CRC32C,
  DELTA,
  GZIP,
  LITTLE,
  type MadeArray,
  type Options,
  STRINGS,
  transpose,
  ZSTD,
} from "./fixtures_made_array.ts";

/** Shapes of arrays, of their chunks, and of inner chunks where those are shards. */
const SHAPES: Readonly<Record<string, readonly number[][]>> = {
  "0": [[], [], []],
  "1 contiguous": [[4], [4], [4]],
  "1 chunked": [[4], [2], [1]],
  "1 ragged": [[5], [2], [1]],
  "1 less than a chunk": [[3], [8], [4]],
  "2 contiguous": [[2, 2], [2, 2], [2, 2]],
  "2 chunked": [[4, 4], [2, 2], [1, 1]],
  "2 ragged": [[3, 5], [2, 2], [1, 2]],
  "3 contiguous": [[3, 3, 3], [3, 3, 3], [3, 3, 3]],
  "3 by elements": [[2, 3, 2], [1, 1, 1], [1, 1, 1]],
  "3 mixed": [[3, 3, 3], [3, 3, 1], [3, 1, 1]],
  "5": [[2, 1, 3, 2, 1], [1, 1, 2, 2, 1], [1, 1, 1, 2, 1]],
};

const PIPELINES: Readonly<Record<string, readonly NamedConfiguration[]>> = {
  raw: [LITTLE],
  gzip: [LITTLE, GZIP],
  blosc: [LITTLE, BLOSC],
  zstd: [LITTLE, ZSTD],
  "zstd checked": [LITTLE, {
    name: "zstd",
    configuration: { level: 3, checksum: true },
  }],
  lz4: [LITTLE, { name: "lz4", configuration: { acceleration: 1 } }],
  crc32c: [LITTLE, CRC32C],
  "gzip crc32c": [LITTLE, GZIP, CRC32C],
  delta: [DELTA, LITTLE],
  "transpose delta": [transpose(2, 1, 0), DELTA, LITTLE],
  "transpose big zstd": [transpose(2, 1, 0), bytes("int16", "big"), ZSTD],
};

const FILLS: Readonly<Record<string, Options>> = {
  NaN: { dataType: "float32", fill: NaN, fillJson: "NaN" },
  Infinity: { dataType: "float64", fill: Infinity, fillJson: "Infinity" },
  "-Infinity": { dataType: "float16", fill: -Infinity, fillJson: "-Infinity" },
  "-0": { dataType: "float64", fill: -0, fillJson: rawJSON("-0.0") },
  "1.0": { dataType: "float32", fill: 1, fillJson: rawJSON("1.0") },
  "-2^53": {
    dataType: "int64",
    fill: -(2n ** 53n),
    fillJson: rawJSON("-9007199254740992"),
  },
  true: { dataType: "bool", fill: true },
  255: { dataType: "uint8", fill: 255 },
};

const TEXTS: Readonly<Record<string, Options>> = {
  contiguous: { shape: [4], chunkShape: [4], codecs: [STRINGS, ZSTD] },
  chunked: { shape: [5], chunkShape: [2], codecs: [STRINGS, ZSTD] },
  "by rows": { shape: [3, 2], chunkShape: [1, 2], codecs: [STRINGS, GZIP] },
  "not compressed": { shape: [3, 4], chunkShape: [2, 3], codecs: [STRINGS] },
  "not compressed in shards": {
    shape: [5, 4],
    chunkShape: [4, 4],
    innerShape: [2, 2],
    codecs: [STRINGS],
    rows: 3,
  },
  "in shards": {
    shape: [7],
    chunkShape: [4],
    innerShape: [2],
    codecs: [STRINGS, ZSTD],
    fill: "–",
    rows: 4,
  },
};

/** Arrays that zarrita can read. */
export const MATRIX: readonly MadeArray[] = [
  ...(Object.keys(SIZES) as ElementType[]).flatMap(ofType),
  ...Object.entries(SHAPES).flatMap(([name, [shape, chunkShape, innerShape]]) =>
    [{}, { innerShape: innerShape!, codecs: [LITTLE, GZIP] }].map((inner, i) =>
      array(`shapes/${name}${i ? " in shards" : ""}`, {
        shape: shape!,
        chunkShape: chunkShape!,
        ...inner,
      })
    )
  ),
  ...Object.entries(PIPELINES).flatMap(([name, codecs]) => {
    const shape = [3, 4, 3];
    return [
      array(`codecs/${name}`, { codecs, shape, chunkShape: [3, 2, 3] }),
      array(`codecs/${name} in shards`, {
        codecs,
        shape,
        chunkShape: [2, 4, 4],
        innerShape: [2, 2, 2],
      }),
    ];
  }),
  ...Object.entries(FILLS).flatMap(([name, fill]) =>
    [3, 0].map((rows) =>
      array(`fills/${name}, ${rows} rows`, { ...fill, shape: [8], rows })
    )
  ),
  array("fills/NaN in shards", {
    ...FILLS.NaN!,
    shape: [9],
    chunkShape: [4],
    innerShape: [2],
    rows: 2,
  }),
  ...Object.entries(TEXTS).map(([name, options]) =>
    array(`texts/${name}`, { dataType: "string", fill: "", ...options })
  ),
  array("documents/no names", { members: { dimension_names: null } }),
  array("documents/names & spaces ü", {
    members: {
      dimension_names: ["y", null],
      attributes: { "a b": [1, { c: null }], storage_transformers: 5 },
    },
  }),
];

/** Arrays that zarrita alone reads otherwise than they were written, but this package does not. */
export const BEYOND_ZARRITA: readonly MadeArray[] = [
  array("beyond/an index at the start", {
    shape: [5, 4],
    chunkShape: [2, 4],
    innerShape: [1, 2],
    codecs: [LITTLE, GZIP],
    indexLocation: "start",
  }),
  array("beyond/bare codecs", { codecs: ["gzip"], dataType: "uint8" }),
  array("beyond/bare codecs in shards", {
    codecs: [LITTLE, { name: "zstd" }],
    shape: [9],
    chunkShape: [4],
    innerShape: [2],
  }),
];

/** Arrays that cannot be read, by how the errors of zarrita alone start. */
export const UNREADABLE: Readonly<Record<string, MadeArray>> = {
  "Error: Input contains an empty iterator": array("unreadable/of length 0", {
    shape: [0, 3],
  }),
  "InvalidMetadataError: Unknown or unsupported dataType: complex64": array(
    "unreadable/complex",
    {
      rawChunk: new Array(32).fill(1),
      members: { data_type: "complex64", fill_value: [0, 0] },
    },
  ),
  "UnknownCodecError: Unknown codec: nobody's": array("unreadable/nobody's", {
    rawChunk: [1, 2, 3, 4],
    codecs: [LITTLE, { name: "nobody's", configuration: {} }],
  }),
  'CodecPipelineError: Failed to decode chunk via codec "gzip"': array(
    "unreadable/damaged",
    { rawChunk: [1, 2, 3, 4], codecs: [LITTLE, GZIP] },
  ),
};

function ofType(dataType: ElementType): MadeArray[] {
  const big = bytes(dataType, "big");
  const little = bytes(dataType);
  const options: Options = { dataType, fill: fillOf(dataType), shape: [9] };
  if (dataType === "string") return [];
  return [
    array(`types/${dataType} raw`, { ...options, codecs: [little] }),
    array(`types/${dataType} big`, { ...options, codecs: [big, BLOSC] }),
    array(`types/${dataType} in shards`, {
      ...options,
      chunkShape: [4],
      innerShape: [2],
      codecs: [little, GZIP],
    }),
  ];
}

function fillOf(dataType: ElementType) {
  if (dataType === "string") return "";
  if (dataType === "bool") return false;
  return dataType.includes("int64") ? 0n : 0;
}
