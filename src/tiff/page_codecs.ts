import type { NamedConfiguration } from "../metadata/array_metadata.ts";
import type { PageTags } from "./page_tags.ts";
import { COMPRESSION } from "./tiff_codecs.ts";

/** A reason why a page cannot be chunks of a Zarr array, and a way out. */
export class PageProblem extends Error {}

/** What to do with a file of another form. */
export const CONVERT =
  "convert the file, such as by gdal_translate -co TILED=YES -co COMPRESS=DEFLATE";

/** The names of compressions that have no codec here. */
const OTHER_COMPRESSIONS: Readonly<Record<number, string>> = {
  2: "CCITT",
  3: "CCITT T.4",
  4: "CCITT T.6",
  6: "old-style JPEG",
  33003: "JPEG 2000",
  33005: "JPEG 2000",
  34712: "JPEG 2000",
  34887: "LERC",
  34925: "LZMA",
  50001: "WebP",
  50002: "JPEG XL",
  52546: "JPEG XL",
};
/** Deflate has a second code, from before the standard. */
const DEFLATE_CODES: readonly number[] = [COMPRESSION.deflate, 32946];

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
export function dataTypeOf(tags: PageTags): string {
  const bits = tags.same("bitsPerSample", 1);
  const format = tags.same("sampleFormat", 1);
  if (bits === undefined || format === undefined) {
    throw new PageProblem(
      `its bands have different data types, BitsPerSample ${
        tags.list("bitsPerSample")
      } and SampleFormat ${
        tags.list("sampleFormat") ?? 1
      }: store them in files of their own`,
    );
  }
  const name = `${KINDS[format] ?? "complex int"}${bits}`;
  if (DATA_TYPES.test(name)) return name;
  throw new PageProblem(
    `it has elements of ${bits} bits (SampleFormat ${format}), for which Zarr has no data type: convert the file, such as by gdal_translate -ot UInt16`,
  );
}

/**
 * The codecs of a tile in the terms of Zarr.
 *
 * @param rowAxis The dimension along a row, from the end: -1, or -2 before the bands.
 * @throws {PageProblem} If there are no such codecs.
 */
export function codecsOf(
  tags: PageTags,
  dataType: string,
  isLittleEndian: boolean,
  rowAxis: -1 | -2,
): NamedConfiguration[] {
  const fillOrder = tags.number("fillOrder", 1);
  if (fillOrder !== 1) {
    throw new PageProblem(
      `it has the lowest bit of each byte first (FillOrder ${fillOrder}): ${CONVERT}`,
    );
  }
  if (tags.number("compression", 1) === JPEG) return [jpegOf(tags, dataType)];
  const subsampling = tags.list("ycbcrSubsampling") ?? [2, 2];
  if (
    tags.number("photometric", 1) === YCBCR && subsampling.some((n) => n > 1)
  ) {
    throw new PageProblem(
      `it has colors in YCbCr with fewer elements than pixels: ${CONVERT}`,
    );
  }
  const predictor = predictorOf(tags, dataType, rowAxis);
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

/** The value of Compression for JPEG. */
const JPEG = 7;
/** The most bytes of tables for JPEG; all that there can be take less than 2 KiB. */
const LONGEST_TABLES = 2 ** 14;
/** The values of PhotometricInterpretation for colors. */
const [RGB, YCBCR] = [2, 6];
const FLOATPRED = "imagecodecs_floatpred";

/** JPEG decodes to elements by itself. Programs agree on the colors of one and of three bands. */
function jpegOf(tags: PageTags, dataType: string): NamedConfiguration {
  if (dataType !== "uint8") {
    throw new PageProblem(
      `it is compressed by JPEG, which is for elements of uint8 and not of ${dataType}: ${CONVERT}`,
    );
  }
  const samples = tags.number("planarConfiguration", 1) === 2
    ? 1
    : tags.number("samplesPerPixel", 1);
  const photometric = tags.number("photometric", 1);
  const colors = samples === 1
    ? {}
    : samples === 3 && photometric === RGB
    ? { colorspace_jpeg: "RGB", colorspace_data: "RGB" }
    : samples === 3 && photometric === YCBCR
    ? { colorspace_jpeg: "YCbCr", colorspace_data: "RGB" }
    : undefined;
  if (colors === undefined) {
    throw new PageProblem(
      `it is compressed by JPEG with ${samples} bands that are neither RGB nor YCbCr (PhotometricInterpretation ${photometric}), which programs decode differently: ${CONVERT}`,
    );
  }
  const tables = tags.list("jpegTables");
  if (tables !== undefined && tables.length > LONGEST_TABLES) {
    throw new PageProblem(
      `it has tables of ${tables.length} bytes for JPEG, where ${LONGEST_TABLES} are the most: ${CONVERT}`,
    );
  }
  return {
    name: "imagecodecs_jpeg",
    configuration: {
      ...tables && { tables: btoa(String.fromCharCode(...tables)) },
      ...colors,
    },
  };
}

function compressorsOf(tags: PageTags): NamedConfiguration[] {
  const code = tags.number("compression", 1);
  if (code === COMPRESSION.none) return [];
  if (DEFLATE_CODES.includes(code)) {
    return [{ name: "numcodecs.zlib", configuration: { level: 6 } }];
  }
  if (code === COMPRESSION.zstd) {
    return [{ name: "zstd", configuration: { level: 0, checksum: false } }];
  }
  if (code === COMPRESSION.lzw) {
    return [{ name: "imagecodecs_lzw", configuration: {} }];
  }
  if (code === COMPRESSION.packBits) {
    return [{ name: "imagecodecs_packbits", configuration: {} }];
  }
  throw new PageProblem(
    `it is compressed by ${
      OTHER_COMPRESSIONS[code] ?? "an unknown method"
    } (Compression ${code}), for which there is no codec: ${CONVERT}`,
  );
}

function predictorOf(
  tags: PageTags,
  dataType: string,
  axis: -1 | -2,
): NamedConfiguration | undefined {
  const predictor = tags.number("predictor", 1);
  if (predictor === 1) return undefined;
  const compression = tags.number("compression", 1);
  const isPredicted = compression === COMPRESSION.lzw ||
    compression === COMPRESSION.zstd || DEFLATE_CODES.includes(compression);
  if (!isPredicted) {
    throw new PageProblem(
      `it has the predictor ${predictor} with the compression ${compression}, which some programs apply and others do not: ${CONVERT}`,
    );
  }
  const configuration = { axis };
  if (predictor === 2 && !dataType.startsWith("complex")) {
    return { name: "imagecodecs_delta", configuration };
  }
  if (predictor === 3 && dataType.startsWith("float")) {
    return { name: FLOATPRED, configuration };
  }
  throw new PageProblem(
    `it has the predictor ${predictor} for elements of ${dataType}, for which there is no codec: ${CONVERT}`,
  );
}
