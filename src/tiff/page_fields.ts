/** The pages of a file that is written, and the values of their tags. */
import type { PageFields } from "./directory_writer.ts";
import type { TiffArray } from "./tiff_array.ts";
import type { TiffGeoreference, TiffOptions } from "./tiff_options.ts";
import { gdalMetadata } from "./value_attributes.ts";

/** The part of an array that a shard holds. */
export interface Picture {
  /** The grid coordinates of the shard. */
  readonly shard: readonly number[];
  /** The lengths of the part in elements. At the edge of the array they are less than those of a shard. */
  readonly shape: readonly number[];
}

/** The part of an array that lies in a shard. */
export function pictureOf(
  { shape, shardShape }: TiffArray,
  shard: readonly number[],
): Picture {
  return {
    shard,
    shape: shape.map((length, i) =>
      Math.min(shardShape[i]!, length - shard[i]! * shardShape[i]!)
    ),
  };
}

/**
 * Lists the places in the index of the tiles of a picture: for each page, those of its
 * bands, rows and columns.
 */
export function tilePlaces(
  { tileShape, layout, axes }: TiffArray,
  { shape }: Picture,
): number[][] {
  const { chunksPerShard } = layout;
  const counts = shape.map((length, i) => Math.ceil(length / tileShape[i]!));
  const first = axes.pages.length;
  const placesFrom = (
    axis: number,
    end: number,
    outer: readonly number[],
  ): number[] =>
    axis === end ? [...outer] : placesFrom(
      axis + 1,
      end,
      outer.flatMap((place) =>
        Array.from(
          { length: counts[axis]! },
          (_, i) => place * chunksPerShard[axis]! + i,
        )
      ),
    );
  return placesFrom(0, first, [0])
    .map((page) => placesFrom(first, counts.length, [page]));
}

/** The options of pages, with a georeference in tags, and the OME-XML of the picture. */
export interface PageOptions extends Omit<TiffOptions, "georeference" | "ome"> {
  readonly georeference?: TiffGeoreference | undefined;
  readonly omeXml?: string | undefined;
}

/**
 * The fields of each page of a picture.
 *
 * @param tileCounts The number of tiles of each page.
 */
export function pageFields(
  array: TiffArray,
  picture: Picture,
  options: PageOptions,
  tileCounts: readonly number[],
): PageFields[] {
  const shared = {
    ...pictureFields(array, picture),
    ...descriptiveFields(array, picture, options),
    ...options.georeference &&
      georeferenceFields(array, picture, options.georeference),
  };
  return tileCounts.map((count, page) => ({
    ...shared,
    // Readers look for OME-XML in the first page alone.
    ...page === 0 && options.omeXml && { description: options.omeXml },
    // The value means "page of a document", as opposed to a smaller version of another page.
    ...tileCounts.length > 1 && { newSubfileType: [2] },
    tileOffsets: new Float64Array(count),
    tileByteCounts: new Float64Array(count),
  }));
}

/** The fields by which the elements of a picture are read. */
export function pictureFields(
  { tileShape, axes, bits, sampleFormat, compression, predictor, isRgb }:
    TiffArray,
  { shape }: Picture,
) {
  const { x, y } = axes;
  const samples = axes.bands === undefined ? 1 : shape[axes.bands]!;
  const extra = samples - (isRgb ? 3 : 1);
  return {
    width: [shape[x]!],
    height: [shape[y]!],
    bitsPerSample: Array<number>(samples).fill(bits),
    compression: [compression],
    photometric: [isRgb ? 2 : 1],
    samplesPerPixel: [samples],
    planarConfiguration: [axes.bands === y - 1 ? 2 : 1],
    predictor: predictor > 1 ? [predictor] : undefined,
    tileWidth: [tileShape[x]!],
    tileHeight: [tileShape[y]!],
    // The fourth band of a picture in colors is its alpha, which is not multiplied in.
    extraSamples: extra > 0
      ? Array.from({ length: extra }, (_, i) => isRgb && i === 0 ? 2 : 0)
      : undefined,
    sampleFormat: Array<number>(samples).fill(sampleFormat),
  } satisfies PageFields;
}

const UNITS = { none: 1, inch: 2, centimeter: 3 } as const;

function descriptiveFields(
  { fillBytes, fillValue, axes, shardShape }: TiffArray,
  { shard, shape }: Picture,
  { description, resolution, noData, sparse, values = {} }: PageOptions,
): PageFields {
  const { bands } = axes;
  // Readers fill sparse tiles with zeros unless GDAL_NODATA has another value.
  const missing = noData ??
    (sparse && fillBytes.some((byte) => byte !== 0) ? fillValue : undefined);
  return {
    description,
    ...resolution && {
      xResolution: rational(resolution.x),
      yResolution: rational(resolution.y),
      resolutionUnit: [UNITS[resolution.unit ?? "none"]],
    },
    gdalMetadata: bands === undefined
      ? gdalMetadata(values, 1, 0)
      : gdalMetadata(values, shape[bands]!, shard[bands]! * shardShape[bands]!),
    gdalNoData: missing === undefined ? undefined : numberText(missing),
  };
}

/** Shifts a georeference to the first pixel of a shard. */
function georeferenceFields(
  { shardShape, axes }: TiffArray,
  { shard }: Picture,
  {
    modelPixelScale,
    modelTiepoint,
    modelTransformation,
    geoKeyDirectory,
    geoDoubleParams,
    geoAsciiParams,
  }: TiffGeoreference,
): PageFields {
  const keys = { geoKeyDirectory, geoDoubleParams, geoAsciiParams };
  const [column, row] = [axes.x, axes.y]
    .map((axis) => shard[axis]! * shardShape[axis]!) as [number, number];
  if (modelTransformation) {
    const shifted = modelTransformation.map((value, i) => {
      if (i % 4 !== 3 || i === 15) return value;
      const [perColumn, perRow] = modelTransformation.slice(i - 3, i - 1);
      return value + perColumn! * column + perRow! * row;
    });
    return { ...keys, modelTransformation: shifted };
  }
  const [i, j, k, x, y, z] = modelTiepoint as number[];
  const [scaleX, scaleY] = modelPixelScale as number[];
  return {
    ...keys,
    modelPixelScale,
    modelTiepoint: [i!, j!, k!, x! + column * scaleX!, y! - row * scaleY!, z!],
  };
}

/** The text of a number as GDAL writes it. */
export function numberText(value: unknown): string {
  const text = String(
    (value as { rawJSON?: unknown } | null)?.rawJSON ?? value,
  );
  return text === "NaN" ? "nan" : text.replace("Infinity", "inf");
}

/** A fraction of two whole numbers below 2^32 that is close to a number: the last such convergent of its continued fraction. */
export function rational(value: number): [number, number] {
  let [before, now] = [[0, 1], [1, 0]] as [[number, number], [number, number]];
  let rest = value;
  while (true) {
    const whole = Math.floor(rest);
    const next: [number, number] = [
      whole * now[0] + before[0],
      whole * now[1] + before[1],
    ];
    if (Math.max(...next) >= 2 ** 32) return now;
    [before, now] = [now, next];
    if (rest === whole || now[0] / now[1] === value) return now;
    rest = 1 / (rest - whole);
  }
}
