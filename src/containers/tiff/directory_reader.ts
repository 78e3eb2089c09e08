import { type Tag, Tiff, TiffImage, type TiffTag } from "@cogeotiff/core";
import type { RangeSource } from "./range_source.ts";

/** The most directories that a file may have. */
const MOST_DIRECTORIES = 2 ** 20;
/** The most entries that a directory may have, as many as classic TIFF can count. */
const MOST_ENTRIES = 2 ** 16 - 1;
/** The most bytes that a value may have. */
const LONGEST_VALUE = 16 * 1024 * 1024;
/** The most bytes that all values of a file may have. */
const LONGEST_VALUES = 256 * 1024 * 1024;
/** Descriptions that are longer are left out. */
const LONGEST_DESCRIPTION = 1024 * 1024;

/** The sizes of values in bytes by the codes of their types, 0 for unknown types. */
const TYPE_SIZES = [0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8];
/** The types that the library reads in place of others: it fails for long texts, and knows two types of 64 bits not. */
const READABLE_TYPES: Readonly<Record<number, number>> = {
  2: 1, // ASCII: BYTE
  17: 16, // SLONG8: LONG8
  18: 16, // IFD8: LONG8
};
const [LITTLE_ENDIAN, BIG_ENDIAN] = [0x4949, 0x4d4d];
const [CLASSIC, BIG] = [42, 43];

/** The values of a tag. Texts are bytes. */
export type TagValues = ArrayLike<number>;

/** A directory of a TIFF. */
export interface Directory {
  readonly offset: number;
  /** The number of planes in a stack of MetaMorph. */
  readonly planes: number | undefined;
  /** The place of the directory of which this one is a sub-directory. */
  readonly parent: number | undefined;
  /** The values of the tags in `WANTED_TAGS`. */
  readonly values: ReadonlyMap<number, TagValues>;
}

/** A problem of a file, as the end of a sentence that starts with its name. */
export class TiffError extends Error {}

/**
 * Reads the directories of a TIFF. The library reads the values of tags. Directories are
 * read here, since it follows circles of them, and fails for unknown types and for
 * directories that are only partly among the bytes that it reads at once.
 */
export class DirectoryReader {
  readonly #source: RangeSource;
  readonly #tiff: Tiff;
  readonly #seen = new Set<number>();
  readonly #parents: (number | undefined)[] = [];
  readonly #offsets: number[] = [];
  /** The numbers of planes that directories count, by the offsets of these. */
  readonly #planes = new Map<number, number>();
  #valueBytes = 0;

  constructor(source: RangeSource) {
    this.#source = source;
    this.#tiff = new Tiff({
      url: new URL("tiff:"),
      fetch: (offset, length) => readWhole(source, offset, length!),
    });
  }

  get isLittleEndian(): boolean {
    return this.#tiff.isLittleEndian;
  }

  get isBig(): boolean {
    return this.#tiff.version === BIG;
  }

  /**
   * Reads the header and all directories, those of the chain before their
   * sub-directories.
   *
   * @param page The place of the only page that is needed: later directories may be
   * damaged.
   */
  async read(page = Infinity): Promise<Directory[]> {
    let next = this.#parseHeader(await this.#source.readFirst());
    try {
      while (next !== 0) next = await this.#readDirectory(next, undefined);
      await this.#readSubDirectories();
    } catch (error) {
      if (!(error instanceof TiffError)) throw error;
      const count = this.#tiff.images.length;
      if (count <= page) throw count > 0 ? withPages(error, count) : error;
    }
    return await this.#directories(page);
  }

  /** Gives the values of all directories, which are read together. */
  async #directories(page: number): Promise<Directory[]> {
    return await Promise.all(
      this.#tiff.images.map(async (image, i) => ({
        offset: this.#offsets[i]!,
        parent: this.#parents[i],
        planes: this.#planes.get(this.#offsets[i]!),
        values: await valuesOf(image).catch((error) => {
          // The values of other pages may be beyond the end of the file.
          if (page !== Infinity && i !== page && error instanceof TiffError) {
            return new Map();
          }
          throw error;
        }),
      })),
    );
  }

  /** Returns the offset of the first directory. */
  #parseHeader(bytes: Uint8Array): number {
    if (bytes.length < 8) {
      throw new TiffError(
        `has ${bytes.length} bytes, where the header alone has 8`,
      );
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const order = view.getUint16(0);
    this.#tiff.isLittleEndian = order === LITTLE_ENDIAN;
    const version = view.getUint16(2, this.isLittleEndian);
    const isTiff = (this.isLittleEndian || order === BIG_ENDIAN) &&
      (version === CLASSIC || version === BIG);
    if (!isTiff) {
      const found = Array.from(
        bytes.subarray(0, 4),
        (byte) => byte.toString(16).padStart(2, "0"),
      );
      throw new TiffError(
        `starts with the bytes ${
          found.join(" ")
        }, where a TIFF starts with 49 49 2a 00 or 4d 4d 00 2a, and a BigTIFF with 2b in place of 2a`,
      );
    }
    if (version === CLASSIC) return view.getUint32(4, this.isLittleEndian);
    const [size, zero] = [4, 6].map((at) =>
      bytes.length < 16 ? 0 : view.getUint16(at, this.isLittleEndian)
    );
    if (size !== 8 || zero !== 0) {
      throw new TiffError(
        `is a BigTIFF with offsets of ${size} bytes, expected 8`,
      );
    }
    this.#tiff.version = version;
    this.#tiff.ifdConfig = { version, pointer: 8, offset: 8, ifd: 20 };
    return this.#number(view, 8, 8);
  }

  /** Reads a directory into `images`, and returns the offset of the next one. */
  async #readDirectory(
    offset: number,
    parent: number | undefined,
  ): Promise<number> {
    if (this.#seen.has(offset)) {
      throw new TiffError(`has a circle of directories, from ${offset} on`);
    }
    this.#seen.add(offset);
    if (this.#seen.size > MOST_DIRECTORIES) {
      throw new TiffError(`has more than ${MOST_DIRECTORIES} directories`);
    }
    const { offset: countSize, ifd: entrySize, pointer } = this.#tiff.ifdConfig;
    const head = await this.#directoryBytes(offset, countSize);
    const count = this.#number(head, 0, countSize);
    if (count > MOST_ENTRIES) {
      throw new TiffError(
        `has a directory of ${count} entries at ${offset}, where ${MOST_ENTRIES} are the most`,
      );
    }
    const end = countSize + count * entrySize;
    const view = await this.#directoryBytes(offset, end);
    const tags = new Map<TiffTag, Tag>();
    for (let at = countSize; at < end; at += entrySize) {
      const tag = this.#parseEntry(view, at, offset);
      if (tag !== undefined) tags.set(tag.id, tag);
    }
    const { images } = this.#tiff;
    images.push(new TiffImage(this.#tiff, images.length, tags));
    this.#parents.push(parent);
    this.#offsets.push(offset);
    return this.#number(
      await this.#directoryBytes(offset, end + pointer),
      end,
      pointer,
    );
  }

  async #directoryBytes(offset: number, length: number): Promise<DataView> {
    await this.#source.readDirectory(offset, length);
    const bytes = this.#source.find({ offset, length });
    if (bytes === undefined) {
      throw new TiffError(
        `ends before ${offset + length}, where a directory at ${offset} ends`,
      );
    }
    return new DataView(bytes.buffer, bytes.byteOffset, length);
  }

  /** Parses an entry, whose value is read later; `undefined` for one that is of no use. */
  #parseEntry(
    view: DataView,
    at: number,
    directory: number,
  ): Tag | undefined {
    const { pointer } = this.#tiff.ifdConfig;
    const id = view.getUint16(at, this.isLittleEndian);
    const type = view.getUint16(at + 2, this.isLittleEndian);
    const size = TYPE_SIZES[type] ?? 0;
    if (!WANTED_TAGS.has(id) || size === 0) return undefined;
    const count = this.#number(view, at + 4, pointer);
    if (id === TAG.uic2) { // Each plane has six numbers, which count as one value.
      this.#planes.set(directory, count);
      return undefined;
    }
    const length = count * size;
    const isLeftOut = id === TAG.description && length > LONGEST_DESCRIPTION;
    if (length === 0 || isLeftOut) return undefined;
    this.#valueBytes += length;
    if (length > LONGEST_VALUE || this.#valueBytes > LONGEST_VALUES) {
      throw new TiffError(
        `has ${length} bytes for the tag ${id}, where a value may take ${LONGEST_VALUE} bytes, and all values of a file ${LONGEST_VALUES}`,
      );
    }
    const valueAt = at + 4 + pointer;
    const dataOffset = length > pointer
      ? this.#number(view, valueAt, pointer)
      : directory + valueAt;
    if (length > pointer) this.#source.announce({ offset: dataOffset, length });
    return {
      type: "lazy",
      id,
      name: String(id),
      count,
      dataType: READABLE_TYPES[type] ?? type,
      dataOffset,
      tagOffset: directory + at,
    };
  }

  async #readSubDirectories(): Promise<void> {
    const found = await Promise.all(this.#tiff.images.map(async (image) => {
      const value: unknown = await image.fetch(TAG.subDirectories as never);
      return listOf(value ?? []).filter((offset) => offset !== 0);
    }));
    await Promise.all(
      found.flat().map((offset) => this.#source.readDirectory(offset, 0)),
    );
    for (const [parent, offsets] of found.entries()) {
      for (const offset of offsets) await this.#readDirectory(offset, parent);
    }
  }

  #number(view: DataView, at: number, size: number): number {
    const isLittle = this.isLittleEndian;
    if (size === 2) return view.getUint16(at, isLittle);
    if (size === 4) return view.getUint32(at, isLittle);
    const number = view.getBigUint64(at, isLittle);
    if (number <= Number.MAX_SAFE_INTEGER) return Number(number);
    throw new TiffError(
      `has the offset or the count ${number}, where 2^53−1 is the most that can be read`,
    );
  }
}

/** Tells how the pages before the damage can be read. */
function withPages({ message }: TiffError, count: number): TiffError {
  return new TiffError(
    `${message}: choose a page from 0 to ${
      count - 1
    }, which come before, by the option "page"`,
  );
}

async function readWhole(
  source: RangeSource,
  offset: number,
  length: number,
): Promise<ArrayBuffer> {
  const bytes = await source.read({ offset, length });
  if (bytes.length === length) return bytes.slice().buffer;
  throw new TiffError(
    `ends before ${offset + length}, where a value of ${length} bytes ends`,
  );
}

async function valuesOf(image: TiffImage): Promise<Map<number, TagValues>> {
  const values = await Promise.all(
    Array.from(image.tags.keys(), async (tag) => {
      const value: unknown = await image.fetch(tag as never);
      return [tag as number, listOf(value)] as const;
    }),
  );
  return new Map(values);
}

/** The values of a tag, of which the library gives a single one as it is. */
function listOf(value: unknown): number[] {
  return typeof value === "object" ? value as number[] : [value as number];
}

/** The values of the tags of a directory. */
export class PageTags {
  readonly #values: ReadonlyMap<number, TagValues>;

  constructor(values: ReadonlyMap<number, TagValues>) {
    this.#values = values;
  }

  list(tag: keyof typeof TAG): readonly number[] | undefined {
    const values = this.#values.get(TAG[tag]);
    return values && Array.from(values);
  }

  /** The first value of a tag, or another one where the tag is missing. */
  number(tag: keyof typeof TAG, missing: number): number {
    return this.#values.get(TAG[tag])?.[0] ?? missing;
  }

  /** The one value that a tag has for all bands; `undefined` if these differ. */
  same(tag: keyof typeof TAG, missing: number): number | undefined {
    const values = this.list(tag) ?? [missing];
    return values.every((value) => value === values[0]) ? values[0] : undefined;
  }

  text(tag: keyof typeof TAG): string | undefined {
    const values = this.list(tag);
    if (values === undefined) return undefined;
    const end = values.indexOf(0);
    const bytes = Uint8Array.from(end < 0 ? values : values.slice(0, end));
    return new TextDecoder().decode(bytes);
  }
}

/** Tags of TIFF 6.0, its supplements, GeoTIFF, GDAL, MetaMorph, Zeiss and NIH Image. */
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
  uic2: 33629,
  modelPixelScale: 33550,
  modelTiepoint: 33922,
  modelTransformation: 34264,
  geoKeyDirectory: 34735,
  geoDoubleParams: 34736,
  lsmInfo: 34412,
  geoAsciiParams: 34737,
  gdalNoData: 42113,
  nihImageHeader: 43314,
} as const;

/** The code of a tag. */
export type TagCode = typeof TAG[keyof typeof TAG];

/** The tags that are read; all others are ignored. */
export const WANTED_TAGS: ReadonlySet<number> = /* @__PURE__ */ new Set(
  /* @__PURE__ */ Object.values(TAG),
);
