import { findJpegHeader, readJpegTables } from "../codecs/mod.ts";
import { DamageError, describe, sentence } from "../errors/mod.ts";
import { decodeBase64, isSameList } from "../runtime/mod.ts";
import {
  backendOf,
  describeStore,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";
import { readPages, type TiffPage, type TiffPlace } from "./describe_tiff.ts";
import { hasSeries, readSeries, type TiffSeries } from "./ome_axes.ts";
import { seriesShardOf, shardOf, type TiffShard } from "./tiff_shard.ts";
import { CONVERT, PageDamage, PageProblem } from "./tiff_tags.ts";

/** The pages of a file that are adopted. */
interface PageSelection {
  /** The number of a page, from 0. By default, all pages that are pictures. */
  readonly page?: number | undefined;
  /** The number, from 0, of an image whose pages make several dimensions. By default, pages make one. */
  readonly series?: number | undefined;
  /** The overview of the page: 0 for the page itself, 1 for the largest smaller version, and so on. */
  readonly overview?: number | undefined;
}

/** The pages of a TIFF that are adopted, and how. */
export interface TiffSelection extends PageSelection {
  /** Whether all overviews are read, beside the page itself, and a series is selected by default. */
  readonly isPyramid?: boolean;
  /** The fill value in place of that of the file. */
  readonly fillValue?: number | bigint | undefined;
}

/** The picture of a page: its size and its place on the earth. */
export interface TiffPicture {
  /** The lengths of the page itself, of which there may be overviews. */
  readonly height: number;
  readonly width: number;
  /** The place on the earth, if all selected pages that have one agree. */
  readonly place: TiffPlace | undefined;
  /** The selected pages. */
  readonly pages: readonly TiffPage[];
}

/** A file whose directories were read. */
export interface TiffFileShards {
  /** The length of the file in bytes. */
  readonly size: number;
  /** The elements of each level that is adopted, the largest first, with the number of its selection for the record of the file. */
  readonly levels: readonly {
    readonly shard: TiffShard;
    readonly contents: number;
  }[];
  /** The note on overviews that are left out, with the reason. */
  readonly notes: readonly string[];
  /** Notes on pages that are left out, since they are damaged. */
  readonly damages: readonly string[];
  /** The number of overviews that each selected page has. */
  readonly overviews: number;
  /** The selected page, or the first one of several. */
  readonly picture: TiffPicture;
  /** The series that is selected. */
  readonly series: TiffSeries | undefined;
  /** Whether there is a series, but none is selected. */
  readonly hasSeries: boolean;
}

/**
 * Reads the directories of a file, and makes shards of its pages.
 *
 * @throws {DamageError} If the file is not a TIFF, is truncated, or its directories are damaged.
 * @throws {RangeError} If the file does not have the selected pages, or they cannot be in an
 * array.
 */
export async function readTiff(
  store: Store,
  key: StoreKey,
  selection: TiffSelection,
  options: StoreOptions,
): Promise<TiffFileShards> {
  const { page, overview = 0, isPyramid = false, fillValue } = selection;
  const file = sentence`File ${key}`;
  const size = await backendOf(store).size(key, options);
  if (size === undefined) {
    throw new Error(`There is no ${file} in ${describeStore(store)}`);
  }
  const { pages, damage } = await readPages(
    (range) => backendOf(store).getRange(key, range, options),
    { key, size },
  );
  const { place, series, ...chosen } = await ofFile(
    key,
    () => selectPages(pages, selection),
  ).catch((error) => {
    // The pages may be among those that cannot be found.
    throw error instanceof RangeError ? damage ?? error : error;
  });
  let { selected } = chosen;
  const damages: string[] = [];
  if (series === undefined && page === undefined) {
    const damaged = selected.filter(({ isDamaged }) => isDamaged);
    if (damaged.length > 0 && damaged[0] !== selected[0]) {
      const numbers = damaged.map((page) => pages.indexOf(page)).join(", ");
      const { problem } = damaged[0]!;
      damages.push(
        `${file} is adopted without its damaged pages ${numbers}: ${problem}`,
      );
      selected = selected.filter(({ isDamaged }) => !isDamaged);
    }
    if (damage !== undefined) {
      const { message } = damage.cause as Error;
      damages.push(
        `${file} is adopted without its pages after the first ${pages.length}: ${message}`,
      );
    }
  }
  const ofPages = overviewsOf(pages);
  const overviews = selected.reduce(
    (least, page) => Math.min(least, ofPages(page).length),
    MOST_OVERVIEWS,
  );
  const readLevel = async (number: number): Promise<TiffShard> => {
    const shown = selected.map((page) => {
      const all = [page, ...ofPages(page)];
      if (number < all.length) return all[number]!;
      const [place, most] = [pages.indexOf(page), all.length - 1];
      throw new PageProblem(
        `has no overview ${number} of page ${place}, since it has ${most}`,
      );
    });
    const shard = series === undefined
      ? shardOf(shown)
      : seriesShardOf(shown, series);
    assertTiles(shard, size);
    await assertJpeg(store, key, shard, options);
    if (levels.length > 0) assertLike(levels[0]!.shard, shard, number);
    return withFillValue(shard, fillValue);
  };
  const levels: { shard: TiffShard; contents: number }[] = [];
  const notes: string[] = [];
  const [first, last] = isPyramid ? [0, overviews] : [overview, overview];
  for (let number = first; number <= last; number++) {
    try {
      const shard = await ofFile(key, () => readLevel(number));
      const level = { page, series: place, overview: number };
      levels.push({ shard, contents: encodeSelection(level) });
    } catch (error) {
      // The page itself is worth having without its smallest versions.
      if (levels.length === 0 || !(error instanceof RangeError)) throw error;
      notes.push(leftOut(number, error));
      break;
    }
  }
  return {
    size,
    levels,
    notes,
    damages,
    overviews,
    picture: pictureOf(selected),
    series,
    hasSeries: series === undefined && selected.length > 1 && hasSeries(pages),
  };
}

/** Runs a task on a file, which the errors about problems then name. */
async function ofFile<T>(
  key: StoreKey,
  task: () => T | Promise<T>,
): Promise<T> {
  try {
    return await task();
  } catch (cause) {
    if (!(cause instanceof PageProblem)) throw cause;
    const message = `${sentence`File ${key}`} ${cause.message}`;
    throw cause instanceof PageDamage
      ? new DamageError(message, { key })
      : new RangeError(message);
  }
}

/** A note about the levels of a pyramid that are left out. */
export function leftOut(level: number, { message }: RangeError): string {
  return `The levels from ${level} on are left out: ${message}`;
}

/** Refuses an overview that is not a smaller version of its page. */
function assertLike(
  page: TiffShard,
  overview: TiffShard,
  number: number,
): void {
  const [expected, found] = [page, overview].map((shard) =>
    describe([...shard.dimensionNames, shard.dataType])
  );
  if (expected === found) return;
  throw new PageProblem(
    `has an overview ${number} with the dimensions and data type ${found}, where the page itself has ${expected}`,
  );
}

/** Refuses a file that is cut short. */
function assertTiles(
  { tiles, dimensionNames }: TiffShard,
  size: number,
): void {
  const end = tiles.reduce(
    (most, tile) => tile ? Math.max(most, tile.offset + tile.length) : most,
    0,
  );
  if (end <= size) return;
  const advice = dimensionNames[0] === "page"
    ? ', or choose a page that it has, by the option "page"'
    : "";
  throw new PageDamage(
    `is ${size} bytes long, where its tiles end at ${end}: it is truncated, so get it again${advice}`,
  );
}

/** Sets the fill value of a shard to that of the option. */
function withFillValue(
  shard: TiffShard,
  fillValue: number | bigint | undefined,
): TiffShard {
  if (fillValue === undefined) return shard;
  const isSparse = shard.tiles.includes(undefined);
  if (isSparse && !Object.is(fillValue, shard.fillValue)) {
    throw new PageProblem(
      `leaves out tiles whose elements are ${shard.fillValue}, which the fill value ${fillValue} would change: leave out the option "fillValue"`,
    );
  }
  return { ...shard, fillValue };
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
  return { height, width, place, pages };
}

/** The number of bits of an encoded selection that hold the page, or the series. */
const PAGE_BITS = 22;
/** The bit by which the other bits are the number of a series. */
const SERIES_BIT = 2 ** (PAGE_BITS - 1);
/** The greatest page, series and overview that {@linkcode encodeSelection} can encode. */
export const MOST_PAGES = SERIES_BIT - 2;
export const MOST_SERIES = SERIES_BIT - 1;
export const MOST_OVERVIEWS = 2 ** (32 - PAGE_BITS) - 1;

/** Encodes a selection as a number below 2^32, for the record of a file. */
function encodeSelection(
  { page = -1, series, overview = 0 }: PageSelection,
): number {
  const pages = series === undefined ? page + 1 : SERIES_BIT + series;
  return pages + overview * 2 ** PAGE_BITS;
}

/** Decodes the number of {@linkcode encodeSelection}. */
export function decodeSelection(contents: number): PageSelection {
  const pages = contents % 2 ** PAGE_BITS;
  const overview = Math.floor(contents / 2 ** PAGE_BITS);
  if (pages >= SERIES_BIT) return { series: pages - SERIES_BIT, overview };
  return { ...pages > 0 && { page: pages - 1 }, overview };
}

/** Pages of a file, and the series that they make, with its number. */
interface SelectedPages {
  readonly selected: readonly TiffPage[];
  readonly place?: number;
  readonly series?: TiffSeries;
}

/**
 * Selects a page of a file, the pages of a series, or all that are pictures.
 *
 * @throws {PageProblem} If the file does not have them.
 */
async function selectPages(
  pages: readonly TiffPage[],
  { page, series, isPyramid }: TiffSelection,
): Promise<SelectedPages> {
  if (page === undefined && (series !== undefined || isPyramid)) {
    const found = await readSeries(pages, series);
    if (found !== undefined) {
      return {
        ...found,
        selected: found.series.pages.map((place) => pages[place]!),
      };
    }
  }
  const selected = page === undefined
    ? picturesOf(pages)
    : pages.slice(page, page + 1);
  if (selected.length > 0) return { selected };
  throw new PageProblem(
    page === undefined
      ? `has no page that is a picture of its own, among ${pages.length}: choose one by the option "page"`
      : `has no page ${page}, since it has ${pages.length}`,
  );
}

/** The pages that are pictures: those of the chain, or if there are none, those of sub-directories, or a single page of any kind. */
function picturesOf(pages: readonly TiffPage[]): TiffPage[] {
  const pictures = pages.filter(({ kind }) => kind === "image");
  const inChain = pictures.filter(({ parent }) => parent === undefined);
  if (inChain.length > 0) return inChain;
  return pictures.length > 0 || pages.length > 1 ? pictures : [...pages];
}

/**
 * Returns a function that gives the smaller versions of a page, the largest first: those among
 * its sub-directories, and those that follow it in the chain. Several pictures one after
 * another have overviews after all of them if there is one of each for a size.
 */
function overviewsOf(
  pages: readonly TiffPage[],
): (page: TiffPage) => TiffPage[] {
  const found = new Map(pages.map((page) => [page, [] as TiffPage[]]));
  // Pictures of one shape that follow each other, and the overviews up to the next picture.
  const runs: { pictures: TiffPage[]; overviews: TiffPage[] }[] = [];
  for (const [i, page] of pages.entries()) {
    const { kind, parent, shape } = page;
    const run = runs.at(-1);
    if (parent !== undefined) {
      if (kind !== "mask") found.get(pages[parent]!)!.push(page);
    } else if (kind === "overview") run?.overviews.push(page);
    else if (kind === "image") {
      const last = run?.pictures.at(-1);
      const isNext = last !== undefined && pages[i - 1] === last &&
        isSameList(last.shape, shape);
      if (isNext) run!.pictures.push(page);
      else runs.push({ pictures: [page], overviews: [] });
    }
  }
  for (const { pictures, overviews } of runs) {
    const bySize = new Map<string, TiffPage[]>();
    for (const page of overviews) {
      const size = bySize.get(`${page.shape}`) ?? [];
      bySize.set(`${page.shape}`, size);
      size.push(page);
    }
    const count = pictures.length;
    for (const size of bySize.values()) {
      if (count > 1 && size.length !== count) continue;
      size.forEach((page, i) => found.get(pictures[i % count]!)!.push(page));
    }
  }
  const areaOf = ({ shape }: TiffPage) =>
    shape.reduce((product, length) => product * length, 1);
  return (page) => found.get(page)!.toSorted((a, b) => areaOf(b) - areaOf(a));
}

/** The number of bytes of a tile that are read, in which the header usually ends. */
const HEAD = 4096;

/**
 * Refuses a file whose tiles are JPEG of a kind that is not decoded. The kind is in no tag,
 * but in the header of the first tile and in the tables that all tiles share.
 *
 * @param key The key of the file.
 * @throws {PageProblem} If the first tile is of another kind or another shape, or the tables
 * are damaged.
 */
async function assertJpeg(
  store: Store,
  key: StoreKey,
  { codecs, tiles, tileShape, dimensionNames }: TiffShard,
  options: StoreOptions,
): Promise<void> {
  const jpeg = codecs.find(({ name }) => name === "imagecodecs_jpeg");
  if (jpeg === undefined) return;
  const { tables } = jpeg.configuration ?? {};
  try {
    if (typeof tables === "string") readJpegTables(decodeBase64(tables));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new PageDamage(
      `has damaged tables (JPEGTables): ${error.message}`,
    );
  }
  const tile = tiles.find((tile) => tile !== undefined);
  if (tile === undefined) return;
  const length = Math.min(tile.length, HEAD);
  const range = { offset: tile.offset, length };
  const head = await backendOf(store).getRange(key, range, options);
  // Damage of a tile, and a header that is not in these bytes, are found by reading the tile.
  const header = findJpegHeader(head ?? new Uint8Array());
  if (header === undefined) return;
  const lengthOf = (name: string) => {
    const axis = dimensionNames.indexOf(name);
    return axis < 0 ? 1 : tileShape[axis]!;
  };
  // A series has the bands of a pixel as channels.
  const [width, bands] = [lengthOf("x"), lengthOf("band") * lengthOf("c")];
  const [, columns, samples] = header.shape;
  const isFitting = columns <= width && samples === bands;
  const problem = header.refusal ??
    (isFitting
      ? undefined
      : sentence`Expected a width of ${width} and ${bands} samples, found ${header.shape}`);
  if (problem === undefined) return;
  throw new PageProblem(
    `cannot be part of an array: its tiles are JPEG that cannot be decoded: ${problem}; ${CONVERT}`,
  );
}
