/** The codecs of Zarr for the tiles of a TIFF, and the compressions of TIFF for codecs of Zarr. */
import { encodeStored, namedCodec } from "../codecs/mod.ts";
import { describe, describeAll, sentence } from "../errors/mod.ts";
import {
  isWhole,
  type NamedConfiguration,
  parseExtension,
} from "../metadata/mod.ts";
import { encodeBase64 } from "../runtime/mod.ts";
import {
  CONVERT,
  PageDamage,
  PageProblem,
  type PageTags,
} from "./tiff_tags.ts";

/** A data type that TIFF has. */
export interface TiffDataType {
  /** Such as `uint`. */
  readonly kind: string;
  readonly bits: number;
}

/** The encoding of the bytes of a tile in TIFF. */
export interface TileEncoding {
  /** The value of the tag Compression. */
  readonly compression: number;
  /** The value of the tag Predictor: 1 for none, 2 for differences, 3 for floating point. */
  readonly predictor: 1 | 2 | 3;
  readonly isLittleEndian: boolean;
}

/** A compression of TIFF. */
interface Compression {
  readonly isNone?: true;
  /** The codec that decodes it. */
  readonly codec?: NamedConfiguration;
  /** The names of the codecs that encode it. */
  readonly names?: readonly string[];
  /** The format of `encodeStored`. */
  readonly format?: Parameters<typeof encodeStored>[1];
  /** Whether programs apply predictors with it. */
  readonly isPredicted?: true;
  /** Whether its data marks its end. */
  readonly isEnded?: true;
}

const [NONE, LZW, JPEG, DEFLATE, OLD_DEFLATE, PACK_BITS, LERC, ZSTD] = [
  1,
  5,
  7,
  8,
  32946,
  32773,
  34887,
  50000,
] as const;
const ZLIB_CODEC = { name: "numcodecs.zlib", configuration: { level: 6 } };
const ZSTD_CODEC = {
  name: "zstd",
  configuration: { level: 0, checksum: false },
};

/** The compressions that are decoded, by the values of the tag Compression. */
const COMPRESSIONS: Readonly<Record<number, Compression>> = {
  [NONE]: { isNone: true },
  [LZW]: {
    codec: { name: "imagecodecs_lzw", configuration: {} },
    names: ["imagecodecs_lzw"],
    format: "lzw",
    isPredicted: true,
    isEnded: true,
  },
  [JPEG]: { isEnded: true },
  [DEFLATE]: {
    codec: ZLIB_CODEC,
    names: [
      "zlib",
      "numcodecs.zlib",
      "imagecodecs_zlib",
      "imagecodecs_deflate",
    ],
    format: "zlib",
    isPredicted: true,
    isEnded: true,
  },
  // The code of deflate from before the standard.
  [OLD_DEFLATE]: { codec: ZLIB_CODEC, isPredicted: true, isEnded: true },
  [PACK_BITS]: {
    codec: { name: "imagecodecs_packbits", configuration: {} },
    names: ["imagecodecs_packbits"],
    format: "packbits",
  },
  [ZSTD]: {
    codec: ZSTD_CODEC,
    names: ["zstd", "numcodecs.zstd", "imagecodecs_zstd"],
    format: "zstd",
    isPredicted: true,
  },
};

/** The compression of the tiles of a page, without members if it is not known. */
export function compressionOf(tags: PageTags): Compression {
  return COMPRESSIONS[tags.number("compression", NONE)] ?? {};
}

/** Encodes bytes in the form of a compression that is written. */
export function compressStored(
  bytes: Uint8Array,
  compression: number,
): Uint8Array {
  const { format } = COMPRESSIONS[compression]!;
  return format === undefined ? bytes : encodeStored(bytes, format);
}

/** The values of the tag Compression by the names of codecs. */
const CODES: ReadonlyMap<string, number> = /* @__PURE__ */ new Map(
  /* @__PURE__ */ Object.entries(COMPRESSIONS).flatMap((
    [code, { names = [] }],
  ) => names.map((name) => [name, Number(code)] as const)),
);

const PREDICTORS: Readonly<Record<string, 2 | 3>> = {
  imagecodecs_delta: 2,
  imagecodecs_floatpred: 3,
};

/** Advice for codecs that resemble those of TIFF. */
const ADVICE: Readonly<Record<string, string>> = {
  gzip: ': use "numcodecs.zlib", which compresses the same way',
  "numcodecs.gzip": ': use "numcodecs.zlib", which compresses the same way',
  crc32c: ": leave it out, or store the checksums elsewhere",
  packbits:
    ', since it packs booleans: use "imagecodecs_packbits" for the compression PackBits',
};

/**
 * Finds the compression and the predictor that TIFF has for the codecs of inner chunks.
 *
 * @param place The dimension along a row of a picture, and the number of dimensions.
 * @throws {RangeError} If TIFF has no equivalent of a codec.
 */
export function tileEncoding(
  codecs: readonly unknown[],
  { kind, bits }: TiffDataType,
  { xAxis, rank }: { readonly xAxis: number; readonly rank: number },
): TileEncoding {
  const parsed = codecs.map((codec) => parseExtension(codec, "codec"));
  const bytes = parsed.findIndex(({ name }) => name === "bytes");
  const predicting = parsed.find(({ name }) => Object.hasOwn(PREDICTORS, name));
  const compressing = parsed.find(({ name }) => CODES.has(name));
  const expected = [predicting, parsed[bytes], compressing]
    .filter((codec) => codec !== undefined);
  const unknown = parsed.find((codec, i) => codec !== expected[i]);
  if (unknown !== undefined || bytes < 0) {
    const [predictors, compressors] = [Object.keys(PREDICTORS), CODES.keys()]
      .map(describeAll);
    const found = describe(parsed.map(({ name }) => name));
    const advice = unknown === undefined
      ? ""
      : sentence`: TIFF has no ${unknown.name} there` +
        (ADVICE[unknown.name] ?? "");
    throw new RangeError(
      `Expected inner chunks with the codec "bytes", maybe one of ${predictors} before it, and maybe one of ${compressors} after it, found ${found}${advice}`,
    );
  }
  const { endian } = parsed[bytes]!.configuration;
  const { axis = -1, dist = 1 } = predicting?.configuration ?? {};
  const isLittleEndian = bits === 8 || endian === "little";
  const predictor = predicting ? PREDICTORS[predicting.name]! : 1;
  const compression = compressing ? CODES.get(compressing.name)! : NONE;
  const [predictorName, compressorName] = [predicting, compressing]
    .map((codec) => describe(codec?.name ?? "no compression"));
  const expectedAxis = xAxis - rank;
  refuseFirst([
    [
      bits > 8 && endian !== "little" && endian !== "big",
      sentence`the codec "bytes" with endian "little" or "big", found ${endian}`,
    ],
    [
      axis !== xAxis && axis !== expectedAxis && predictor > 1 || dist !== 1,
      sentence`a predictor along the rows of a picture, with axis ${expectedAxis} and dist 1, found axis ${axis} and dist ${dist}`,
    ],
    [
      predictor === 3 && !(kind === "float" && isLittleEndian),
      'floating-point numbers in the byte order "little" for the codec "imagecodecs_floatpred", which orders bytes itself',
    ],
    [
      predictor > 1 && kind === "complex",
      `no predictor for complex numbers, as TIFF has none, found ${predictorName}`,
    ],
    [
      compressing?.configuration.raw === true,
      `the codec ${compressorName} with raw: false, since TIFF has the header of zlib, found true`,
    ],
    [
      predictor > 1 && !COMPRESSIONS[compression]!.isPredicted,
      `one of the codecs "numcodecs.zlib", "zstd" and "imagecodecs_lzw" with the predictor ${predictorName}, since TIFF readers ignore predictors otherwise, found ${compressorName}`,
    ],
  ]);
  return { compression, predictor, isLittleEndian };
}

/** A reason to refuse options: whether it applies, and the text of the error after "Expected". */
type Refusal = readonly [isRefused: boolean, expected: string];

/** Throws a `RangeError` for the first of several refusals that applies. */
export function refuseFirst(refusals: readonly Refusal[]): void {
  const refusal = refusals.find(([isRefused]) => isRefused);
  if (refusal !== undefined) throw new RangeError(`Expected ${refusal[1]}`);
}

/** Codecs that do not compress. */
const NOT_COMPRESSING =
  /^(?:bytes|transpose|reshape|crc32c?|(?:numcodecs\.)?(?:shuffle|delta|bitround|quantize|adler32|crc32c?|fletcher32|jenkins_lookup3)|imagecodecs_(?:delta|floatpred))$/;

/**
 * The codec of TIFF that compresses most like a codec.
 *
 * @returns `undefined` for a codec that does not compress.
 */
export function equivalentOf(
  { name, configuration = {} }: NamedConfiguration,
): NamedConfiguration | undefined {
  if (NOT_COMPRESSING.test(name)) return undefined;
  if (CODES.has(name) && configuration.raw !== true) {
    return { name, configuration };
  }
  const { level, clevel, cname } = configuration;
  const isZlib = /(?:^|\.|_)(?:gzip|zlib|deflate)$/.test(name) ||
    cname === "zlib";
  if (isZlib) {
    return namedCodec("zlib", { level: levelOf(level ?? clevel, 9) });
  }
  // Blosc, lz4, bz2, lzma, pcodec, zfpy and codecs that are not known.
  return namedCodec("zstd", {
    level: cname === "zstd" ? levelOf(clevel, 9) : undefined,
  });
}

function levelOf(level: unknown, most: number): number | undefined {
  return isWhole(level) && level <= most ? level : undefined;
}

/** The names of compressions that have no codec here. */
const OTHER_COMPRESSIONS: Readonly<Record<number, string>> = {
  2: "CCITT",
  3: "CCITT T.4",
  4: "CCITT T.6",
  6: "old-style JPEG",
  33003: "JPEG 2000",
  33005: "JPEG 2000",
  34712: "JPEG 2000",
  34925: "LZMA",
  50001: "WebP",
  50002: "JPEG XL",
  52546: "JPEG XL",
};
/** The data types of GDAL that hold all numbers of a kind, as far as Zarr has data types for them. */
const WIDER: Readonly<Record<string, string>> = {
  uint: "UInt32 -co NBITS=32", // Without NBITS, GDAL keeps the number of bits.
  int: "Int32 -co NBITS=32",
  float: "Float32 -co NBITS=32",
  complex: "CFloat64",
  "complex int": "CFloat64",
};
/** The kinds of numbers by the values of SampleFormat. */
const KINDS: Readonly<Record<number, string>> = {
  1: "uint",
  2: "int",
  3: "float",
  4: "uint", // Undefined data.
  6: "complex",
};
const DATA_TYPES =
  /^(?:u?int(?:8|16|32|64)|float(?:16|32|64)|complex(?:64|128))$/;

/**
 * The data type of a page by its Zarr name.
 *
 * @throws {PageProblem} If Zarr has none for it.
 */
export function dataTypeOf(tags: PageTags, isLittleEndian: boolean): string {
  const bits = tags.same("bitsPerSample", 1);
  const format = tags.same("sampleFormat", 1);
  if (bits === undefined || format === undefined) {
    const [all, formats = 1] = [
      tags.list("bitsPerSample"),
      tags.list("sampleFormat"),
    ];
    throw new PageProblem(
      `its bands have different data types, BitsPerSample ${all} and SampleFormat ${formats}: store them in files of their own`,
    );
  }
  const packed = packedBits(tags, isLittleEndian);
  if (packed !== undefined) {
    return packed < 8 ? "uint8" : packed < 16 ? "uint16" : "uint32";
  }
  const kind = KINDS[format] ?? "complex int";
  const name = `${kind}${bits}`;
  if (DATA_TYPES.test(name)) return name;
  const wider = WIDER[kind];
  throw new PageProblem(
    `it has elements of ${bits} bits (SampleFormat ${format}), for which Zarr has no data type: convert the file, such as by gdal_translate -ot ${wider}`,
  );
}

/** The number of bits of unsigned integers that lie in rows without gaps; `undefined` for other elements. */
export function packedBits(
  tags: PageTags,
  isLittleEndian: boolean,
): number | undefined {
  const bits = tags.number("bitsPerSample", 1);
  const isUint = KINDS[tags.number("sampleFormat", 1)] === "uint";
  // Programs read 24 bits in different byte orders in big-endian files, and with the highest
  // bit first in others.
  const isPacked = isUint && Number.isInteger(bits) && bits > 0 && bits < 32 &&
    (bits % 8 !== 0 || bits === 24 && isLittleEndian);
  return isPacked ? bits : undefined;
}

/**
 * The codecs of a tile in the terms of Zarr.
 *
 * @param shape The dimensions of the page.
 * @throws {PageProblem} If there are no such codecs.
 */
export function codecsOf(
  tags: PageTags,
  dataType: string,
  isLittleEndian: boolean,
  { axes, tileShape }: {
    readonly axes: readonly string[];
    readonly tileShape: readonly number[];
  },
): NamedConfiguration[] {
  // JPEG has an order of bits of its own.
  if (tags.number("compression", NONE) === JPEG) {
    return [jpegOf(tags, dataType)];
  }
  if (tags.number("photometric", 1) === YCBCR && isSubsampled(tags)) {
    throw new PageProblem(
      `it has colors in YCbCr with fewer elements than pixels: ${CONVERT}`,
    );
  }
  if (tags.number("compression", NONE) === LERC) {
    return lercOf(tags, dataType, isLittleEndian);
  }
  const bitspersample = packedBits(tags, isLittleEndian);
  const predictor = predictorOf(
    tags,
    dataType,
    axes.at(-1) === "band" ? -2 : -1,
    bitspersample,
  );
  if (bitspersample !== undefined) {
    const runlen = tileShape.slice(axes.indexOf("x"))
      .reduce((product, n) => product * n, 1);
    return [
      {
        name: "imagecodecs_packints",
        configuration: { bitspersample, runlen },
      },
      ...compressorsOf(tags),
    ];
  }
  // Predictor 3 orders bytes itself.
  const isLittle = isLittleEndian || predictor?.name === FLOATPRED;
  return [
    ...predictor ? [predictor] : [],
    dataType.endsWith("int8") ? { name: "bytes" } : {
      name: "bytes",
      configuration: { endian: isLittle ? "little" : "big" },
    },
    ...compressorsOf(tags),
  ];
}

/** The most bytes of tables for JPEG; all that there can be take less than 2 KiB. */
const LONGEST_TABLES = 2 ** 14;
/** The most bands of a JPEG that is decoded. */
const MOST_JPEG_BANDS = 4;
/** The value of PhotometricInterpretation for colors in YCbCr. */
const YCBCR = 6;
const FLOATPRED = "imagecodecs_floatpred";

/** The codec of JPEG, which converts only colors in YCbCr, as libtiff does. */
function jpegOf(tags: PageTags, dataType: string): NamedConfiguration {
  const bits = tags.number("bitsPerSample", 1);
  const isPlanar = tags.number("planarConfiguration", 1) === 2;
  const bands = tags.number("samplesPerPixel", 1);
  const samples = isPlanar ? 1 : bands;
  const isYcbcr = tags.number("photometric", 1) === YCBCR;
  const tables = tags.list("jpegTables");
  if (tables !== undefined && tables.length > LONGEST_TABLES) {
    throw new PageDamage(
      `it has tables of ${tables.length} bytes for JPEG, where ${LONGEST_TABLES} are the most: ${CONVERT}`,
    );
  }
  const type = bits % 8 === 0 ? dataType : `${bits} bits`;
  const problem = type !== "uint8"
    ? `is compressed by JPEG, which is for elements of uint8 and not of ${type}`
    : isYcbcr && isPlanar && bands > 1 && isSubsampled(tags)
    ? "has planes of colors in YCbCr with fewer elements than pixels"
    : isYcbcr && ![1, 3].includes(samples)
    ? `is compressed by JPEG with ${samples} bands in YCbCr`
    : samples > MOST_JPEG_BANDS
    ? `is compressed by JPEG with ${samples} bands, where ${MOST_JPEG_BANDS} are the most`
    : undefined;
  if (problem !== undefined) throw new PageProblem(`it ${problem}: ${CONVERT}`);
  const colors = samples === 1 || samples === 2
    ? {}
    : samples === 4
    ? { colorspace_jpeg: "CMYK", colorspace_data: "CMYK" }
    : { colorspace_jpeg: isYcbcr ? "YCbCr" : "RGB", colorspace_data: "RGB" };
  return {
    name: "imagecodecs_jpeg",
    configuration: {
      ...tables && { tables: encodeBase64(tables) },
      ...colors,
    },
  };
}

/** What LERC is compressed by, for the second of LercParameters. */
const LERC_COMPRESSIONS = [[], [ZLIB_CODEC], [ZSTD_CODEC]];
const LERC_TYPES = /^(?:u?int(?:8|16|32)|float(?:32|64))$/;

function lercOf(
  tags: PageTags,
  dataType: string,
  isLittleEndian: boolean,
): NamedConfiguration[] {
  const predictor = tags.number("predictor", 1);
  const fillOrder = tags.number("fillOrder", 1);
  const [version, compression = 0] = tags.list("lercParameters") ?? [];
  const compressors = LERC_COMPRESSIONS[compression];
  const isPacked = packedBits(tags, isLittleEndian) !== undefined;
  // Programs do not agree on the order of the bits, nor on predictors.
  const isPlain = fillOrder === 1 && predictor === 1;
  if (
    compressors !== undefined && isPlain && !isPacked &&
    LERC_TYPES.test(dataType)
  ) {
    return [{ name: "imagecodecs_lerc" }, ...structuredClone(compressors)];
  }
  const type = isPacked ? `${tags.number("bitsPerSample", 1)} bits` : dataType;
  const parameters = version === undefined ? "none" : [version, compression];
  throw new PageProblem(
    `it is compressed by LERC, with elements of ${type}, the predictor ${predictor}, FillOrder ${fillOrder} and LercParameters ${parameters}, for which there is no codec: ${CONVERT}`,
  );
}

function isSubsampled(tags: PageTags): boolean {
  return (tags.list("ycbcrSubsampling") ?? [2, 2]).some((n) => n > 1);
}

function compressorsOf(tags: PageTags): NamedConfiguration[] {
  const { codec, isNone } = compressionOf(tags);
  const fillOrder = tags.number("fillOrder", 1);
  if (fillOrder !== 1 && fillOrder !== 2) {
    throw new PageProblem(
      `it has FillOrder ${fillOrder}, expected 1 or 2: ${CONVERT}`,
    );
  }
  if (codec !== undefined || isNone) {
    return [
      ...codec === undefined ? [] : [structuredClone(codec)],
      ...fillOrder === 2 ? [{ name: "zarr-parts.bitorder" }] : [],
    ];
  }
  const code = tags.number("compression", NONE);
  const name = OTHER_COMPRESSIONS[code] ?? "an unknown method";
  throw new PageProblem(
    `it is compressed by ${name} (Compression ${code}), for which there is no codec: ${CONVERT}`,
  );
}

function predictorOf(
  tags: PageTags,
  dataType: string,
  axis: -1 | -2,
  packed: number | undefined,
): NamedConfiguration | undefined {
  const predictor = tags.number("predictor", 1);
  if (predictor === 1) return undefined;
  if (!compressionOf(tags).isPredicted) {
    const compression = tags.number("compression", NONE);
    throw new PageProblem(
      `it has the predictor ${predictor} with the compression ${compression}, which some programs apply and others do not: ${CONVERT}`,
    );
  }
  const configuration = { axis };
  const isPacked = packed !== undefined;
  if (predictor === 2 && !dataType.startsWith("complex") && !isPacked) {
    return { name: "imagecodecs_delta", configuration };
  }
  if (predictor === 3 && dataType.startsWith("float")) {
    return { name: FLOATPRED, configuration };
  }
  const type = isPacked ? `${packed} bits` : dataType;
  throw new PageProblem(
    `it has the predictor ${predictor} for elements of ${type}, for which there is no codec: ${CONVERT}`,
  );
}
