import { DamageError } from "../errors/mod.ts";
import { coreDataType, type NamedConfiguration } from "../metadata/mod.ts";
import type { ReadShardRange, ShardIndex } from "../shards/mod.ts";
import { type Directory, readDirectories } from "./directory_reader.ts";
import {
  codecsOf,
  compressionOf,
  dataTypeOf,
  packedBits,
} from "./tiff_codecs.ts";
import type { TiffGeoreference } from "./tiff_options.ts";
import {
  CONVERT,
  PageDamage,
  PageProblem,
  PageTags,
  PLACE_TAGS,
  TiffError,
  type TiffFormat,
} from "./tiff_tags.ts";

/**
 * Describes what a TIFF holds: its pages in the terms of Zarr, with the place of every
 * tile. Reads the directories by few requests, and no tile: one where the directories
 * are at the start of the file, two where they are at its end, and one more for tables
 * of tiles that are long.
 *
 * The member `problem` of a page is the reason why its tiles cannot be chunks of a Zarr
 * array. A stack with one directory for all planes, such as those of MetaMorph, NIH Image,
 * ImageJ and tifffile, has one page for each plane.
 *
 * @param read Reads a range of the file.
 * @param options `key`: the key of the file, for messages; `size`: the length of the
 * file in bytes, which saves a request for long tables at its end, and is needed to find
 * the lengths of compressed strips that the file does not have; `page`: the number of the
 * only page that is needed, from 0, so that damage of other pages is ignored.
 * @returns The pages.
 * @throws {DamageError} If the file is not a TIFF, or its directories are damaged.
 * @throws {Error} If there is no file.
 *
 * @example
 * ```ts
 * import { arrayMetadata, encodeShard, MemoryStore, parseShardLayout } from "@zarr-parts/zarr-parts";
 * import { describeTiff, tiffContainer } from "@zarr-parts/zarr-parts/tiff";
 * import { assertEquals } from "@std/assert";
 *
 * const metadata = arrayMetadata({
 *   shape: [16, 32],
 *   dataType: "uint8",
 *   shardShape: [16, 32],
 *   chunkShape: [16, 16],
 * });
 * const layout = parseShardLayout(metadata.codecs[0], [16, 32]);
 * const container = tiffContainer(metadata)([0, 0]);
 * const tiles = [new Uint8Array(256), new Uint8Array(256)];
 * const store = new MemoryStore([["/a.tiff", encodeShard(tiles, layout, { container })]]);
 *
 * const { pages } = await describeTiff((range) => store.getRange("/a.tiff", range));
 * assertEquals(pages.length, 1);
 * assertEquals(pages[0]?.shape, [16, 32]);
 * assertEquals(pages[0]?.tileShape, [16, 16]);
 * assertEquals(pages[0]?.dataType, "uint8");
 * assertEquals(pages[0]?.codecs, [{ name: "bytes" }]);
 * assertEquals(pages[0]?.tiles[1]?.length, 256);
 * ```
 */
export async function describeTiff(
  read: ReadShardRange,
  { key = "", size, page }: {
    key?: string | undefined;
    size?: number | undefined;
    page?: number | undefined;
  } = {},
): Promise<TiffDescription> {
  const { pages, damage, damagedPages } = await readPages(read, { key, size });
  if (page !== undefined && page < pages.length) {
    const own = damagedPages.get(page);
    if (own !== undefined) throw own;
    return { pages };
  }
  const [first = damage] = damagedPages.values();
  if (first !== undefined) throw first;
  return { pages };
}

/**
 * The tags of GeoTIFF in a page, as they are.
 *
 * Source: OGC GeoTIFF 1.1, https://docs.ogc.org/is/19-008r4/19-008r4.html
 *
 * @example
 * ```ts
 * import type { TiffPlace } from "@zarr-parts/zarr-parts/tiff";
 *
 * const place: TiffPlace = {
 *   modelPixelScale: [30, 30, 0],
 *   modelTiepoint: [0, 0, 0, 399_960, 5_300_040, 0],
 * };
 * ```
 */
export type TiffPlace = Readonly<Omit<TiffGeoreference, "size">>;

/**
 * The meaning of a dimension of a page.
 *
 * @example
 * ```ts
 * import type { TiffAxis } from "@zarr-parts/zarr-parts/tiff";
 *
 * const axes: readonly TiffAxis[] = ["y", "x", "band"];
 * ```
 */
export type TiffAxis = "band" | "y" | "x";

/**
 * A page of a TIFF in the terms of Zarr: an array whose chunks are the tiles of the page.
 *
 * @example
 * ```ts
 * import type { TiffPage } from "@zarr-parts/zarr-parts/tiff";
 *
 * const page: TiffPage = {
 *   kind: "image",
 *   axes: ["y", "x"],
 *   shape: [100, 60],
 *   tileShape: [64, 64],
 *   dataType: "uint8",
 *   fillValue: 0,
 *   codecs: [{ name: "bytes" }, { name: "zstd" }],
 *   tiles: [{ offset: 8, length: 900 }, undefined], // The second tile is sparse.
 * };
 * ```
 */
export interface TiffPage {
  /** Whether the page is a picture, a smaller version of one, or a mask of one. */
  readonly kind: "image" | "overview" | "mask";
  /** The place of the page that has this one among its sub-directories (tag SubIFDs). */
  readonly parent?: number;
  /** The meanings of the dimensions. */
  readonly axes: readonly TiffAxis[];
  /** The lengths of the page along its dimensions, in elements. */
  readonly shape: readonly number[];
  /** The lengths of a tile in elements; a strip is a tile as wide as the page. */
  readonly tileShape: readonly number[];
  /** The data type by its Zarr name; `undefined` if Zarr has none for it. */
  readonly dataType: string | undefined;
  /** The value of GDAL_NODATA, or 0; the elements of tiles that the file leaves out have it. */
  readonly fillValue: number | bigint;
  /** The value of GDAL_NODATA, if the page has one of its data type. */
  readonly noData?: number | bigint;
  /** The codecs of a tile in the terms of Zarr; `undefined` if there are none. */
  readonly codecs: readonly NamedConfiguration[] | undefined;
  /** The place of each tile in C order, with `undefined` for tiles that the file leaves out. */
  readonly tiles: ShardIndex;
  /** Why the tiles cannot be chunks of a Zarr array, and what to do; missing if they can be. */
  readonly problem?: string;
  /** Whether `problem` is damage of the file. */
  readonly isDamaged?: boolean;
  /** The tag ImageDescription, unless it has more than 1 MiB, or 16 MiB in the first page. */
  readonly description?: string;
  /** The tag GDAL_METADATA, XML with the scales and units of bands, unless it has more than 1 MiB, or 16 MiB in the first page. */
  readonly gdalMetadata?: string;
  /** The place on the earth, if the page has tags of GeoTIFF. */
  readonly place?: TiffPlace;
}

/**
 * The pages of a TIFF, which {@linkcode describeTiff} returns.
 *
 * @example
 * ```ts
 * import type { TiffDescription } from "@zarr-parts/zarr-parts/tiff";
 *
 * const overviews = ({ pages }: TiffDescription) =>
 *   pages.filter(({ kind }) => kind === "overview").length;
 * ```
 */
export interface TiffDescription {
  /** The pages in the order of the file, and after them those of sub-directories. */
  readonly pages: readonly TiffPage[];
}

/** The directories and pages of a TIFF, some of which may be damaged. */
interface FoundPages extends TiffDescription {
  /** Why the file may have more pages, which cannot be found. */
  readonly damage: DamageError | undefined;
  /** Why pages have no tags, by the places of the pages. */
  readonly damagedPages: ReadonlyMap<number, DamageError>;
}

/**
 * Reads the pages of a TIFF, up to a directory that is damaged. A page whose tags cannot be
 * read has a `problem`.
 *
 * @throws {DamageError} If the file is not a TIFF, or its first directory is damaged.
 * @throws {Error} If there is no file.
 */
export async function readPages(
  read: ReadShardRange,
  { key, size }: { key: string; size: number | undefined },
): Promise<FoundPages> {
  const name = key === "" ? "TIFF" : `TIFF ${JSON.stringify(key)}`;
  const damageOf = (cause: TiffError, advice = "") =>
    new DamageError(`${name} ${cause.message}${advice}`, { key, cause });
  const { directories, damage, ...format } = await readDirectories(
    async (range) => {
      const bytes = await read(range);
      if (bytes === undefined) throw new Error(`There is no ${name}`);
      return bytes;
    },
    size,
  ).catch((error) => {
    throw error instanceof TiffError ? damageOf(error) : error;
  });
  const starts = directories.map(({ offset }) => offset);
  const last = directories.length - 1;
  const file = { ...format, size, starts };
  const pages = directories.map((directory) => describePage(directory, file));
  return {
    pages: withPlanes(pages, directories, size),
    damage: damage && damageOf(
      damage,
      `: choose a page from 0 to ${last}, which come before, by the option "page"`,
    ),
    damagedPages: new Map(
      directories.flatMap(({ damage }, page) =>
        damage === undefined ? [] : [[page, damageOf(damage)]]
      ),
    ),
  };
}

/** The value of PhotometricInterpretation for masks. */
const MASK = 4;

/** A page whose members are found one after another, up to a problem. */
type FoundPage = { -readonly [Member in keyof TiffPage]: TiffPage[Member] };

/** Describes a page in the terms of Zarr. */
function describePage(
  { parent, values, damage }: Directory,
  file: TiffFileFacts,
): TiffPage {
  const { isLittleEndian } = file;
  const tags = new PageTags(values);
  const page: FoundPage = {
    kind: kindOf(tags),
    ...parent !== undefined && { parent },
    axes: [],
    shape: [],
    tileShape: [],
    dataType: undefined,
    fillValue: 0,
    codecs: undefined,
    tiles: [],
  };
  try {
    if (damage) throw new PageDamage(`the file ${damage.message}`);
    Object.assign(page, pageShapeOf(tags));
    const dataType = dataTypeOf(tags, isLittleEndian);
    page.dataType = dataType;
    page.codecs = codecsOf(tags, dataType, isLittleEndian, page);
    const bits = packedBits(tags, isLittleEndian) ??
      coreDataType(dataType)!.bits!;
    page.tiles = pageTilesOf(tags, page, bits, file);
  } catch (error) {
    if (!(error instanceof PageProblem)) throw error;
    page.problem = error.message;
    if (error instanceof PageDamage) page.isDamaged = true;
  }
  const noData = noDataOf(tags.text("gdalNoData"), page.dataType);
  if (noData !== undefined) page.fillValue = page.noData = noData;
  for (const name of ["description", "gdalMetadata"] as const) {
    const text = tags.text(name);
    if (text !== undefined) page[name] = text;
  }
  const place = placeOf(tags);
  if (place !== undefined) page.place = place;
  return page;
}

function kindOf(tags: PageTags): TiffPage["kind"] {
  const flags = tags.number("newSubfileType", 0);
  if ((flags & 4) !== 0 || tags.number("photometric", 1) === MASK) {
    return "mask";
  }
  const isReduced = (flags & 1) !== 0 || tags.number("subfileType", 1) === 2;
  return isReduced ? "overview" : "image";
}

function placeOf(tags: PageTags): TiffPlace | undefined {
  const geoAsciiParams = tags.text("geoAsciiParams");
  const place = {
    ...Object.fromEntries(
      PLACE_TAGS.map((name) => [name, tags.list(name)])
        .filter(([, values]) => values !== undefined),
    ),
    ...geoAsciiParams !== undefined && { geoAsciiParams },
  };
  return Object.keys(place).length > 0 ? place : undefined;
}

/** Returns the number in GDAL_NODATA; `undefined` if the data type does not have the number, since no element can then be missing. */
function noDataOf(
  text: string | undefined,
  dataType: string | undefined,
): number | bigint | undefined {
  const trimmed = text?.trim() ?? "";
  if (dataType === undefined || trimmed === "") return undefined;
  const [, kind, digits] = /^(u?int|float|complex)(\d+)$/.exec(dataType)!;
  if (kind === "float" || kind === "complex") {
    const isNone = /^[+-]?nan/i.test(trimmed);
    const number = Number(trimmed.replace(/^([+-]?)inf.*/i, "$1Infinity"));
    if (Number.isNaN(number) && !isNone) return undefined;
    const bits = Number(digits) / (kind === "complex" ? 2 : 1);
    return bits === 32 ? Math.fround(number) : number;
  }
  // Programs also write integers as `255.0` or `1e3`.
  const isPlain = /^[+-]?\d+$/.test(trimmed);
  if (!isPlain && !Number.isInteger(Number(trimmed))) return undefined;
  const number = BigInt(isPlain ? trimmed.replace("+", "") : Number(trimmed));
  const fit = kind === "int" ? BigInt.asIntN : BigInt.asUintN;
  if (fit(Number(digits), number) !== number) return undefined;
  const isSafe = BigInt.asIntN(53, number) === number;
  return isSafe ? Number(number) : number;
}

/** The most tiles of a page. Readers refuse indexes that are longer. */
export const MOST_TILES = 2 ** 20;
/** The most bytes of a decoded tile. Memory for more cannot be had everywhere. */
const LARGEST_TILE = 2 ** 31 - 1;

/** The numbers of pieces into which strips of more bytes are tried to be divided. */
const PIECES_TRIED = 2 ** 12;

/** The dimensions of a page. */
type PageShape = Pick<TiffPage, "axes" | "shape" | "tileShape">;

/** The properties of a file that are not in the tags of a page. */
interface TiffFileFacts extends TiffFormat {
  /** The length of the file in bytes, if it is known. */
  readonly size: number | undefined;
  /** The offsets of the directories. */
  readonly starts: readonly number[];
}

/**
 * The dimensions of a page and of its tiles or strips. Strips without compression are
 * divided so that their heights divide that of the last one.
 *
 * @throws {PageProblem} If the page has no such dimensions.
 */
function pageShapeOf(tags: PageTags): PageShape {
  const [width, height] = [tags.number("width", 0), tags.number("height", 0)];
  const bands = tags.number("samplesPerPixel", 1);
  const rowBands = isPlanar(tags) ? 1 : bands;
  const [tileWidth, tileHeight] = isTiled(tags)
    ? [tags.number("tileWidth", 0), tags.number("tileHeight", 0)]
    : [width, stripHeight(tags, height, width * rowBands)];
  const lengths = { width, height, bands, tileWidth, tileHeight };
  for (const [name, length] of Object.entries(lengths)) {
    if (Number.isSafeInteger(length) && length > 0) continue;
    throw new PageDamage(`it has a ${name} of ${length}, expected 1 or more`);
  }
  if (tags.number("imageDepth", 1) > 1 || tags.number("tileDepth", 1) > 1) {
    throw new PageProblem(
      "it has tiles of several planes (tag TileDepth): write one page for each plane",
    );
  }
  const listOf = <T>(y: T, x: T, band: T): T[] =>
    bands === 1 ? [y, x] : isPlanar(tags) ? [band, y, x] : [y, x, band];
  return {
    axes: listOf<TiffAxis>("y", "x", "band"),
    shape: listOf(height, width, bands),
    tileShape: listOf(tileHeight!, tileWidth!, rowBands),
  };
}

/**
 * Finds the places of the tiles of a page.
 *
 * @param bits The number of bits of an element. Rows end with a byte.
 * @throws {PageProblem} If their number or their lengths are wrong.
 */
function pageTilesOf(
  tags: PageTags,
  { axes, shape, tileShape }: PageShape,
  bits: number,
  file: TiffFileFacts,
): ShardIndex {
  const count = tileShape.reduce(
    (product, length, i) => product * Math.ceil(shape[i]! / length),
    1,
  );
  if (count > MOST_TILES) {
    throw new PageProblem(
      `it has ${count} tiles of ${tileShape}, where ${MOST_TILES} are the most: ${CONVERT} -co BLOCKXSIZE=512 -co BLOCKYSIZE=512`,
    );
  }
  const x = axes.indexOf("x");
  const rowElements = tileShape.slice(x).reduce((product, n) => product * n, 1);
  const rows = tileShape[axes.indexOf("y")]!;
  const tileSize = rows * Math.ceil(rowElements * bits / 8);
  if (Math.max(tileSize, rows * rowElements * bits / 8) > LARGEST_TILE) {
    throw new PageProblem(
      `it has tiles or strips of ${tileSize} bytes, where ${LARGEST_TILE} are the most: ${CONVERT}`,
    );
  }
  const { isNone } = compressionOf(tags);
  if (!isNone || isTiled(tags)) {
    const size = isNone ? tileSize : undefined;
    return extentsOf(tags, count, () => size, file);
  }
  const height = tags.number("height", 0);
  const perStrip = Math.min(tags.number("rowsPerStrip", height), height);
  const strips = Math.ceil(height / perStrip);
  const planes = axes[0] === "band" ? shape[0]! : 1;
  const rowSize = tileSize / rows;
  const rowsOf = (strip: number) =>
    Math.min(perStrip, height - strip % strips * perStrip);
  return dividedRows(
    extentsOf(tags, strips * planes, (i) => rowsOf(i) * rowSize, file),
    { height, perTile: perStrip, count: rows, size: rowSize },
  );
}

/**
 * Divides tiles of rows without compression into tiles of other numbers of rows.
 *
 * @param tiles Those of one or several planes.
 * @param rows The number of rows of a plane, of a tile before and after, and the bytes of a row.
 */
export function dividedRows(
  tiles: ShardIndex,
  { height, perTile, count, size }: {
    readonly height: number;
    readonly perTile: number;
    readonly count: number;
    readonly size: number;
  },
): ShardIndex {
  const [before, after] = [perTile, count].map((n) => Math.ceil(height / n));
  const planes = tiles.length / before!;
  return Array.from({ length: planes * after! }, (_, i) => {
    const row = i % after! * count;
    const plane = Math.floor(i / after!);
    const tile = tiles[plane * before! + Math.floor(row / perTile)];
    return tile && {
      offset: tile.offset + row % perTile * size,
      length: count * size,
    };
  });
}

/** Whether a page has tiles. Some programs write the places of strips into the tags of tiles, or the other way round. */
function isTiled(tags: PageTags): boolean {
  return tags.list("tileWidth") !== undefined ||
    tags.list("tileHeight") !== undefined;
}

function isPlanar(tags: PageTags): boolean {
  return tags.number("planarConfiguration", 1) === 2;
}

/**
 * The number of rows of an inner chunk of strips.
 *
 * @param rowElements The number of elements in a row.
 */
function stripHeight(
  tags: PageTags,
  height: number,
  rowElements: number,
): number {
  const rows = Math.min(tags.number("rowsPerStrip", height), height);
  if (!compressionOf(tags).isNone || !(rows > 0)) return rows;
  const last = height % rows;
  const common = last > 0 ? greatestDivisor(rows, last) : rows;
  const rowSize = Math.ceil(rowElements * tags.number("bitsPerSample", 1) / 8);
  const fewest = Math.ceil(common * rowSize / LARGEST_TILE);
  for (let count = fewest; count < fewest + PIECES_TRIED; count++) {
    if (common % count === 0) return common / count;
  }
  return common; // Which is refused with the tiles.
}

/**
 * The extents of tiles or strips as the directory has them.
 *
 * @param sizeOf The number of bytes of each one, if it is not compressed.
 */
function extentsOf(
  tags: PageTags,
  count: number,
  sizeOf: (place: number) => number | undefined,
  file: TiffFileFacts,
): ShardIndex {
  const [kind, other] = isTiled(tags)
    ? ["tile", "strip"] as const
    : ["strip", "tile"] as const;
  const listed = tags.list(`${kind}Offsets`) ?? tags.list(`${other}Offsets`) ??
    [];
  const sizes = tags.list(`${kind}ByteCounts`) ??
    tags.list(`${other}ByteCounts`);
  // As other programs do, ignores offsets and lengths beyond the number of tiles.
  const isTrimmed = listed.length > count &&
    (sizes === undefined || sizes.length === listed.length);
  const offsets = isTrimmed ? listed.slice(0, count) : listed;
  const stored = isTrimmed ? sizes?.slice(0, count) : sizes;
  const isLsm = tags.list("lsmInfo") !== undefined;
  if (isLsm && !file.isBig && (file.size ?? 0) > 2 ** 32) {
    throw new PageProblem(
      "it is in a file of Zeiss of more than 4 GiB, whose offsets are too short: write it as OME-TIFF",
    );
  }
  // Zeiss stores the lengths before compression.
  const isUseless = stored === undefined || isLsm && sizeOf(0) === undefined ||
    kind === "strip" && count === 1 && stored[0] === 0 && offsets[0] !== 0;
  const lengths = isUseless && offsets.length === count
    ? estimatedLengths(tags, kind, offsets, sizeOf, file)
    : stored ?? [];
  if (offsets.length !== count || lengths.length !== count) {
    throw new PageDamage(
      `it has ${count} ${kind}s, and a directory with the offsets of ${offsets.length} and the lengths of ${lengths.length}`,
    );
  }
  return offsets.map((offset, i) => {
    const [length, size] = [lengths[i]!, sizeOf(i)];
    if (offset === 0 && length === 0) return undefined;
    if (![offset, length].every((n) => Number.isSafeInteger(n) && n >= 0)) {
      throw new PageDamage(
        `its ${kind} ${i} has ${length} bytes at the offset ${offset}, expected whole numbers`,
      );
    }
    if (offset === 0 || length === 0) {
      throw new PageDamage(
        `its ${kind} ${i} has ${length} bytes at the offset ${offset}, where both are 0 for a ${kind} that is left out`,
      );
    }
    // As other programs do, ignores the length of a single strip if it is too short.
    const isOnly = count === 1 && kind === "strip" &&
      offset + size! <= file.size!;
    if (size === undefined || length >= size || isOnly) {
      return { offset, length: size ?? length };
    }
    throw new PageDamage(
      `its ${kind} ${i} has ${length} bytes, where its elements take ${size}`,
    );
  });
}

/**
 * The lengths of tiles or strips of which the directory has none: those of their
 * elements, or else up to the next tile, directory, or the end of the file.
 */
function estimatedLengths(
  tags: PageTags,
  kind: "tile" | "strip",
  offsets: readonly number[],
  sizeOf: (place: number) => number | undefined,
  { size, starts }: TiffFileFacts,
): number[] {
  const all = [...offsets, ...starts, ...size === undefined ? [] : [size]]
    .sort((a, b) => a - b);
  const next = new Map(all.map((start, i) => [start, all[i + 1]]));
  const { isEnded } = compressionOf(tags);
  return offsets.map((offset, i) => {
    const end = isEnded ? next.get(offset) : undefined;
    const length = sizeOf(i) ?? (end === undefined ? undefined : end - offset);
    if (length !== undefined && offset !== 0) return length;
    const tag = kind === "tile" ? "TileByteCounts" : "StripByteCounts";
    throw new PageProblem(
      `it has no lengths of its ${kind}s (${tag}), which its compression needs: ${CONVERT}`,
    );
  });
}

/** The greatest number that divides two whole numbers from 0. */
export function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b);
}

/** The header of NIH Image: its length, and the place of the number of planes, in numbers of 16 bits. */
const [NIH_LENGTH, NIH_PLANES] = [256, 130];

/**
 * Gives the planes of a stack that has one directory for all of them: the planes lie one
 * after another. Such are the stacks of MetaMorph and NIH Image, large stacks of ImageJ,
 * and those of tifffile with `truncate`. Other pages are given as they are.
 *
 * @param pages All pages of a file.
 * @param directories Their directories.
 * @param fileSize The length of the file in bytes, if it is known.
 */
function withPlanes(
  pages: readonly TiffPage[],
  directories: readonly Directory[],
  fileSize = Infinity,
): readonly TiffPage[] {
  const [page, ...others] = pages;
  if (page === undefined || page.problem !== undefined) return pages;
  const counted = directories[0]!.planes;
  if (others.length > 0 && counted === undefined) return pages;
  const count = counted ?? planesOf(page, new PageTags(directories[0]!.values));
  if (!(count > 1)) return pages;
  const size = contiguousSize(page);
  const isKnown = size !== undefined && Number.isInteger(count) &&
    others.length === 0;
  if (!isKnown || count * page.tiles.length > MOST_TILES) {
    const problem =
      `it counts ${count} planes, of which its directory has one, and the others cannot be found: write a directory for each plane`;
    return [{ ...page, problem }, ...others];
  }
  // Of planes beyond the end of the file, one shows the damage.
  const end = fileSize - page.tiles[0]!.offset;
  const present = Math.min(count, Math.max(Math.floor(end / size), 0) + 1);
  return Array.from({ length: present }, (_, i) => ({
    ...page,
    tiles: page.tiles.map((tile) =>
      tile && { offset: tile.offset + i * size, length: tile.length }
    ),
  }));
}

/** The number of planes that the description of a page names, or the header of NIH Image. */
function planesOf(
  { description = "", shape }: TiffPage,
  tags: PageTags,
): number {
  const header = tags.list("nihImageHeader");
  if (header?.length === NIH_LENGTH) return header[NIH_PLANES]!;
  const [, images] = /^ImageJ=[^\n]*\n(?:.*\n)*?images=(\d+)/.exec(
    description,
  ) ?? [];
  if (images !== undefined) return Number(images);
  if (!description.startsWith("{")) return 1;
  try {
    const { truncated, shape: whole } = JSON.parse(description);
    if (truncated !== true || !Array.isArray(whole)) return 1;
    const elements = shape.reduce((product, n) => product * n, 1);
    return whole.reduce((product: number, n) => product * Number(n), 1) /
      elements;
  } catch {
    return 1;
  }
}

/** The number of bytes of a page whose tiles lie one after another without compression; else `undefined`. */
function contiguousSize(
  { tiles, codecs, shape, tileShape, axes }: TiffPage,
): number | undefined {
  const x = axes.indexOf("x");
  const isPlain = codecs?.length === 1 && tileShape[x] === shape[x] &&
    codecs[0]!.name !== "imagecodecs_jpeg";
  const isContiguous = tiles.every((tile, i) => {
    const before = tiles[i - 1];
    return tile !== undefined &&
      (i === 0 || before !== undefined &&
          before.offset + before.length === tile.offset);
  });
  return isPlain && isContiguous
    ? tiles.reduce((sum, tile) => sum + tile!.length, 0)
    : undefined;
}
