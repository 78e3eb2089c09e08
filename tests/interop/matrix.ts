import { type FillValue, ITEM_SIZES } from "./elements.ts";
import {
  bytes,
  type InteropArray,
  interopArray,
  sharded,
} from "./interop_array.ts";
import { CRC32C, PIPELINES, TRANSPOSE, ZSTD } from "./pipelines.ts";

/** The data types that zarrita can read, except for strings. */
const DATA_TYPES = Object.keys(ITEM_SIZES).filter((dataType) =>
  !/^(bfloat|complex)/.test(dataType)
);
const FLOATS: FillValue[] = [0, -0, 1.5, NaN, Infinity, -Infinity];
const FILLS: Readonly<Record<string, FillValue[]>> = {
  bool: [false, true],
  int8: [0, -128, 127],
  uint8: [0, 255],
  int16: [0, -32768],
  uint16: [0, 65535],
  int32: [0, -(2 ** 31)],
  uint32: [0, 2 ** 32 - 1],
  int64: [0n, -(2n ** 63n), 2n ** 53n - 1n, 2n ** 63n - 1n],
  uint64: [0n, 2n ** 53n - 1n, 2n ** 64n - 1n],
  float16: FLOATS,
  float32: [...FLOATS, "0x7fc00001"],
  float64: FLOATS,
};

/** Names with characters that are special in URLs, shells, JSON or file systems. */
const NAMES = [
  "with space",
  "grüße 日本",
  "a+b&c=d",
  "it's",
  "#1",
  "50%",
  "%41",
  "c",
  "..x",
  // Windows does not allow these.
  ...Deno.build.os === "windows" ? [] : ['"quoted"', "why?", "a:b*"],
];

/** The arrays that every program writes and reads. */
export const MATRIX: readonly InteropArray[] = [
  ...DATA_TYPES.flatMap(ofType),
  ...DATA_TYPES.flatMap(withFills),
  ...[0, 1, 2, 3, 4, 5].flatMap(ofRank),
  interopArray("ranks/of length 0", { shape: [0, 3] }),
  ...Object.entries(PIPELINES).flatMap(([name, codecs]) => [
    interopArray(`codecs/${name}`, { codecs }),
    inShards(`codecs/${name} in shards`, { codecs }),
  ]),
  interopArray("codecs/transpose 3", {
    shape: [4, 5, 3],
    chunkShape: [2, 4, 3],
    codecs: [
      { name: "transpose", configuration: { order: [2, 0, 1] } },
      bytes("int16"),
    ],
  }),
  ...["little", "big"].flatMap((endian) =>
    ["start", "end"].flatMap((location) =>
      [true, false].map((hasChecksum) =>
        inShards(
          `shards/${endian} ${location}${hasChecksum ? " checked" : ""}`,
          { index: { endian, location, hasChecksum } },
        )
      )
    )
  ),
  interopArray("shards/nested", {
    shape: [13, 11],
    chunkShape: [8, 8],
    innerShapes: [[4, 4], [2, 2]],
    codecs: [
      sharded([4, 4], [
        sharded([2, 2], [bytes("int16"), ZSTD], { location: "start" }),
      ]),
    ],
  }),
  interopArray("shards/transposed", {
    shape: [13, 11],
    chunkShape: [6, 4],
    codecs: [TRANSPOSE, sharded([2, 3], [bytes("int16")])],
  }),
  interopArray("shards/transposed square", {
    shape: [13, 11],
    chunkShape: [6, 6],
    codecs: [TRANSPOSE, sharded([2, 3], [bytes("int16")])],
  }),
  interopArray("shards/checked as a whole", {
    shape: [13, 11],
    chunkShape: [6, 4],
    codecs: [sharded([3, 2], [bytes("int16")]), CRC32C],
  }),
  ...["bool", "uint8", "int64", "float32"].map((dataType) =>
    interopArray(`defaults/${dataType}`, {
      dataType,
      shape: [40, 30],
      chunkShape: [40, 30],
      fill: dataType === "bool" ? false : 0,
      byDefault: true,
    })
  ),
  ...NAMES.map((name) => interopArray(`names/${name}/${name}`)),
  ...["bfloat16", "complex64", "complex128"].map((dataType) =>
    interopArray(`other/${dataType}`, { dataType, fill: 0 })
  ),
];

/** The groups that the arrays are in. */
export const GROUPS: readonly string[] = [
  "",
  ...new Set(MATRIX.flatMap(({ path }) => {
    const names = path.split("/").slice(0, -1);
    return names.map((_, i) => names.slice(0, i + 1).join("/"));
  })),
];

function ofType(dataType: string): InteropArray[] {
  const endians = ITEM_SIZES[dataType] === 1
    ? ["little" as const]
    : ["little" as const, "big" as const];
  const fill = dataType === "bool" ? true : 3;
  return endians.flatMap((endian) => {
    const codecs = [bytes(dataType, endian)];
    const path = `types/${dataType} ${endian}`;
    return [
      interopArray(path, { dataType, fill, codecs }),
      inShards(`${path} in shards`, { dataType, fill, codecs }),
    ];
  });
}

function withFills(dataType: string): InteropArray[] {
  return FILLS[dataType]!.flatMap((fill) => {
    const name = Object.is(fill, -0) ? "-0" : String(fill);
    return [
      interopArray(`fills/${dataType} ${name}`, { dataType, fill }),
      interopArray(`fills/${dataType} ${name} only`, {
        dataType,
        fill,
        isEmpty: true,
      }),
    ];
  });
}

function ofRank(rank: number): InteropArray[] {
  const lengths = (...all: number[]) => all.slice(0, rank);
  const shape = lengths(3, 4, 3, 2, 5);
  const innerShape = lengths(2, 1, 2, 2, 2);
  return [
    interopArray(`ranks/${rank}`, { shape, chunkShape: innerShape }),
    interopArray(`ranks/${rank} in shards`, {
      shape,
      chunkShape: lengths(2, 2, 2, 2, 4),
      innerShapes: [innerShape],
      codecs: [sharded(innerShape, [bytes("int16"), ZSTD])],
    }),
  ];
}

function inShards(
  path: string,
  { dataType = "int16", codecs = [bytes(dataType)], index, ...options }: {
    dataType?: string;
    fill?: FillValue;
    codecs?: Parameters<typeof sharded>[1];
    index?: Parameters<typeof sharded>[2];
  },
): InteropArray {
  return interopArray(path, {
    ...options,
    dataType,
    shape: [13, 11],
    chunkShape: [6, 4],
    innerShapes: [[3, 2]],
    codecs: [sharded([3, 2], codecs, index)],
  });
}
