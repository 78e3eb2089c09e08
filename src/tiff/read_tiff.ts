import { describe } from "../errors/mod.ts";
import { isSameList } from "../runtime/mod.ts";
import {
  readRange,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";
import { readPages } from "./describe_tiff.ts";
import { hasSeries, readSeries, type TiffSeries } from "./ome_axes.ts";
import type { TiffPage, TiffPlace } from "./tiff_page.ts";
import { seriesShardOf, shardOf, type TiffShard } from "./tiff_shard.ts";
import { type PageValues, pageValues } from "./value_attributes.ts";

/** The pages of a file that are adopted. */
export interface PageSelection {
  /** The number of a page, from 0. By default, all pages that are pictures. */
  readonly page?: number | undefined;
  /** The number, from 0, of an image whose pages make several dimensions. By default, pages make one. */
  readonly series?: number | undefined;
  /** The overview of the page: 0 for the page itself, 1 for the largest smaller version, and so on. */
  readonly overview?: number | undefined;
}

/** The picture of a page: its size and its place on the earth. */
export interface TiffPicture {
  /** The lengths of the page itself, of which there may be overviews. */
  readonly height: number;
  readonly width: number;
  /** The place on the earth, if all selected pages that have one agree. */
  readonly place: TiffPlace | undefined;
  /** The scale, offset, unit and description of the elements of each selected page. */
  readonly values: readonly PageValues[];
}

/** A file whose directories were read. */
interface ReadTiff {
  /** The number of overviews that each selected page has. */
  readonly overviews: number;
  /** The selected page, or the first one of several. */
  readonly picture: TiffPicture;
  /** The series that is selected. */
  readonly series: { place: number; series: TiffSeries } | undefined;
  /** What is left out, since it is damaged. */
  readonly notes: readonly string[];
  /** Whether there is a series, but none is selected. */
  readonly hasSeries: boolean;
  /**
   * Makes a shard of pages, or of an overview of each.
   *
   * @throws {DamageError} If the tags of a page are damaged.
   * @throws {RangeError} If a page cannot be in an array, or the pages differ, or have no
   * such overview.
   */
  shardOf(overview: number | undefined): TiffShard;
}

/**
 * Reads the directories of a file.
 *
 * @param findsSeries Whether a series is selected by default, if the file has one.
 * @throws {DamageError} If the file is not a TIFF, or its directories are damaged.
 * @throws {RangeError} If the file does not have the selected pages.
 */
export async function readTiff(
  store: Store,
  { key, size }: { readonly key: StoreKey; readonly size: number },
  { page, series: place }: PageSelection,
  storeOptions: StoreOptions,
  findsSeries = false,
): Promise<ReadTiff> {
  const { pages, damage } = await readPages(
    (range) => readRange(store, key, range, storeOptions),
    { key, size },
  );
  const name = `File ${describe(key)}`;
  const isSeries = page === undefined && (place !== undefined || findsSeries);
  const notes: string[] = [];
  let series: ReadTiff["series"];
  let selected: readonly TiffPage[];
  try {
    series = isSeries ? await readSeries(pages, place, name) : undefined;
    selected = series === undefined
      ? selectPages(pages, page, name)
      : series.series.pages.map((place) => pages[place]!);
  } catch (error) {
    throw error instanceof RangeError ? damage ?? error : error;
  }
  if (series === undefined && page === undefined) {
    const sound = selected.filter(({ isDamaged }) => !isDamaged);
    const isFirstSound = sound[0] === selected[0];
    if (isFirstSound && sound.length < selected.length) {
      const damaged = selected.filter(({ isDamaged }) => isDamaged);
      notes.push(
        `${name} is adopted without its damaged pages ${
          damaged.map((page) => pages.indexOf(page)).join(", ")
        }: ${damaged[0]!.problem}`,
      );
      selected = sound;
    }
    if (damage !== undefined) {
      notes.push(
        `${name} is adopted without its pages after the first ${pages.length}: ${
          (damage.cause as Error).message
        }`,
      );
    }
  }
  const overviews = overviewsOf(pages);
  return {
    notes,
    overviews: selected.reduce(
      (least, page) => Math.min(least, overviews(page).length),
      MOST_OVERVIEWS,
    ),
    picture: pictureOf(selected),
    series,
    hasSeries: series === undefined && selected.length > 1 && hasSeries(pages),
    shardOf: (overview = 0) => {
      const shown = selected.map((page) => {
        if (overview === 0) return page;
        const own = overviews(page);
        if (overview <= own.length) return own[overview - 1]!;
        throw new RangeError(
          `${name} has no overview ${overview} of page ${
            pages.indexOf(page)
          }, since it has ${own.length}`,
        );
      });
      return series === undefined
        ? shardOf(shown, name, key)
        : seriesShardOf(shown, series.series, name, key);
    },
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
  return { height, width, place, values: pages.map(pageValues) };
}

/** Reads the pages of a file that are adopted. */
export async function readShard(
  store: Store,
  file: { readonly key: StoreKey; readonly size: number },
  selection: PageSelection,
  storeOptions: StoreOptions,
): Promise<TiffShard> {
  const tiff = await readTiff(store, file, selection, storeOptions);
  return tiff.shardOf(selection.overview);
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
export function encodeSelection(
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

/**
 * Selects a page of a file, or all that are pictures.
 *
 * @param name The file, for messages.
 * @throws {RangeError} If the file does not have them.
 */
function selectPages(
  pages: readonly TiffPage[],
  page: number | undefined,
  name: string,
): readonly TiffPage[] {
  const selected = page === undefined ? picturesOf(pages) : [pages[page]];
  if (selected.length > 0 && selected[0] !== undefined) {
    return selected as TiffPage[];
  }
  throw new RangeError(
    page === undefined
      ? `${name} has no page that is a picture of its own, among ${pages.length}: choose one by the option "page"`
      : `${name} has no page ${page}, since it has ${pages.length}`,
  );
}

/** The pages that are pictures: those of the chain, or if there are none, those of sub-directories, or a single page of any kind. */
function picturesOf(pages: readonly TiffPage[]): TiffPage[] {
  const pictures = pages.filter(({ kind }) => kind === "image");
  const inChain = pictures.filter(({ parent }) => parent === undefined);
  if (inChain.length > 0) return inChain;
  return pictures.length > 0 || pages.length > 1 ? pictures : [...pages];
}

/** Pictures of one shape that follow each other in the chain of pages. */
interface PictureRun {
  readonly pictures: TiffPage[];
  /** The overviews up to the next picture. */
  readonly overviews: TiffPage[];
  /** The overviews of each size of which there is one for each picture. */
  sizes?: TiffPage[][];
}

/**
 * Returns a function that gives the smaller versions of a page, the largest first: those among
 * its sub-directories, and those that follow it in the chain. Several pictures one after
 * another may have overviews after all of them: one of each for each size.
 */
function overviewsOf(
  pages: readonly TiffPage[],
): (page: TiffPage) => TiffPage[] {
  const places = new Map(pages.map((page, place) => [page, place]));
  const children = new Map<number, TiffPage[]>();
  const runs = new Map<TiffPage, PictureRun>();
  let run: PictureRun | undefined;
  for (const page of pages) {
    const { kind, parent, shape } = page;
    if (parent !== undefined) {
      if (kind !== "mask") pushTo(children, parent, page);
      continue;
    }
    if (kind === "overview") run?.overviews.push(page);
    else if (kind === "image") {
      const last = run?.pictures.at(-1);
      const isNext = last !== undefined && run!.overviews.length === 0 &&
        pages[places.get(page)! - 1] === last && isSameList(last.shape, shape);
      if (!isNext) run = { pictures: [], overviews: [] };
      run!.pictures.push(page);
    }
    if (run !== undefined) runs.set(page, run);
  }
  const inChain = (page: TiffPage): readonly TiffPage[] => {
    const run = runs.get(page);
    if (run === undefined) return [];
    const { pictures, overviews } = run;
    const place = places.get(page)!;
    if (page.kind !== "image") {
      return overviews.filter((other) => places.get(other)! > place);
    }
    if (pictures.length === 1) return overviews;
    run.sizes ??= sizesOf(run);
    return run.sizes.map((size) => size[place - places.get(pictures[0]!)!]!);
  };
  return (page) =>
    [...children.get(places.get(page)!) ?? [], ...inChain(page)]
      .sort((a, b) => areaOf(b) - areaOf(a));
}

function sizesOf({ overviews, pictures }: PictureRun): TiffPage[][] {
  const sizes = new Map<string, TiffPage[]>();
  for (const page of overviews) pushTo(sizes, `${page.shape}`, page);
  return [...sizes.values()].filter(({ length }) => length === pictures.length);
}

function pushTo<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

function areaOf({ shape }: TiffPage): number {
  return shape.reduce((product, length) => product * length, 1);
}
