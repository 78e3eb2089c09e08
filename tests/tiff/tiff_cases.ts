import { type ArrayMetadata, arrayMetadata } from "../../mod.ts";
import type { TiffOptions } from "../../tiff.ts";

/** An array in TIFF shards. */
export interface TiffCase {
  readonly name: string;
  readonly metadata: ArrayMetadata;
  readonly options: TiffOptions;
  /** Whether every third inner chunk is absent. */
  readonly hasAbsent: boolean;
}

type CodecList = (string | { name: string; configuration?: object })[];

/** Codecs by the name that tests use. */
const COMPRESSIONS: Record<string, CodecList> = {
  none: [],
  zstd: ["zstd"],
  deflate: [{ name: "numcodecs.zlib", configuration: { level: 1 } }],
  lzw: [{ name: "imagecodecs_lzw" }],
  packbits: [{ name: "imagecodecs_packbits" }],
};

const DATA_TYPES = [
  ...[8, 16, 32, 64].flatMap((bits) => [`uint${bits}`, `int${bits}`]),
  ...[16, 32, 64].map((bits) => `float${bits}`),
];

/** What sets an array apart from the usual one. */
export interface Variant {
  name?: string;
  dataType?: string;
  shape?: number[];
  shardShape?: number[];
  chunkShape?: number[];
  compression?: string;
  predictor?: "imagecodecs_delta" | "imagecodecs_floatpred";
  axis?: number;
  endian?: "little" | "big";
  options?: TiffOptions;
  fillValue?: unknown;
  hasAbsent?: boolean;
  /** Whether the index is in a part of its own. */
  isBeside?: boolean;
}

/** Composes an array of two dimensions, with changes. */
export function caseOf({
  dataType = "uint16",
  shape = [70, 100],
  shardShape = [64, 64],
  chunkShape = [16, 32],
  compression = "none",
  predictor,
  axis = -1,
  endian = "little",
  options = {},
  fillValue,
  hasAbsent = false,
  isBeside = true,
  name = [
    dataType,
    endian,
    shape.join("x"),
    compression,
    predictor,
    options.bands && `bands ${options.bands}`,
    options.directory,
    options.bigTiff && "BigTIFF",
    hasAbsent && (options.sparse ? "sparse" : `filled ${fillValue ?? 0}`),
    isBeside ? undefined : "one object",
  ].filter(Boolean).join(", "),
}: Variant): TiffCase {
  const codecs = [
    ...predictor ? [{ name: predictor, configuration: { axis, dist: 1 } }] : [],
    { name: "bytes", configuration: { endian } },
    ...COMPRESSIONS[compression]!,
  ];
  const metadata = arrayMetadata({
    shape,
    dataType,
    shardShape,
    chunkShape,
    ...isBeside ? { suffix: ".tiff", parts: ["", ".index"] } : {},
    ...fillValue === undefined ? {} : { fillValue },
  });
  const [sharding] = metadata.codecs as unknown as [
    { configuration: { codecs: unknown[] } },
  ];
  sharding.configuration.codecs = codecs;
  return { name, metadata, options, hasAbsent };
}

const PLANES = { shape: [3, 70, 100], chunkShape: [1, 16, 32] };
const BANDS_LAST = {
  shape: [70, 100, 3],
  shardShape: [64, 64, 3],
  chunkShape: [16, 32, 3],
};

/** The arrays that other programs must be able to read, shard by shard. */
export const TIFF_CASES: readonly TiffCase[] = [
  ...DATA_TYPES.flatMap((dataType) =>
    (["little", "big"] as const).flatMap((endian) => [
      caseOf({ dataType, endian }),
      caseOf({ dataType, endian, options: { bigTiff: true } }),
    ])
  ),
  ...(["little", "big"] as const).flatMap((endian) => [
    caseOf({
      ...{ dataType: "complex64", endian, compression: "zstd" },
      ...{ hasAbsent: true, fillValue: [1.5, -2] },
    }),
    caseOf({
      ...{ dataType: "complex128", endian, compression: "deflate" },
      ...{ hasAbsent: true, fillValue: [0, "NaN"] },
    }),
  ]),
  caseOf({ dataType: "bool", hasAbsent: true, fillValue: true }),
  ...Object.keys(COMPRESSIONS).flatMap((compression) =>
    (["start", "end"] as const).flatMap((directory) => [
      caseOf({ compression, options: { directory }, isBeside: false }),
      caseOf({ compression, options: { directory }, hasAbsent: true }),
      caseOf({
        compression,
        dataType: "int32",
        options: { directory, bigTiff: true },
        hasAbsent: true,
        fillValue: -1234567,
      }),
    ])
  ),
  ...["zstd", "deflate", "lzw"].flatMap((compression) => [
    ...(["little", "big"] as const).flatMap((endian) =>
      ["uint8", "int16", "uint32", "int64"].map((dataType) =>
        caseOf({
          compression,
          dataType,
          endian,
          predictor: "imagecodecs_delta",
          hasAbsent: true,
          fillValue: 77,
        })
      )
    ),
    ...["float32", "float64"].map((dataType) =>
      caseOf({
        compression,
        dataType,
        predictor: "imagecodecs_floatpred",
        hasAbsent: true,
        fillValue: -1.2345,
      })
    ),
    caseOf({
      compression,
      ...BANDS_LAST,
      predictor: "imagecodecs_delta",
      axis: -2,
      options: { bands: "last" },
      hasAbsent: true,
      fillValue: 300,
    }),
  ]),
  caseOf({
    hasAbsent: true,
    fillValue: 9,
    options: { sparse: true },
    dataType: "uint8",
  }),
  caseOf({ hasAbsent: true, options: { sparse: true }, compression: "zstd" }),
  caseOf({
    hasAbsent: true,
    options: { sparse: true },
    compression: "zstd",
    dataType: "float32",
    fillValue: "NaN",
  }),
  ...[1, 3].flatMap((along) => [
    caseOf({
      ...PLANES,
      shardShape: [along, 64, 64],
      options: { bands: "first" },
      compression: "zstd",
    }),
    caseOf({ ...PLANES, shardShape: [along, 64, 64], compression: "zstd" }),
  ]),
  caseOf({
    shape: [2, 3, 40, 40],
    shardShape: [2, 2, 48, 32],
    chunkShape: [1, 1, 16, 16],
  }),
  caseOf({
    shape: [2, 40, 40, 4],
    shardShape: [2, 48, 32, 4],
    chunkShape: [1, 16, 16, 4],
    options: { bands: "last" },
  }),
  caseOf({
    shape: [2, 3, 40, 40],
    shardShape: [1, 3, 48, 32],
    chunkShape: [1, 1, 16, 16],
    options: { bands: "first", directory: "end" },
    dataType: "float32",
    endian: "big",
  }),
  ...(["uint8", "uint16"] as const).map((dataType) =>
    caseOf({
      ...BANDS_LAST,
      dataType,
      name: `${dataType} in colors`,
      options: { bands: "last", colors: "rgb" },
    })
  ),
];

const FLOATS = DATA_TYPES.filter((dataType) => dataType.startsWith("float"));

/** The arrays whose tiles zarrita encodes, for other programs to read. */
export const WRITTEN_CASES: readonly TiffCase[] = [
  ...(["little", "big"] as const).flatMap((endian) =>
    DATA_TYPES.flatMap((dataType) => [
      ...["lzw", "packbits"].map((compression) =>
        caseOf({ dataType, endian, compression })
      ),
      ...["lzw", "deflate", "zstd"].map((compression) =>
        caseOf({
          dataType,
          endian,
          compression,
          predictor: "imagecodecs_delta",
          hasAbsent: true,
          fillValue: 7,
        })
      ),
    ])
  ),
  ...FLOATS.flatMap((dataType) =>
    ["lzw", "deflate", "zstd"].map((compression) =>
      caseOf({
        dataType,
        compression,
        predictor: "imagecodecs_floatpred",
        hasAbsent: true,
        fillValue: -1.5,
      })
    )
  ),
  ...([
    ["imagecodecs_delta", "uint8"],
    ["imagecodecs_delta", "uint16"],
    ["imagecodecs_floatpred", "float16"],
    ["imagecodecs_floatpred", "float32"],
    ["imagecodecs_floatpred", "float64"],
    [undefined, "int32"],
  ] as const).flatMap(([predictor, dataType]) =>
    ["lzw", "deflate", ...predictor ? [] : ["packbits"]].flatMap(
      (compression) => {
        const common = {
          ...{ dataType, compression },
          ...predictor ? { predictor } : {},
        };
        return [
          caseOf({
            ...{ ...common, ...BANDS_LAST, axis: -2 },
            options: { bands: "last" },
          }),
          caseOf({
            ...{ ...common, ...PLANES, shardShape: [3, 64, 64] },
            options: { bands: "first", directory: "end" },
          }),
          caseOf({ ...common, ...PLANES, shardShape: [3, 64, 64] }),
        ];
      },
    )
  ),
];
