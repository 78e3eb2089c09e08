import { describe, describeAll } from "../../errors/mod.ts";
import { parseExtension } from "../../metadata/mod.ts";

/** How TIFF stores the bytes of a tile. */
export interface TileEncoding {
  /** The value of the tag Compression. */
  readonly compression: number;
  /** The value of the tag Predictor: 1 for none, 2 for differences, 3 for floating point. */
  readonly predictor: 1 | 2 | 3;
  readonly isLittleEndian: boolean;
}

/** The values of the tag Compression. */
export const COMPRESSION = {
  none: 1,
  lzw: 5,
  deflate: 8,
  packBits: 32773,
  zstd: 50000,
} as const;

const COMPRESSIONS: Readonly<Record<string, number>> = {
  zlib: COMPRESSION.deflate,
  "numcodecs.zlib": COMPRESSION.deflate,
  imagecodecs_zlib: COMPRESSION.deflate,
  imagecodecs_deflate: COMPRESSION.deflate,
  zstd: COMPRESSION.zstd,
  "numcodecs.zstd": COMPRESSION.zstd,
  imagecodecs_zstd: COMPRESSION.zstd,
  imagecodecs_lzw: COMPRESSION.lzw,
  imagecodecs_packbits: COMPRESSION.packBits,
};

const PREDICTORS: Readonly<Record<string, 2 | 3>> = {
  imagecodecs_delta: 2,
  imagecodecs_floatpred: 3,
};

/** The names of the codecs that TIFF has, without `bytes`. */
export const TIFF_CODECS: readonly string[] = [
  ...Object.keys(COMPRESSIONS),
  ...Object.keys(PREDICTORS),
];

/** What to use in place of codecs that resemble those of TIFF. */
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
 * @param bits The size of an element.
 * @param isFloat Whether elements are floating-point numbers.
 * @param xAxis The dimension along a row of a picture.
 * @param rank The number of dimensions.
 * @throws {RangeError} If TIFF has no equivalent of a codec.
 */
export function tileEncoding(
  codecs: readonly unknown[],
  { bits, isFloat, xAxis, rank }: {
    bits: number;
    isFloat: boolean;
    xAxis: number;
    rank: number;
  },
): TileEncoding {
  const parsed = codecs.map((codec) => parseExtension(codec, "codec"));
  const place = parsed.findIndex(({ name }) => name === "bytes");
  const [predicting, ...before] = parsed.slice(0, Math.max(place, 0));
  const [compressing, ...after] = parsed.slice(place + 1);
  const unknown = place < 0
    ? parsed.find(({ name }) => !(name in COMPRESSIONS || name in PREDICTORS))
    : [
      ...predicting && !Object.hasOwn(PREDICTORS, predicting.name)
        ? [predicting]
        : [],
      ...before,
      ...compressing && !Object.hasOwn(COMPRESSIONS, compressing.name)
        ? [compressing]
        : [],
      ...after,
    ][0];
  if (unknown !== undefined || place < 0) {
    throw new RangeError(
      `Expected inner chunks with the codec "bytes", maybe one of ${
        describeAll(Object.keys(PREDICTORS))
      } before it, and maybe one of ${
        describeAll(Object.keys(COMPRESSIONS))
      } after it, found ${describe(parsed.map(({ name }) => name))}${
        unknown === undefined
          ? ""
          : `: TIFF has no ${describe(unknown.name)} there${
            ADVICE[unknown.name] ?? ""
          }`
      }`,
    );
  }
  const { endian } = parsed[place]!.configuration;
  if (bits > 8 && endian !== "little" && endian !== "big") {
    throw new RangeError(
      `Expected the codec "bytes" with endian "little" or "big", found ${
        describe(endian)
      }`,
    );
  }
  const isLittleEndian = bits === 8 || endian === "little";
  const predictor = predicting ? PREDICTORS[predicting.name]! : 1;
  if (predicting) assertPredictor(predicting.configuration, { xAxis, rank });
  if (predictor === 3 && !(isFloat && isLittleEndian)) {
    throw new RangeError(
      'Expected floating-point numbers in the byte order "little" for the codec "imagecodecs_floatpred", which orders bytes itself',
    );
  }
  const compression = compressing
    ? COMPRESSIONS[compressing.name]!
    : COMPRESSION.none;
  if (compressing?.configuration.raw === true) {
    throw new RangeError(
      `Expected the codec ${
        describe(compressing.name)
      } with raw: false, since TIFF has the header of zlib, found true`,
    );
  }
  const isPredicted = ([
    COMPRESSION.lzw,
    COMPRESSION.deflate,
    COMPRESSION.zstd,
  ] as number[]).includes(compression);
  if (predictor > 1 && !isPredicted) {
    throw new RangeError(
      `Expected one of the codecs "numcodecs.zlib", "zstd" and "imagecodecs_lzw" with the predictor ${
        describe(predicting!.name)
      }, since TIFF readers ignore predictors otherwise, found ${
        describe(compressing?.name ?? "no compression")
      }`,
    );
  }
  return { compression, predictor, isLittleEndian };
}

function assertPredictor(
  { axis = -1, dist = 1 }: Record<string, unknown>,
  { xAxis, rank }: { xAxis: number; rank: number },
): void {
  if ((axis === xAxis || axis === xAxis - rank) && dist === 1) return;
  throw new RangeError(
    `Expected a predictor along the rows of a picture, with axis ${
      xAxis - rank
    } and dist 1, found axis ${describe(axis)} and dist ${describe(dist)}`,
  );
}
