import { DamageError, describe } from "../../errors/mod.ts";
import type { NamedConfiguration } from "../../metadata/mod.ts";
import type { ShardIndex } from "../../shards/mod.ts";
import {
  readRange,
  readSize,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../../stores/mod.ts";
import { describeTiff } from "./describe_tiff.ts";
import { greatestDivisor } from "./page_tiles.ts";
import type { TiffDescription, TiffPage, TiffPlace } from "./tiff_page.ts";

/** The elements of a file as a shard: those of one page, or of pages of one kind along a first dimension. */
export interface TiffShard {
  readonly dimensionNames: readonly string[];
  readonly shape: readonly number[];
  readonly tileShape: readonly number[];
  readonly dataType: string;
  readonly fillValue: number | bigint;
  readonly codecs: readonly NamedConfiguration[];
  readonly tiles: ShardIndex;
}

/** Which pages of a file are adopted. */
interface PageSelection {
  /** The place of a page. By default, all pages that are pictures. */
  readonly page?: number | undefined;
  /** The overview of the page: 0 for the page itself, 1 for the largest smaller version, and so on. */
  readonly overview?: number | undefined;
}

/** What a page is a picture of. */
export interface TiffPicture {
  /** The lengths of the page itself, of which there may be overviews. */
  readonly height: number;
  readonly width: number;
  /** The place on the earth, if all selected pages that tell one agree. */
  readonly place: TiffPlace | undefined;
}

/** A file whose directories were read. */
interface ReadTiff {
  /** The number of overviews that each selected page has. */
  readonly overviews: number;
  /** The selected page, or the first one of several. */
  readonly picture: TiffPicture;
  /** Makes a shard of pages. */
  shardOf(selection: PageSelection): TiffShard;
}

/**
 * Reads the directories of a file.
 *
 * @throws {DamageError} If the file is not a TIFF, or its directories are damaged.
 */
export async function readTiff(
  store: Store,
  { key, size }: { readonly key: StoreKey; readonly size: number },
  { page }: PageSelection,
  storeOptions: StoreOptions,
): Promise<ReadTiff> {
  const description = await describeTiff(
    (range) => readRange(store, key, range, storeOptions),
    { key, size, page },
  );
  const name = `File ${describe(key)}`;
  const pages = selectPages(description, { page }, name);
  return {
    overviews: pages.reduce(
      (least, picture) =>
        Math.min(least, overviewsOf(description.pages, picture).length),
      Infinity,
    ),
    picture: pictureOf(pages),
    shardOf: (selection) =>
      shardOf(selectPages(description, selection, name), name, key),
  };
}

function pictureOf(pages: readonly TiffPage[]): TiffPicture {
  const [{ axes, shape }] = pages as [TiffPage];
  const [height = 0, width = 0] = (["y", "x"] as const)
    .map((axis) => shape[axes.indexOf(axis)] ?? 0);
  const places = new Map(
    pages.flatMap(({ place }) =>
      place === undefined ? [] : [[JSON.stringify(place), place] as const]
    ),
  );
  const [place] = places.size === 1 ? places.values() : [];
  return { height, width, place };
}

/** Reads the pages of a file that are adopted. */
export async function readShard(
  store: Store,
  file: { readonly key: StoreKey; readonly size: number },
  selection: PageSelection,
  storeOptions: StoreOptions,
): Promise<TiffShard> {
  const tiff = await readTiff(store, file, selection, storeOptions);
  return tiff.shardOf(selection);
}

/** The number of dimensions of the array that the pages of a file make. */
export async function rankOfTiff(
  store: Store,
  key: StoreKey,
  selection: PageSelection,
): Promise<number> {
  const size = await readSize(store, key);
  if (size === undefined) return 0;
  return (await readShard(store, { key, size }, selection, {})).shape.length;
}

/** The number of bits of an encoded selection that hold the page. */
const PAGE_BITS = 22;
/** The greatest page and the greatest overview that {@linkcode encodeSelection} can encode. */
export const MOST_PAGES = 2 ** PAGE_BITS - 2;
export const MOST_OVERVIEWS = 2 ** (32 - PAGE_BITS) - 1;

/** Encodes a selection as a number below 2^32, for the record of a file. */
export function encodeSelection(
  { page = -1, overview = 0 }: PageSelection,
): number {
  return page + 1 + overview * 2 ** PAGE_BITS;
}

/** Decodes the number of {@linkcode encodeSelection}. */
export function decodeSelection(contents: number): PageSelection {
  const page = contents % 2 ** PAGE_BITS - 1;
  const overview = Math.floor(contents / 2 ** PAGE_BITS);
  return { ...page >= 0 && { page }, overview };
}

/**
 * Selects pages of a file.
 *
 * @param name The file, for messages.
 * @throws {RangeError} If the file does not have them.
 */
function selectPages(
  { pages }: TiffDescription,
  { page, overview = 0 }: PageSelection,
  name: string,
): TiffPage[] {
  const selected = page === undefined ? picturesOf(pages) : [pages[page]];
  if (selected.length === 0 || selected[0] === undefined) {
    throw new RangeError(
      page === undefined
        ? `${name} has no page that is a picture of its own, among ${pages.length}: choose one by the option "page"`
        : `${name} has no page ${page}, since it has ${pages.length}`,
    );
  }
  return (selected as TiffPage[]).map((picture) => {
    if (overview === 0) return picture;
    const overviews = overviewsOf(pages, picture);
    const found = overviews[overview - 1];
    if (found !== undefined) return found;
    throw new RangeError(
      `${name} has no overview ${overview} of page ${
        pages.indexOf(picture)
      }, since it has ${overviews.length}`,
    );
  });
}

/** The pages that are pictures: those of the chain, or if there are none, those of sub-directories, or a single page of any kind. */
function picturesOf(pages: readonly TiffPage[]): TiffPage[] {
  const pictures = pages.filter(({ kind }) => kind === "image");
  const inChain = pictures.filter(({ parent }) => parent === undefined);
  if (inChain.length > 0) return inChain;
  return pictures.length > 0 || pages.length > 1 ? pictures : [...pages];
}

/** The smaller versions of a page, the largest first: among its sub-directories, and after it in the chain. */
function overviewsOf(
  pages: readonly TiffPage[],
  picture: TiffPage,
): TiffPage[] {
  const place = pages.indexOf(picture);
  const next = pages.findIndex(({ kind, parent }, i) =>
    i > place && kind === "image" && parent === undefined
  );
  return pages
    .filter(({ kind, parent }, i) =>
      parent === place && kind !== "mask" ||
      parent === undefined && kind === "overview" && i > place &&
        (next < 0 || i < next)
    )
    .toSorted((a, b) => areaOf(b) - areaOf(a));
}

function areaOf({ shape }: TiffPage): number {
  return shape.reduce((product, length) => product * length, 1);
}

/**
 * Makes a shard of pages.
 *
 * @param name The file, for messages.
 * @param key The key of the file.
 * @throws {DamageError} If the tags of a page are damaged.
 * @throws {RangeError} If a page cannot be in an array, or the pages differ.
 */
function shardOf(
  pages: readonly TiffPage[],
  name: string,
  key: string,
): TiffShard {
  const shards = pages.map((page): TiffShard => {
    const { problem, isDamaged, axes, dataType, codecs } = page;
    if (isDamaged) {
      throw new DamageError(`${name} is damaged: ${problem}`, { key });
    }
    if (
      problem !== undefined || dataType === undefined || codecs === undefined
    ) {
      throw new RangeError(`${name} cannot be part of an array: ${problem}`);
    }
    return { ...page, dimensionNames: axes, dataType, codecs };
  });
  const [first, ...others] = shards;
  if (others.length === 0) return first!;
  for (const [i, other] of others.entries()) {
    const difference = differenceOf(first!, other) ??
      (isSame(first!.shape, other.shape)
        ? undefined
        : differs("shapes", first!.shape, other.shape));
    if (difference === undefined) continue;
    throw new RangeError(
      `${name} has ${shards.length} pictures, of which 0 and ${
        i + 1
      } have ${difference}: choose a page by the option "page"`,
    );
  }
  return {
    ...first!,
    dimensionNames: ["page", ...first!.dimensionNames],
    shape: [shards.length, ...first!.shape],
    tileShape: [1, ...first!.tileShape],
    tiles: shards.flatMap(({ tiles }) => tiles),
  };
}

/** Gives a shard a first dimension of one element. */
export function stacked(shard: TiffShard): TiffShard {
  return {
    ...shard,
    dimensionNames: ["stack", ...shard.dimensionNames],
    shape: [1, ...shard.shape],
    tileShape: [1, ...shard.tileShape],
  };
}

/** Moves the last number of a list, that of bands, to the place before `y`. */
export function withBandsFirst<T>(list: readonly T[], y: number): T[] {
  return [...list.slice(0, y), list.at(-1)!, ...list.slice(y, -1)];
}

/**
 * Puts the bands of a shard before its rows, by the codec `transpose`. A shard without
 * bands after its columns stays as it is.
 *
 * @returns `undefined` if the last chunk of a column may lack rows, which can only be
 * filled up where rows come first.
 */
export function bandsFirst(shard: TiffShard): TiffShard | undefined {
  const { dimensionNames, shape, tileShape, codecs } = shard;
  if (dimensionNames.at(-1) !== "band") return shard;
  const y = dimensionNames.indexOf("y");
  const isWhole = shape[y]! % tileShape[y]! === 0 ||
    tileShape[y + 1] !== shape[y + 1];
  if (!isWhole) return undefined;
  const order = dimensionNames.map((_, i) => i);
  order.splice(y, 3, y + 1, y + 2, y);
  return {
    ...shard,
    dimensionNames: withBandsFirst(dimensionNames, y),
    shape: withBandsFirst(shape, y),
    tileShape: withBandsFirst(tileShape, y),
    codecs: [{ name: "transpose", configuration: { order } }, ...codecs],
  };
}

/**
 * Says in what two shards differ so that they cannot be in one array, such as `different
 * data types, "uint8" and "int8"`; `undefined` if they can be. Their shapes may differ.
 */
export function differenceOf(a: TiffShard, b: TiffShard): string | undefined {
  if (!isSame(a.dimensionNames, b.dimensionNames)) {
    return differs("dimensions", a.dimensionNames, b.dimensionNames);
  }
  if (a.dataType !== b.dataType) {
    return differs("data types", a.dataType, b.dataType);
  }
  if (!isSame(a.tileShape, b.tileShape)) {
    return differs("shapes of tiles", a.tileShape, b.tileShape);
  }
  if (JSON.stringify(a.codecs) !== JSON.stringify(b.codecs)) {
    const [one, other] = [namesOf(a), namesOf(b)];
    return isSame(one, other)
      ? "different tables (JPEGTables) for their tiles"
      : differs("codecs", one, other);
  }
  return Object.is(a.fillValue, b.fillValue)
    ? undefined
    : differs("fill values (GDAL_NODATA)", a.fillValue, b.fillValue);
}

/** The names of the codecs, with the configuration of each except its tables. */
function namesOf({ codecs }: TiffShard): string[] {
  return codecs.map(({ name, configuration = {} }) => {
    const { tables: _, ...others } = configuration;
    const hasOthers = Object.keys(others).length > 0;
    return hasOthers ? `${name} ${JSON.stringify(others)}` : name;
  });
}

function differs(what: string, a: unknown, b: unknown): string {
  return `different ${what}, ${describe(a)} and ${describe(b)}`;
}

function isSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((value, i) => value === b[i]);
}

/** The codecs that store rows of elements one after another. */
const UNCOMPRESSED = ["bytes", "imagecodecs_packints"];

/**
 * The greatest number of rows that tiles of all shards can have; `undefined` unless all
 * tiles are whole rows of elements without compression.
 */
export function commonRows(shards: readonly TiffShard[]): number | undefined {
  const rows = shards.map(({ dimensionNames, tileShape, shape, codecs }) => {
    const [y, x] = ["y", "x"].map((name) => dimensionNames.indexOf(name));
    const isRows = tileShape[x!] === shape[x!] &&
      codecs.every(({ name }) => UNCOMPRESSED.includes(name));
    return isRows ? tileShape[y!]! : undefined;
  });
  return rows.reduce((common, own) =>
    common === undefined || own === undefined
      ? undefined
      : greatestDivisor(common, own)
  );
}

/** Divides tiles of whole rows without compression into tiles of fewer rows. */
export function withRows(shard: TiffShard, rows: number): TiffShard {
  const { dimensionNames, tileShape, tiles } = shard;
  const y = dimensionNames.indexOf("y");
  const count = tileShape[y]! / rows;
  return {
    ...shard,
    tileShape: tileShape.with(y, rows),
    tiles: tiles.flatMap((tile) =>
      Array.from({ length: count }, (_, i) =>
        tile && {
          offset: tile.offset + i * tile.length / count,
          length: tile.length / count,
        })
    ),
  };
}
