import { describe, MetadataError, sentence } from "../errors/mod.ts";
import { isSameList } from "../runtime/mod.ts";
import {
  type Chunk,
  type ChunkMetadata,
  type CodecEntry,
  Configuration,
  rowsOf,
} from "./codec.ts";
import { pictureCodec, storedShape } from "./element_bytes.ts";
import {
  decodeLercBand,
  hasLercType,
  lercArray,
  type LercBand,
  type LercValues,
  readLercBand,
} from "./lerc_band.ts";

const NAME = "imagecodecs_lerc";

/** The members that imagecodecs writes, all of which concern encoding. */
const MEMBERS = [
  "level",
  "version",
  "planar",
  "compression",
  "compressionargs",
] as const;

/**
 * The codec `imagecodecs_lerc`, which decodes only: LERC as TIFFs have it, version 2.3 to
 * 2.5. Floats without a value are NaN and integers 0; where the last sample is missing, it is
 * the opacity of the pixel, as in libtiff.
 *
 * Sources: https://github.com/cgohlke/imagecodecs, `imagecodecs/zarr.py`, and
 * https://github.com/Esri/lerc
 */
export const LERC: CodecEntry = {
  fromConfig(configuration, metadata) {
    new Configuration(NAME, MEMBERS, configuration);
    const { dataType, shape } = metadata;
    const lengths = storedShape(NAME, metadata).filter(isLong);
    if (hasLercType(dataType) && lengths.length <= 3) {
      return pictureCodec(
        NAME,
        shape,
        (encoded) => decodeLerc(encoded, metadata, lengths),
      );
    }
    throw new MetadataError(
      `Expected chunks of integers of up to 32 bits or of floats for ${NAME}, with a height, a width and maybe samples, found ${
        describe(dataType)
      } in the shape ${describe(shape)}`,
    );
  },
};

/**
 * Decodes a chunk.
 *
 * @param lengths The lengths of the stored chunk that are not 1.
 */
function decodeLerc(
  encoded: Uint8Array,
  metadata: ChunkMetadata,
  lengths: readonly number[],
): Chunk["data"] {
  const bands = readBands(encoded);
  const { height, width, samples, dataType } = bands[0]!;
  if (dataType !== metadata.dataType) {
    throw new SyntaxError(
      `Expected elements of ${metadata.dataType}, found ${dataType}`,
    );
  }
  const stored = bands.length * samples;
  const rows = rowsOf(encoded);
  const isShort = rows !== undefined && rows.count === lengths[0] &&
    height >= rows.inArray && height < rows.count;
  const wholeHeight = isShort ? rows.count : height;
  const count = lengths.reduce((product, n) => product * n, 1);
  const expected = count / wholeHeight / width;
  const isSame = isSameList(
    [wholeHeight, width, expected].filter(isLong),
    lengths,
  );
  const hasOpacity = dataType === "uint8" && stored === expected - 1;
  if (!isSame || stored !== expected && !hasOpacity) {
    throw new SyntaxError(
      sentence`Expected a picture for a chunk of the shape ${metadata.shape}, found the height ${height}, the width ${width} and ${stored} samples`,
    );
  }
  const pictures: LercValues[] = [];
  for (const band of bands) {
    const earlier = pictures.findLast((_, i) => bands[i]!.valid > 0)?.mask;
    pictures.push(decodeLercBand(band, earlier));
  }
  const data = lercArray(dataType, count);
  const isFloat = dataType.startsWith("float");
  for (const [i, { values, mask }] of pictures.entries()) {
    const isMissing = (pixel: number) => mask?.[pixel] === 0;
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
  return data;
}

function isLong(length: number): boolean {
  return length !== 1;
}

/** Reads the headers of all bands, so that no memory is taken for a picture of another shape. */
function readBands(encoded: Uint8Array): LercBand[] {
  const bands: LercBand[] = [];
  // As Esri's library does, ignores a few bytes after the last band.
  for (let rest = encoded; bands.length === 0 || rest.length > 10;) {
    const band = readLercBand(rest);
    const [first = band] = bands;
    if (
      band.height !== first.height || band.width !== first.width ||
      band.samples !== first.samples || band.dataType !== first.dataType
    ) throw new SyntaxError("Its bands have different shapes or data types");
    bands.push(band);
    rest = rest.subarray(band.length);
  }
  return bands;
}
