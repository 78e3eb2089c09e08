import { describe, MetadataError } from "../errors/mod.ts";
import { joinBytes } from "../runtime/mod.ts";
import {
  type Chunk,
  type ChunkMetadata,
  type CodecEntry,
  damaged,
  parseCodecConfiguration,
  rowsOf,
} from "./codec.ts";
import { storedShape, stridesOf } from "./element_bytes.ts";

const NAME = "imagecodecs_lerc";

/** The members that imagecodecs writes, all of which concern encoding. */
const MEMBERS = [
  "level",
  "version",
  "planar",
  "compression",
  "compressionargs",
] as const;

/** The arrays of the data types of LERC, in the order of their numbers in its header. */
const ARRAYS = {
  int8: Int8Array,
  uint8: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  float32: Float32Array,
  float64: Float64Array,
};
type DataType = keyof typeof ARRAYS;
const DATA_TYPES = Object.keys(ARRAYS) as DataType[];

/** The library, as far as it is used here. */
interface Library {
  decode(
    encoded: ArrayBufferLike,
    options: { returnPixelInterleavedDims: boolean },
  ): Picture;
}

/** A decoded picture: the samples of each band, and the mask of the first band. */
interface Picture {
  readonly pixels: readonly ArrayLike<number>[];
  /** 0 for each pixel without a value; missing where all have one. */
  readonly mask?: Uint8Array | null;
}

/**
 * Loads the codec `imagecodecs_lerc`, which decodes only: LERC as TIFFs have it, version 2.3 to
 * 2.5. Floats without a value are NaN and integers 0; where the last sample is missing, it is
 * the opacity of the pixel, as in libtiff.
 *
 * Sources: https://github.com/cgohlke/imagecodecs, `imagecodecs/zarr.py`, and
 * https://github.com/Esri/lerc
 */
export async function loadLerc(): Promise<CodecEntry> {
  const { default: library } = await import("lerc");
  return {
    fromConfig(configuration, metadata) {
      parseCodecConfiguration(NAME, MEMBERS, configuration);
      const { dataType, shape } = metadata;
      if (Object.hasOwn(ARRAYS, dataType) && shape.filter(isLong).length <= 3) {
        return new LercCodec(library, metadata);
      }
      throw new MetadataError(
        `Expected chunks of integers of up to 32 bits or of floats for ${NAME}, with a height, a width and maybe samples, found ${
          describe(dataType)
        } in the shape ${describe(shape)}`,
      );
    },
  };
}

class LercCodec {
  readonly kind = "array_to_bytes";
  readonly #library: Library;
  readonly #dataType: string;
  readonly #shape: readonly number[];
  /** The lengths of the stored chunk that are not 1. */
  readonly #lengths: readonly number[];

  constructor(library: Library, metadata: ChunkMetadata) {
    this.#library = library;
    this.#dataType = metadata.dataType;
    this.#shape = metadata.shape;
    this.#lengths = storedShape(NAME, metadata).filter(isLong);
  }

  encode(): never {
    throw new Error(
      `${NAME} does not encode: store the array with another codec`,
    );
  }

  decode(encoded: Uint8Array): Chunk {
    try {
      return this.#decode(encoded);
    } catch (error) {
      // The library throws texts, and a RangeError beyond the end.
      const reason = error instanceof Error ? error.message : error;
      const message = reason ?? "Its checksum does not match";
      throw damaged(encoded, `is not decoded by ${NAME}: ${message}`);
    }
  }

  #decode(encoded: Uint8Array): Chunk {
    const bands = readBands(encoded);
    const { height, width, samples, dataType } = bands[0]!;
    if (dataType === undefined || dataType !== this.#dataType) {
      throw new SyntaxError(
        `Expected elements of ${this.#dataType}, found ${dataType ?? "others"}`,
      );
    }
    const stored = bands.length * samples;
    const rows = rowsOf(encoded);
    const isShort = rows !== undefined && rows.count === this.#lengths[0] &&
      height >= rows.inArray && height < rows.count;
    const wholeHeight = isShort ? rows.count : height;
    const count = this.#shape.reduce((product, n) => product * n, 1);
    const expected = count / wholeHeight / width;
    const lengths = [wholeHeight, width, expected].filter(isLong);
    const isSame = lengths.length === this.#lengths.length &&
      lengths.every((length, i) => length === this.#lengths[i]);
    const hasOpacity = dataType === "uint8" && stored === expected - 1;
    if (!isSame || stored !== expected && !hasOpacity) {
      throw new SyntaxError(
        `Expected a picture for a chunk of the shape ${
          describe(this.#shape)
        }, found the height ${height}, the width ${width} and ${stored} samples`,
      );
    }
    const data = new ARRAYS[dataType](count);
    for (const [i, band] of bands.entries()) {
      const source = band.mask === "shared"
        ? bands.findLast(({ mask }, j) => j < i && mask === "own")
        : undefined;
      // The library has one mask for all bands, and each band may have its own.
      const { buffer } = joinBytes([source?.bytes ?? EMPTY, band.bytes]);
      const { pixels, mask } = this.#library.decode(buffer, {
        returnPixelInterleavedDims: true,
      });
      const isMissing = (pixel: number) => mask?.[pixel] === 0;
      const isFloat = dataType.startsWith("float");
      const values = pixels.at(-1)!;
      for (let pixel = 0; pixel < height * width; pixel++) {
        const to = pixel * expected + i * samples;
        for (let sample = 0; sample < samples; sample++) {
          data[to + sample] = isFloat && isMissing(pixel)
            ? NaN
            : values[pixel * samples + sample]!;
        }
        if (hasOpacity) {
          data[pixel * expected + stored] = isMissing(pixel) ? 0 : 255;
        }
      }
    }
    return { data, shape: this.#shape, stride: stridesOf(this.#shape) };
  }
}

const EMPTY = new Uint8Array();

function isLong(length: number): boolean {
  return length !== 1;
}

/** A band of a picture, each of which has a header. */
interface Band {
  readonly height: number;
  readonly width: number;
  /** The number of samples of a pixel. */
  readonly samples: number;
  readonly dataType: DataType | undefined;
  readonly bytes: Uint8Array;
  /** Where the mask of pixels without a value is, if there are such pixels among others. */
  readonly mask: "none" | "own" | "shared";
}

const MAGIC = "Lerc2 ";

/** Reads the headers of all bands, so that no memory is taken for a picture of another shape. */
function readBands(encoded: Uint8Array): Band[] {
  const bands: Band[] = [];
  // As the library does, ignores a few bytes after the last band.
  for (let rest = encoded; bands.length === 0 || rest.length > 10;) {
    const band = readBand(rest);
    const [first = band] = bands;
    if (
      band.height !== first.height || band.width !== first.width ||
      band.samples !== first.samples || band.dataType !== first.dataType
    ) throw new SyntaxError("Its bands have different shapes or data types");
    bands.push(band);
    rest = rest.subarray(band.bytes.length);
  }
  return bands;
}

function readBand(encoded: Uint8Array): Band {
  const { buffer, byteOffset, byteLength } = encoded;
  const magic = String.fromCharCode(...encoded.subarray(0, 6));
  if (magic !== MAGIC) {
    throw new SyntaxError(
      `Expected ${describe(MAGIC)} at its start, found ${describe(magic)}`,
    );
  }
  const view = new DataView(buffer, byteOffset, byteLength);
  let at = MAGIC.length;
  const next = () => view.getInt32((at += 4) - 4, true);
  const version = next();
  // Later versions are unknown to the library, and earlier ones have no checksum.
  if (version < 3 || version > 5) {
    throw new SyntaxError(`Expected LERC 2.3 to 2.5, found 2.${version}`);
  }
  next(); // The checksum, which the library compares first.
  const [height, width] = [next(), next()];
  const samples = version >= 4 ? next() : 1;
  const valid = next();
  const blockSize = next();
  const length = next();
  const dataType = DATA_TYPES[next()];
  const [error, least, most] = [0, 8, 16].map((i) =>
    view.getFloat64(at + i, true)
  ) as [number, number, number];
  at += 3 * 8;
  const maskLength = next();
  if (length < at || length > byteLength) {
    throw new SyntaxError(`A band has ${length} bytes, of ${byteLength}`);
  }
  // With such headers, the library would not end for minutes.
  at += maskLength + (version >= 4 ? 2 * samples : 0);
  const isCoded = dataType?.endsWith("int8") &&
    Math.abs(error - 0.5) < 1e-5 && least !== most && valid > 0 &&
    encoded[at] === 0 && encoded[at + 1]! > 0;
  if (blockSize < 1 || isCoded && !isCodeTable(view, at + 2)) {
    throw new SyntaxError("The size of its blocks or its table is damaged");
  }
  const isPartial = valid > 0 && valid < height * width;
  return {
    height,
    width,
    samples,
    dataType,
    bytes: encoded.subarray(0, length),
    mask: !isPartial ? "none" : maskLength > 0 ? "own" : "shared",
  };
}

/** The most symbols of a Huffman code in LERC. */
const MOST_SYMBOLS = 2 ** 15;

/** Whether the header of a table of Huffman codes has no more symbols than there can be. */
function isCodeTable(view: DataView, start: number): boolean {
  const [size, first, end] = [4, 8, 12].map((i) =>
    view.getInt32(start + i, true)
  ) as [number, number, number];
  return size > 0 && first >= 0 && first < end &&
    Math.max(size, end) <= MOST_SYMBOLS;
}
