import { gdalMetadata } from "./gdal_metadata.ts";
import type { TiffArray } from "./tiff_array.ts";
import type { TiffGeoreference, TiffOptions } from "./tiff_options.ts";
import { sizeOfType, TAG, TYPE, UNREAD_TAG } from "./tiff_tags.ts";

/**
 * A field of a TIFF directory: its tag, its type and its values. Offsets have 64 bits in
 * BigTIFF, and 32 in other TIFFs.
 */
type Field =
  | readonly [tag: number, type: "ascii", text: string]
  | readonly [
    tag: number,
    type: "short" | "long" | "rational" | "double",
    values: readonly number[],
  ]
  | readonly [tag: number, type: "offset", count: number];

/** How the numbers of a TIFF are written. */
export interface TiffFormat {
  readonly isLittleEndian: boolean;
  readonly isBig: boolean;
}

/** The size of the header of a TIFF. */
export function headerSize({ isBig }: TiffFormat): number {
  return isBig ? 16 : 8;
}

/**
 * Encodes the header of a TIFF.
 *
 * @param first The offset of the first directory.
 */
export function encodeHeader(format: TiffFormat, first: number): Uint8Array {
  const { isLittleEndian, isBig } = format;
  const bytes = new Uint8Array(headerSize(format));
  const view = new DataView(bytes.buffer);
  view.setUint16(0, isLittleEndian ? 0x4949 : 0x4d4d);
  view.setUint16(2, isBig ? 43 : 42, isLittleEndian);
  if (isBig) view.setUint16(4, 8, isLittleEndian);
  writeOffset(view, isBig ? 8 : 4, first, format);
  return bytes;
}

/** The extents of the tiles of a page in a directory: where their offsets and their lengths are. */
interface TilePlaces {
  readonly offsets: number;
  readonly lengths: number;
}

/**
 * The directories of a TIFF, one for each page, without what depends on their place in the file
 * and on the places of the tiles.
 */
export interface DirectoryLayout {
  readonly format: TiffFormat;
  /** The length of all directories, an even number of bytes. */
  readonly size: number;
  readonly bytes: Uint8Array;
  /** Where offsets are that count from the first directory, and what they are. */
  readonly pointers: readonly (readonly [at: number, target: number])[];
  /** Those of each page. */
  readonly tiles: readonly TilePlaces[];
}

/** Lays out directories. The values of the tags of tiles are the numbers of tiles alone. */
export function layOutDirectories(
  pages: readonly (readonly Field[])[],
  format: TiffFormat,
): DirectoryLayout {
  const { isLittleEndian, isBig } = format;
  const sizes = pages.map((fields) => directorySize(fields, format));
  const size = sizes.reduce((sum, size) => sum + size, 0);
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  const pointers: (readonly [number, number])[] = [];
  const tiles: TilePlaces[] = [];
  let start = 0;
  pages.forEach((unsorted, page) => {
    const fields = unsorted.toSorted(([a], [b]) => a - b);
    const end = start + sizes[page]!;
    const places = new Map<number, number>();
    let at = start;
    if (isBig) view.setBigUint64(at, BigInt(fields.length), isLittleEndian);
    else view.setUint16(at, fields.length, isLittleEndian);
    at += isBig ? 8 : 2;
    let outside = start + tableSize(fields.length, format);
    for (const field of fields) {
      const [tag, type] = field;
      view.setUint16(at, tag, isLittleEndian);
      view.setUint16(at + 2, codeOf(type, format), isLittleEndian);
      writeOffset(view, at + 4, countOf(field), format);
      let values = at + (isBig ? 12 : 8);
      const size = valueSize(field, format);
      if (size > inlineSize(format)) {
        pointers.push([values, outside]);
        values = outside;
        outside += even(size);
      }
      places.set(tag, values);
      writeValues(view, values, field, format);
      at += isBig ? 20 : 12;
    }
    if (page + 1 < pages.length) pointers.push([at, end]);
    tiles.push({
      offsets: places.get(TAG.tileOffsets)!,
      lengths: places.get(TAG.tileByteCounts)!,
    });
    start = end;
  });
  return { format, size, bytes, pointers, tiles };
}

/**
 * Encodes directories that lie somewhere in a file.
 *
 * @param start The even offset of the first directory.
 * @param tiles The extents of the tiles of each page.
 */
export function encodeDirectories(
  { format, bytes, pointers, tiles: places }: DirectoryLayout,
  start: number,
  tiles: readonly (readonly Tile[])[],
): Uint8Array {
  const encoded = bytes.slice();
  const view = new DataView(encoded.buffer);
  for (const [at, target] of pointers) {
    writeOffset(view, at, start + target, format);
  }
  const step = sizeOf("offset", format);
  tiles.forEach((page, i) => {
    const { offsets, lengths } = places[i]!;
    page.forEach(({ offset, length }, tile) => {
      writeOffset(view, offsets + tile * step, offset, format);
      writeOffset(view, lengths + tile * step, length, format);
    });
  });
  return encoded;
}

/** The size of a directory with all its values, an even number of bytes. */
function directorySize(fields: readonly Field[], format: TiffFormat): number {
  return fields.reduce((sum, field) => {
    const size = valueSize(field, format);
    return size <= inlineSize(format) ? sum : sum + even(size);
  }, tableSize(fields.length, format));
}

/** The size of a directory without the values that do not fit into it. */
function tableSize(count: number, { isBig }: TiffFormat): number {
  return isBig ? 8 + 20 * count + 8 : 2 + 12 * count + 4;
}

/** The most bytes of values that a field holds itself. */
function inlineSize({ isBig }: TiffFormat): number {
  return isBig ? 8 : 4;
}

function writeValues(
  view: DataView,
  at: number,
  field: Field,
  format: TiffFormat,
): void {
  const { isLittleEndian } = format;
  if (field[1] === "offset") return;
  if (field[1] === "ascii") {
    const text = new TextEncoder().encode(field[2]);
    new Uint8Array(view.buffer, view.byteOffset).set(text, at);
    return;
  }
  const [, type, values] = field;
  for (const value of values) {
    if (type === "short") view.setUint16(at, value, isLittleEndian);
    else if (type === "double") view.setFloat64(at, value, isLittleEndian);
    else view.setUint32(at, value, isLittleEndian);
    // A rational has two values.
    at += type === "rational" ? 4 : sizeOf(type, format);
  }
}

function writeOffset(
  view: DataView,
  at: number,
  offset: number,
  { isLittleEndian, isBig }: TiffFormat,
): void {
  if (isBig) view.setBigUint64(at, BigInt(offset), isLittleEndian);
  else view.setUint32(at, offset, isLittleEndian);
}

function countOf([, type, values]: Field): number {
  if (type === "ascii") return new TextEncoder().encode(values).length + 1;
  if (type === "offset") return values;
  return type === "rational" ? values.length / 2 : values.length;
}

function valueSize(field: Field, format: TiffFormat): number {
  return countOf(field) * sizeOf(field[1], format);
}

function sizeOf(type: Field[1], format: TiffFormat): number {
  return sizeOfType(codeOf(type, format));
}

function codeOf(type: Field[1], { isBig }: TiffFormat): number {
  return TYPE[type === "offset" ? (isBig ? "long8" : "long") : type];
}

/** Rounds up to an even number, as offsets in a TIFF are. */
export function even(size: number): number {
  return size + size % 2;
}

/** The part of an array that a shard holds. */
export interface Picture {
  /** The grid coordinates of the shard. */
  readonly shard: readonly number[];
  /** The lengths of the part in elements. At the edge of the array they are less than those of a shard. */
  readonly shape: readonly number[];
}

/** The extent of a tile in a file; offset and length are 0 for a sparse tile. */
export interface Tile {
  readonly offset: number;
  readonly length: number;
}

const UNITS = { none: 1, inch: 2, centimeter: 3 } as const;

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
): Field[][] {
  const { omeXml } = options;
  const shared: Field[] = [
    ...pictureFields(array, picture),
    ...descriptiveFields(array, picture, options),
    ...options.georeference
      ? georeferenceFields(array, picture, options.georeference)
      : [],
  ];
  return tileCounts.map((count, page) => [
    ...shared,
    // Readers look for OME-XML in the first page alone.
    ...omeXml !== undefined && page === 0
      ? [[TAG.description, "ascii", omeXml] as const]
      : [],
    // The value means "page of a document", as opposed to a smaller version of another page.
    ...tileCounts.length > 1
      ? [[TAG.newSubfileType, "long", [2]] as const]
      : [],
    [TAG.tileOffsets, "offset", count],
    [TAG.tileByteCounts, "offset", count],
  ]);
}

function pictureFields(
  { tileShape, axes, bits, sampleFormat, compression, predictor, isRgb }:
    TiffArray,
  { shape }: Picture,
): Field[] {
  const { x, y } = axes;
  const samples = axes.bands === undefined ? 1 : shape[axes.bands]!;
  const extra = samples - (isRgb ? 3 : 1);
  return [
    [TAG.width, "long", [shape[x]!]],
    [TAG.height, "long", [shape[y]!]],
    [TAG.bitsPerSample, "short", Array(samples).fill(bits)],
    [TAG.compression, "short", [compression]],
    [TAG.photometric, "short", [isRgb ? 2 : 1]],
    [TAG.samplesPerPixel, "short", [samples]],
    [TAG.planarConfiguration, "short", [axes.bands === axes.y - 1 ? 2 : 1]],
    ...predictor > 1 ? [[TAG.predictor, "short", [predictor]] as const] : [],
    [TAG.tileWidth, "long", [tileShape[x]!]],
    [TAG.tileHeight, "long", [tileShape[y]!]],
    // The fourth band of a picture in colors is its alpha, which is not multiplied in.
    ...extra > 0
      ? [
        [
          UNREAD_TAG.extraSamples,
          "short",
          Array.from({ length: extra }, (_, i) => isRgb && i === 0 ? 2 : 0),
        ] as const,
      ]
      : [],
    [TAG.sampleFormat, "short", Array(samples).fill(sampleFormat)],
  ];
}

function descriptiveFields(
  { fillBytes, fillValue, axes, shardShape }: TiffArray,
  { shard, shape }: Picture,
  { description, resolution, noData, sparse, values = {} }: PageOptions,
): Field[] {
  const { bands } = axes;
  const metadata = bands === undefined
    ? gdalMetadata(values, 1, 0)
    : gdalMetadata(values, shape[bands]!, shard[bands]! * shardShape[bands]!);
  // Readers fill sparse tiles with zeros unless GDAL_NODATA has another value.
  const missing = noData ??
    (sparse && fillBytes.some((byte) => byte !== 0) ? fillValue : undefined);
  return [
    ...description === undefined
      ? []
      : [[TAG.description, "ascii", description] as const],
    ...resolution
      ? [
        [UNREAD_TAG.xResolution, "rational", rational(resolution.x)] as const,
        [UNREAD_TAG.yResolution, "rational", rational(resolution.y)] as const,
        [UNREAD_TAG.resolutionUnit, "short", [
          UNITS[resolution.unit ?? "none"],
        ]] as const,
      ]
      : [],
    ...metadata === undefined
      ? []
      : [[TAG.gdalMetadata, "ascii", metadata] as const],
    ...missing === undefined
      ? []
      : [[TAG.gdalNoData, "ascii", numberText(missing)] as const],
  ];
}

/** Shifts a georeference to the first pixel of a shard. */
function georeferenceFields(
  { shardShape, axes }: TiffArray,
  { shard }: Picture,
  georeference: TiffGeoreference,
): Field[] {
  const { geoKeyDirectory, geoDoubleParams, geoAsciiParams } = georeference;
  const [column, row] = [axes.x, axes.y]
    .map((axis) => shard[axis]! * shardShape[axis]!) as [number, number];
  return [
    ...placeFields(georeference, column, row),
    ...geoKeyDirectory
      ? [[TAG.geoKeyDirectory, "short", geoKeyDirectory] as const]
      : [],
    ...geoDoubleParams
      ? [[TAG.geoDoubleParams, "double", geoDoubleParams] as const]
      : [],
    ...geoAsciiParams === undefined
      ? []
      : [[TAG.geoAsciiParams, "ascii", geoAsciiParams] as const],
  ];
}

/** Moves the tags of a georeference to the pixel of the array at which a picture begins. */
function placeFields(
  { modelPixelScale, modelTiepoint, modelTransformation }: TiffGeoreference,
  column: number,
  row: number,
): Field[] {
  if (modelTransformation) {
    const shifted = modelTransformation.map((value, i) => {
      if (i % 4 !== 3 || i === 15) return value;
      const [perColumn, perRow] = modelTransformation.slice(i - 3, i - 1);
      return value + perColumn! * column + perRow! * row;
    });
    return [[TAG.modelTransformation, "double", shifted]];
  }
  const [i, j, k, x, y, z] = modelTiepoint as number[];
  const [scaleX, scaleY] = modelPixelScale as number[];
  const tiepoint = [i!, j!, k!, x! + column * scaleX!, y! - row * scaleY!, z!];
  return [
    [TAG.modelPixelScale, "double", modelPixelScale!],
    [TAG.modelTiepoint, "double", tiepoint],
  ];
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
