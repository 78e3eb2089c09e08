/** The tags of TIFF and the types of their values, for files that are read and written. */

/** The tags that are read, of TIFF 6.0, its supplements, GeoTIFF, GDAL, MetaMorph, Zeiss and NIH Image. */
export const TAG = {
  newSubfileType: 254,
  subfileType: 255,
  width: 256,
  height: 257,
  bitsPerSample: 258,
  compression: 259,
  photometric: 262,
  fillOrder: 266,
  description: 270,
  stripOffsets: 273,
  samplesPerPixel: 277,
  rowsPerStrip: 278,
  stripByteCounts: 279,
  planarConfiguration: 284,
  predictor: 317,
  tileWidth: 322,
  tileHeight: 323,
  tileOffsets: 324,
  tileByteCounts: 325,
  subDirectories: 330,
  sampleFormat: 339,
  jpegTables: 347,
  ycbcrSubsampling: 530,
  imageDepth: 32997,
  tileDepth: 32998,
  modelPixelScale: 33550,
  uic2: 33629,
  modelTiepoint: 33922,
  modelTransformation: 34264,
  lsmInfo: 34412,
  geoKeyDirectory: 34735,
  geoDoubleParams: 34736,
  geoAsciiParams: 34737,
  gdalMetadata: 42112,
  gdalNoData: 42113,
  nihImageHeader: 43314,
} as const;

/** The tags that are written and never read. */
export const UNREAD_TAG = {
  xResolution: 282,
  yResolution: 283,
  resolutionUnit: 296,
  extraSamples: 338,
} as const;

/** The name of a tag that is read. */
type TagName = keyof typeof TAG;

/** The types of values by their codes. */
export const TYPE = {
  byte: 1,
  ascii: 2,
  short: 3,
  long: 4,
  rational: 5,
  signedByte: 6,
  undefined: 7,
  signedShort: 8,
  signedLong: 9,
  signedRational: 10,
  float: 11,
  double: 12,
  directory: 13,
  long8: 16,
  signedLong8: 17,
  directory8: 18,
} as const;

/** The lengths of values in bytes by the codes of their types; 0 for unknown types. */
const SIZES = [0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8];

/** The length of a value in bytes; 0 for an unknown type. */
export function sizeOfType(type: number): number {
  return SIZES[type] ?? 0;
}

/** The values of a tag. Texts are bytes. */
export type TagValues = ArrayLike<number>;

/**
 * Decodes the values of a tag.
 *
 * @param type The code of a known type.
 * @throws {TiffError} If a value exceeds 2^53−1.
 */
export function decodeValues(
  bytes: Uint8Array,
  type: number,
  isLittleEndian: boolean,
): TagValues {
  const size = sizeOfType(type);
  if (size === 1 && type !== TYPE.signedByte) return bytes;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return Array.from(
    { length: bytes.length / size },
    (_, i) => decodeValue(view, i * size, type, isLittleEndian),
  );
}

function decodeValue(
  view: DataView,
  at: number,
  type: number,
  isLittleEndian: boolean,
): number {
  switch (type) {
    case TYPE.signedByte:
      return view.getInt8(at);
    case TYPE.short:
      return view.getUint16(at, isLittleEndian);
    case TYPE.signedShort:
      return view.getInt16(at, isLittleEndian);
    case TYPE.signedLong:
      return view.getInt32(at, isLittleEndian);
    case TYPE.rational:
      return view.getUint32(at, isLittleEndian) /
        view.getUint32(at + 4, isLittleEndian);
    case TYPE.signedRational:
      return view.getInt32(at, isLittleEndian) /
        view.getInt32(at + 4, isLittleEndian);
    case TYPE.float:
      return view.getFloat32(at, isLittleEndian);
    case TYPE.double:
      return view.getFloat64(at, isLittleEndian);
    case TYPE.long8:
    case TYPE.signedLong8:
    case TYPE.directory8:
      return decodeLong8(view, at, isLittleEndian);
    default:
      return view.getUint32(at, isLittleEndian);
  }
}

/**
 * Decodes a number of 64 bits.
 *
 * @throws {TiffError} If the number exceeds 2^53−1.
 */
export function decodeLong8(
  view: DataView,
  at: number,
  isLittleEndian: boolean,
): number {
  const number = view.getBigUint64(at, isLittleEndian);
  if (number <= Number.MAX_SAFE_INTEGER) return Number(number);
  throw new TiffError(
    `has the number ${number}, where 2^53−1 is the most that can be read`,
  );
}

/** A problem of a file, as the end of a sentence that starts with the name of the file. */
export class TiffError extends Error {}

/** The tags of a page with their values. */
export class PageTags {
  readonly #values: ReadonlyMap<number, TagValues>;

  constructor(values: ReadonlyMap<number, TagValues>) {
    this.#values = values;
  }

  /** The values of a tag; `undefined` if the tag is missing. */
  list(tag: TagName): readonly number[] | undefined {
    const values = this.#values.get(TAG[tag]);
    return values && Array.from(values);
  }

  /** The first value of a tag, or `missing` if the tag is missing. */
  number(tag: TagName, missing: number): number {
    return this.#values.get(TAG[tag])?.[0] ?? missing;
  }

  /** The one value that a tag has for all bands; `undefined` if the bands differ. */
  same(tag: TagName, missing: number): number | undefined {
    const values = this.list(tag) ?? [missing];
    return values.every((value) => value === values[0]) ? values[0] : undefined;
  }

  /** The text of a tag up to its first NUL; `undefined` if the tag is missing. */
  text(tag: TagName): string | undefined {
    const values = this.list(tag);
    if (values === undefined) return undefined;
    const end = values.indexOf(0);
    const bytes = Uint8Array.from(end < 0 ? values : values.slice(0, end));
    return new TextDecoder().decode(bytes);
  }
}
