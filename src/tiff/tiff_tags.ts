/** The tags of TIFF and the types of their values, for files that are read and written. */

/**
 * The tags of TIFF 6.0, its supplements, GeoTIFF, GDAL, MetaMorph, Zeiss and NIH Image: their
 * numbers and, of those that are written, the types of their values. Offsets have 64 bits in
 * BigTIFF, and 32 in other TIFFs.
 */
const TAGS = {
  newSubfileType: [254, "long"],
  subfileType: [255],
  width: [256, "long"],
  height: [257, "long"],
  bitsPerSample: [258, "short"],
  compression: [259, "short"],
  photometric: [262, "short"],
  fillOrder: [266],
  description: [270, "ascii"],
  stripOffsets: [273],
  samplesPerPixel: [277, "short"],
  rowsPerStrip: [278],
  stripByteCounts: [279],
  xResolution: [282, "rational"],
  yResolution: [283, "rational"],
  planarConfiguration: [284, "short"],
  resolutionUnit: [296, "short"],
  predictor: [317, "short"],
  tileWidth: [322, "long"],
  tileHeight: [323, "long"],
  tileOffsets: [324, "offset"],
  tileByteCounts: [325, "offset"],
  subDirectories: [330],
  extraSamples: [338, "short"],
  sampleFormat: [339, "short"],
  jpegTables: [347],
  ycbcrSubsampling: [530],
  imageDepth: [32997],
  tileDepth: [32998],
  modelPixelScale: [33550, "double"],
  uic2: [33629],
  modelTiepoint: [33922, "double"],
  modelTransformation: [34264, "double"],
  lsmInfo: [34412],
  geoKeyDirectory: [34735, "short"],
  geoDoubleParams: [34736, "double"],
  geoAsciiParams: [34737, "ascii"],
  gdalMetadata: [42112, "ascii"],
  gdalNoData: [42113, "ascii"],
  lercParameters: [50674],
  nihImageHeader: [43314],
} as const;

/** The name of a tag. */
export type TagName = keyof typeof TAGS;

/** The name of a tag that is written. */
export type WrittenTag = {
  [Name in TagName]: (typeof TAGS)[Name] extends readonly [number, string]
    ? Name
    : never;
}[TagName];

/** The values of the tags of a page: texts and numbers. Those of `undefined` are left out. */
export type PageFields = {
  readonly [Name in WrittenTag]?: string | ArrayLike<number> | undefined;
};

/** The tags of GeoTIFF that are numbers. */
export const PLACE_TAGS = [
  "modelPixelScale",
  "modelTiepoint",
  "modelTransformation",
  "geoKeyDirectory",
  "geoDoubleParams",
] as const;

const NAMES: ReadonlyMap<number, TagName> = /* @__PURE__ */ new Map(
  /* @__PURE__ */ Object.entries(TAGS).map(([name, [tag]]) =>
    [tag, name as TagName] as const
  ),
);

/** The tags that are written and never read, so that a file in which one of them is damaged can be read. */
const UNREAD: readonly TagName[] = [
  "xResolution",
  "yResolution",
  "resolutionUnit",
  "extraSamples",
];

/** The name of a tag that is read; `undefined` for others. */
export function nameOfTag(tag: number): TagName | undefined {
  const name = NAMES.get(tag);
  return name === undefined || UNREAD.includes(name) ? undefined : name;
}

/** The number of a tag. */
export function numberOfTag(name: TagName): number {
  return TAGS[name][0];
}

/** A type of values: its length in bytes, and how a value is read. */
type ValueType = readonly [
  size: number,
  read: (view: DataView, at: number, isLittleEndian: boolean) => number,
];

const BYTE: ValueType = [1, (view, at) => view.getUint8(at)];
const LONG: ValueType = [4, (view, ...at) => view.getUint32(...at)];
const LONG_8: ValueType = [8, (view, ...at) => decodeLong8(view, ...at)];

/** The types of values by their codes. */
const TYPES: Readonly<Record<number, ValueType>> = {
  1: BYTE,
  2: BYTE, // A text.
  3: [2, (view, ...at) => view.getUint16(...at)],
  4: LONG,
  5: [
    8,
    (view, at, isLittle) =>
      view.getUint32(at, isLittle) / view.getUint32(at + 4, isLittle),
  ],
  6: [1, (view, at) => view.getInt8(at)],
  7: BYTE, // Bytes of any meaning.
  8: [2, (view, ...at) => view.getInt16(...at)],
  9: [4, (view, ...at) => view.getInt32(...at)],
  10: [
    8,
    (view, at, isLittle) =>
      view.getInt32(at, isLittle) / view.getInt32(at + 4, isLittle),
  ],
  11: [4, (view, ...at) => view.getFloat32(...at)],
  12: [8, (view, ...at) => view.getFloat64(...at)],
  13: LONG, // The offset of a directory.
  16: LONG_8,
  17: LONG_8,
  18: LONG_8,
};

/** The code of the type of texts. */
export const ASCII = 2;
/** The codes of the types that are written. */
const WRITTEN_TYPES = {
  ascii: ASCII,
  short: 3,
  long: 4,
  rational: 5,
  double: 12,
  long8: 16,
} as const;

/** The length of a value in bytes; 0 for an unknown type. */
export function sizeOfType(type: number): number {
  return TYPES[type]?.[0] ?? 0;
}

/** The byte order of a TIFF, and whether its offsets have 64 bits. */
export interface TiffFormat {
  readonly isLittleEndian: boolean;
  readonly isBig: boolean;
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
  const [size, read] = TYPES[type]!;
  if (TYPES[type] === BYTE) return bytes;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return Array.from(
    { length: bytes.length / size },
    (_, i) => read(view, i * size, isLittleEndian),
  );
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

/** A field of a directory: a tag with its encoded values. */
interface EncodedField {
  readonly tag: number;
  /** The code of the type. */
  readonly type: number;
  /** The number of values. */
  readonly count: number;
  readonly bytes: Uint8Array;
}

/**
 * Encodes the values of a tag.
 *
 * @param values A text, or numbers, of which a rational has two.
 */
export function encodeField(
  name: WrittenTag,
  values: string | ArrayLike<number>,
  { isLittleEndian, isBig }: TiffFormat,
): EncodedField {
  const [tag, written] = TAGS[name];
  const offset = isBig ? "long8" : "long";
  const type = WRITTEN_TYPES[written === "offset" ? offset : written];
  if (typeof values === "string") {
    const bytes = new TextEncoder().encode(`${values}\0`);
    return { tag, type, count: bytes.length, bytes };
  }
  const size = sizeOfType(type);
  const step = written === "rational" ? size / 2 : size;
  const bytes = new Uint8Array(values.length * step);
  const view = new DataView(bytes.buffer);
  for (let i = 0, at = 0; i < values.length; i++, at += step) {
    const value = values[i]!;
    if (written === "short") view.setUint16(at, value, isLittleEndian);
    else if (written === "double") view.setFloat64(at, value, isLittleEndian);
    else if (step === 8) view.setBigUint64(at, BigInt(value), isLittleEndian);
    else view.setUint32(at, value, isLittleEndian);
  }
  return { tag, type, count: bytes.length / size, bytes };
}

/** A problem of a file, as the end of a sentence that starts with the name of the file. */
export class TiffError extends Error {}

/** A reason why a page cannot be chunks of a Zarr array, and a way out. */
export class PageProblem extends Error {}

/** Damage of a page. */
export class PageDamage extends PageProblem {}

/** What to do with a file of another form. */
export const CONVERT =
  "convert the file, such as by gdal_translate -co TILED=YES -co COMPRESS=DEFLATE";

/** The tags of a page with their values. */
export class PageTags {
  readonly #values: ReadonlyMap<TagName, TagValues>;

  constructor(values: ReadonlyMap<TagName, TagValues>) {
    this.#values = values;
  }

  /** The values of a tag; `undefined` if the tag is missing. */
  list(tag: TagName): readonly number[] | undefined {
    const values = this.#values.get(tag);
    return values && Array.from(values);
  }

  /** The first value of a tag, or `missing` if the tag is missing. */
  number(tag: TagName, missing: number): number {
    return this.#values.get(tag)?.[0] ?? missing;
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
