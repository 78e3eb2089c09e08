import { describe, MetadataError, sentence } from "../errors/mod.ts";
import { decodeBase64, joinBytes } from "../runtime/mod.ts";
import { type CodecEntry, Configuration } from "./codec.ts";
import { pictureCodec, storedShape } from "./element_bytes.ts";
import { colorConverter, type Colors, decodeJpeg } from "./jpeg/decode_jpeg.ts";

const NAME = "imagecodecs_jpeg";

/** The members that imagecodecs writes. Those after the first four concern encoding. */
const MEMBERS = [
  "tables",
  "header",
  "colorspace_jpeg",
  "colorspace_data",
  "level",
  "bitspersample",
  "subsampling",
  "optimize",
  "smoothing",
  "lossless",
  "predictor",
] as const;

/** The colors by the names and numbers of imagecodecs, in lower case. */
const COLORS: Readonly<Record<string, Colors | undefined>> = {
  ...{ unknown: undefined, 0: undefined },
  ...{ gray: "gray", grayscale: "gray", 1: "gray" },
  ...{ minisblack: "gray", miniswhite: "gray" },
  ...{ rgb: "rgb", 2: "rgb" },
  ...{ ycbcr: "ycbcr", 3: "ycbcr" },
  ...{ cmyk: "cmyk", separated: "cmyk", 4: "cmyk" },
  ...{ ycck: "ycck", 5: "ycck" },
};

/** The end of a JPEG file. */
const END = new Uint8Array([0xff, 0xd9]);

interface JpegConfiguration {
  readonly tables: Uint8Array | undefined;
  /** Bytes before the data of each chunk. */
  readonly header: Uint8Array | undefined;
  readonly storedColors: Colors | undefined;
  readonly colors: Colors | undefined;
}

/**
 * The codec `imagecodecs_jpeg`, which decodes only. The samples are those of
 * imagecodecs, which uses libjpeg-turbo, bit for bit. Pictures have 8 bits per sample
 * and Huffman coding, baseline or progressive. Damage that libjpeg-turbo ignores, such as
 * truncated data, is an error.
 *
 * Source: https://github.com/cgohlke/imagecodecs, `imagecodecs/zarr.py`
 */
export const JPEG_CODEC: CodecEntry = {
  fromConfig(configuration, metadata) {
    const { dataType, shape, isStrict = false } = metadata;
    if (dataType !== "uint8" || shape.filter(isLong).length > 3) {
      throw new MetadataError(
        `Expected chunks of the data type "uint8" for ${NAME}, with a height, a width and maybe samples, found ${
          describe(dataType)
        } in the shape ${describe(shape)}`,
      );
    }
    const { header, ...options } = parseConfiguration(configuration);
    const lengths = storedShape(NAME, metadata).filter(isLong);
    return pictureCodec(NAME, shape, (encoded) => {
      const bytes = header ? joinBytes([header, encoded, END]) : encoded;
      let found: Shape = [0, 0, 0];
      let size: Size = { height: 0, width: 0 };
      const data = decodeJpeg(bytes, {
        ...options,
        isStrict,
        assertShape(picture) {
          found = picture;
          size = sizeFor(picture, lengths, shape);
        },
      });
      return fitted(data, found, size);
    }, ", since JPEG changes elements that are not written");
  },
};

/**
 * The height and the width of a chunk, which a picture fits into but for rows below.
 *
 * @param lengths The lengths of the stored chunk that are not 1.
 * @param shape The shape of the chunk.
 */
function sizeFor(
  [height, width, samples]: Shape,
  lengths: readonly number[],
  shape: readonly number[],
): Size {
  const hasSamples = samples === 1 || lengths.at(-1) === samples;
  const [first = 1, second = 1, ...more] = samples === 1
    ? lengths
    : lengths.slice(0, -1);
  const isRow = lengths.length - Number(samples > 1) < 2 && width > 1;
  const size = isRow
    ? { height: 1, width: first }
    : { height: first, width: second };
  if (hasSamples && more.length === 0 && width <= size.width) return size;
  throw new SyntaxError(
    sentence`Expected a picture for a chunk of the shape ${shape}, found the height ${height}, the width ${width} and ${samples} samples`,
  );
}

/** The height, the width, and the number of samples of a pixel. */
type Shape = readonly [height: number, width: number, samples: number];

interface Size {
  readonly height: number;
  readonly width: number;
}

/** Fills the rows of a picture up with zeros, and leaves out those below. */
function fitted(
  data: Uint8Array,
  [rows, columns, samples]: Shape,
  { height, width }: Size,
): Uint8Array {
  if (rows === height && columns === width) return data;
  const whole = new Uint8Array(height * width * samples);
  const stored = columns * samples;
  for (let y = 0; y < Math.min(rows, height); y++) {
    const row = data.subarray(y * stored, (y + 1) * stored);
    whole.set(row, y * width * samples);
  }
  return whole;
}

function isLong(length: number): boolean {
  return length !== 1;
}

function parseConfiguration(configuration: unknown): JpegConfiguration {
  const members = new Configuration(NAME, MEMBERS, configuration);
  const storedColors = parseColors(members, "colorspace_jpeg");
  const colors = parseColors(members, "colorspace_data");
  if (storedColors && colors && !colorConverter(storedColors, colors)) {
    const stored = describe(members.get("colorspace_jpeg"));
    throw members.refusal(
      "colorspace_data",
      `a color space that ${stored} is decoded to`,
    );
  }
  return {
    tables: parseBase64(members, "tables"),
    header: parseBase64(members, "header"),
    storedColors,
    // As in imagecodecs, stored colors that are given are not converted by default.
    colors: colors ?? storedColors,
  };
}

type Member = typeof MEMBERS[number];

function parseColors(
  members: Configuration<Member>,
  member: Member,
): Colors | undefined {
  const name = String(members.get(member) ?? "unknown").toLowerCase();
  if (Object.hasOwn(COLORS, name)) return COLORS[name];
  throw members.refusal(
    member,
    "UNKNOWN, GRAYSCALE, RGB, YCbCr, CMYK or YCCK",
  );
}

function parseBase64(
  members: Configuration<Member>,
  member: Member,
): Uint8Array | undefined {
  const text = members.get(member);
  if (text === undefined) return undefined;
  try {
    if (typeof text === "string") return decodeBase64(text);
  } catch { /* Refused below. */ }
  throw members.refusal(member, "bytes in Base64");
}
