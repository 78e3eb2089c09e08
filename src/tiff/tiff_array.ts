import { describe, describeAll } from "../errors/mod.ts";
import { elementForm, fillBytes } from "../blocks/mod.ts";
import { type ArrayMetadata, isMembers, numberOf } from "../metadata/mod.ts";
import type { ShardLayout } from "../shards/mod.ts";
import { parseShardFiles } from "../arrays/mod.ts";
import {
  type TiffDataType,
  type TileEncoding,
  tileEncoding,
} from "./tiff_codecs.ts";
import type { TiffOptions } from "./tiff_options.ts";

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

const DATA_TYPES: readonly string[] = [
  "bool",
  ...[8, 16, 32, 64].map((bits) => `uint${bits}`),
  ...[8, 16, 32, 64].map((bits) => `int${bits}`),
  ...[16, 32, 64].map((bits) => `float${bits}`),
  ...[64, 128].map((bits) => `complex${bits}`),
];

/**
 * Parses a data type.
 *
 * @throws {RangeError} If TIFF does not have it.
 */
export function parseDataType(dataType: unknown): TiffDataType {
  if (!DATA_TYPES.includes(dataType as string)) {
    // Data types with a configuration have a name as well.
    const name = isMembers(dataType) ? dataType.name : dataType;
    throw new RangeError(
      `Expected one of the data types that TIFF has, ${
        describeAll(DATA_TYPES)
      }, found ${describe(name)}`,
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
  const { innerShape: tileShape, ...files } = parseShardFiles(document, {
    name: "TIFF",
    pieces: "tiles",
  });
  const { array, layout, innerCodecs, hasRecord } = files;
  const { metadata, chunk: { shape: shardShape }, gridShape } = array;
  const { shape, data_type, fill_value } = metadata;
  const type = parseDataType(data_type);
  const axes = axesOf(metadata, bands);
  assertTiles(tileShape, shape, axes);
  const place = { xAxis: axes.x, rank: shape.length };
  const encoding = tileEncoding(innerCodecs, type, place);
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
    throw new RangeError(
      `Expected an array of at least ${needed} dimensions${
        bands === undefined ? "" : `, as bands: "${bands}" needs them`
      }, found ${rank}`,
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
  if ([y, x].some((axis) => tileShape[axis]! % 16 !== 0)) {
    throw new RangeError(
      `Expected inner chunks with multiples of 16 elements along the dimensions ${y} and ${x}, as tiles of TIFF have, found the shape ${
        describe(tileShape)
      }`,
    );
  }
  const thick = [...pages, ...bands === x - 2 ? [bands] : []]
    .find((axis) => tileShape[axis] !== 1);
  if (thick !== undefined) {
    throw new RangeError(
      `Expected inner chunks of one element along dimension ${thick}, since a tile of TIFF holds one ${
        thick === bands ? "band" : "page"
      }, found the shape ${describe(tileShape)}`,
    );
  }
  if (bands === x + 1 && tileShape[bands] !== Math.max(1, shape[bands]!)) {
    throw new RangeError(
      `Expected inner chunks with all ${
        shape[bands]
      } bands along dimension ${bands}, found the shape ${
        describe(tileShape)
      }: store bands in a dimension of their own before y and x, with bands: "first", to have each in tiles of its own`,
    );
  }
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
