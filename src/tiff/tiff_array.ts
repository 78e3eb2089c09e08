import { describe, describeAll, sentence } from "../errors/mod.ts";
import { elementForm, fillBytes } from "../blocks/mod.ts";
import { type ArrayMetadata, isMembers, numberOf } from "../metadata/mod.ts";
import type { ShardLayout } from "../shards/mod.ts";
import { parseShardFiles } from "../arrays/mod.ts";
import type { PageFields } from "./tiff_tags.ts";
import {
  refuseFirst,
  type TiffDataType,
  type TileEncoding,
  tileEncoding,
} from "./tiff_codecs.ts";
import type { TiffGeoreference, TiffOptions } from "./tiff_options.ts";
import { gdalMetadata } from "./value_attributes.ts";

/** An array whose shards can be TIFF files. All shapes are in elements. */
export interface TiffArray extends TileEncoding, TiffDataType {
  readonly shape: readonly number[];
  readonly shardShape: readonly number[];
  readonly gridShape: readonly number[];
  /** The shape of inner chunks, which are the tiles. */
  readonly tileShape: readonly number[];
  readonly layout: ShardLayout;
  /** Whether a record of the file lies before the index in the part of the index. */
  readonly hasRecord: boolean;
  readonly axes: Axes;
  /** The value of the tag SampleFormat. */
  readonly sampleFormat: number;
  /** Whether the first three bands are red, green and blue. */
  readonly isRgb: boolean;
  readonly fillValue: unknown;
  /** The fill value as an element in the byte order of the array. */
  readonly fillBytes: Uint8Array;
}

/** The dimensions of an array by their meaning. */
export interface Axes {
  readonly y: number;
  readonly x: number;
  readonly bands?: number;
  /** Dimensions whose elements are pages of a file. */
  readonly pages: readonly number[];
}

const SAMPLE_FORMATS: Readonly<Record<string, number>> = {
  bool: 1,
  uint: 1,
  int: 2,
  float: 3,
  complex: 6,
};

const DATA_TYPES: readonly string[] =
  "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 float32 float64 complex64 complex128"
    .split(" ");

/**
 * Parses a data type.
 *
 * @throws {RangeError} If TIFF does not have it.
 */
export function parseDataType(dataType: unknown): TiffDataType {
  if (!DATA_TYPES.includes(dataType as string)) {
    // Data types with a configuration have a name as well.
    const name = isMembers(dataType) ? dataType.name : dataType;
    const all = describeAll(DATA_TYPES);
    throw new RangeError(
      `Expected one of the data types that TIFF has, ${all}, found ${
        describe(name)
      }`,
    );
  }
  const [, kind, digits = 8] = /^([a-z]+)(\d+)?$/.exec(dataType as string)!;
  return { kind: kind!, bits: Number(digits) };
}

/**
 * Parses the metadata of an array whose shards are to be TIFF files.
 *
 * @throws {MetadataError} If the metadata is not valid.
 * @throws {RangeError} If TIFF cannot hold such shards.
 */
export function parseTiffArray(
  document: unknown,
  { bands, colors }: TiffOptions,
): TiffArray {
  const { array, shard, hasRecord } = parseShardFiles(document, {
    name: "TIFF",
    pieces: "tiles",
  });
  const { layout, inner: { shape: tileShape, codecs } } = shard;
  const { metadata, chunk: { shape: shardShape }, gridShape } = array;
  const { shape, data_type, fill_value } = metadata;
  const type = parseDataType(data_type);
  const axes = axesOf(metadata, bands);
  assertTiles(tileShape, shape, axes);
  const place = { xAxis: axes.x, rank: shape.length };
  const encoding = tileEncoding(codecs, type, place);
  return {
    ...encoding,
    shape,
    shardShape,
    gridShape,
    tileShape,
    layout,
    hasRecord,
    axes,
    ...type,
    sampleFormat: SAMPLE_FORMATS[type.kind]!,
    isRgb: colors === "rgb" || colors === "auto" && hasColors(metadata, axes),
    fillValue: fill_value,
    fillBytes: fillElement(metadata, type.bits, encoding.isLittleEndian),
  };
}

/** Parses an array as {@linkcode parseTiffArray} does; `undefined` if TIFF cannot hold its shards. */
export function tryTiffArray(
  ...args: Parameters<typeof parseTiffArray>
): TiffArray | undefined {
  try {
    return parseTiffArray(...args);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** The names of dimensions that are bands wherever they are, and of those that are bands behind y and x. */
const [BANDS, SAMPLES] = [
  /^(?:bands?|wavelengths?|spectral)$/i,
  /^(?:c|channels?|bands?|rgba?|samples?|components?|wavelengths?|spectral)$/i,
];
/** The most bands, whose number has 16 bits. */
const MOST_BANDS = 0xffff;
/** The numbers of bands of pictures in colors. */
const COLORS = [3, 4];

/** The place of the bands where the options leave it open. */
function placeOfBands(
  { shape, dimension_names }: ArrayMetadata,
): "first" | "last" | undefined {
  const rank = shape.length;
  if (rank < 3) return undefined;
  const isBands = (axis: number, names: RegExp) =>
    names.test(dimension_names?.[axis] ?? "") && shape[axis]! <= MOST_BANDS;
  if (isBands(rank - 1, SAMPLES)) return "last";
  if (isBands(rank - 3, BANDS)) return "first";
  const hasNames = dimension_names?.some((name) => name !== null);
  if (hasNames || rank !== 3) return undefined;
  const [first, , end] = shape.map((length) => COLORS.includes(length));
  return end ? "last" : first ? "first" : undefined;
}

/** Whether the bands of a picture are its colors, as its last dimension suggests. */
function hasColors(
  { shape, data_type }: ArrayMetadata,
  { bands, x }: Axes,
): boolean {
  return bands === x + 1 && COLORS.includes(shape[bands]!) &&
    ["uint8", "uint16"].includes(data_type as string);
}

/**
 * Finds the meanings of the dimensions of an array.
 *
 * @throws {RangeError} If the array has too few dimensions.
 */
export function axesOf(
  metadata: ArrayMetadata,
  place: TiffOptions["bands"],
): Axes {
  const { shape } = metadata;
  const bands = place === "auto" ? placeOfBands(metadata) : place;
  const rank = shape.length;
  const needed = bands === undefined ? 2 : 3;
  if (rank < needed) {
    const reason = bands ? `, as bands: "${bands}" needs them` : "";
    throw new RangeError(
      `Expected an array of at least ${needed} dimensions${reason}, found ${rank}`,
    );
  }
  const x = bands === "last" ? rank - 2 : rank - 1;
  const count = bands ? shape[bands === "last" ? rank - 1 : rank - 3]! : 1;
  if (count > MOST_BANDS) {
    throw new RangeError(
      `Expected at most ${MOST_BANDS} bands, found ${count}: leave out bands: "${bands}" to store them as pages`,
    );
  }
  const before = bands === "first" ? x - 2 : x - 1;
  return {
    y: x - 1,
    x,
    ...bands && { bands: bands === "last" ? rank - 1 : x - 2 },
    pages: Array.from({ length: before }, (_, i) => i),
  };
}

/** Refuses inner chunks that are not tiles of one picture. */
function assertTiles(
  tileShape: readonly number[],
  shape: readonly number[],
  { y, x, bands, pages }: Axes,
): void {
  const found = sentence`found the shape ${tileShape}`;
  const thick = [...pages, ...bands === x - 2 ? [bands] : []]
    .find((axis) => tileShape[axis] !== 1);
  const piece = thick === bands ? "band" : "page";
  const count = bands === undefined ? 1 : shape[bands]!;
  refuseFirst([
    [
      [y, x].some((axis) => tileShape[axis]! % 16 !== 0),
      `inner chunks with multiples of 16 elements along the dimensions ${y} and ${x}, as tiles of TIFF have, ${found}`,
    ],
    [
      thick !== undefined,
      `inner chunks of one element along dimension ${thick}, since a tile of TIFF holds one ${piece}, ${found}`,
    ],
    [
      bands === x + 1 && tileShape[bands] !== Math.max(1, count),
      `inner chunks with all ${count} bands along dimension ${bands}, ${found}: store bands in a dimension of their own before y and x, with bands: "first", to have each in tiles of its own`,
    ],
  ]);
}

/** The fill value as an element, which is 0 where the metadata has none, as GDAL writes it. */
function fillElement(
  metadata: ArrayMetadata,
  bits: number,
  isLittleEndian: boolean,
): Uint8Array {
  const form = elementForm(metadata.data_type)!;
  const fill_value = numberOf(metadata.fill_value);
  const bytes = fillBytes({ ...metadata, fill_value }, form) ??
    new Uint8Array(bits / 8);
  if (isLittleEndian) return bytes;
  const length = form.size / form.count;
  return Uint8Array.from(
    bytes,
    (_, i) => bytes[i - i % length + length - 1 - i % length]!,
  );
}

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

/** The fields of each page of a picture, without the places of its tiles. */
export function pageFields(
  array: TiffArray,
  picture: Picture,
  options: PageOptions,
  pageCount: number,
): PageFields[] {
  const shared = {
    ...pictureFields(array, picture),
    ...descriptiveFields(array, picture, options),
    ...options.georeference &&
      georeferenceFields(array, picture, options.georeference),
  };
  return Array.from({ length: pageCount }, (_, page) => ({
    ...shared,
    // Readers look for OME-XML in the first page alone.
    ...page === 0 && options.omeXml && { description: options.omeXml },
    // The value means "page of a document", as opposed to a smaller version of another page.
    ...pageCount > 1 && { newSubfileType: [2] },
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
