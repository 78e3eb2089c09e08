import type { ChunkKeyEncoding } from "../../chunk_key_encoding/mod.ts";
import { describe, describeAll } from "../../errors/mod.ts";
import type { NamedConfiguration } from "../../metadata/mod.ts";
import type { StoreKey } from "../../stores/mod.ts";
import {
  ADOPTION_OPTIONS,
  type AdoptionOptions,
  assertAdoption,
  isBoolean,
} from "../adoption/adoption_options.ts";
import type { TiffDescription, TiffPage } from "./tiff_page.ts";

/** Which pages of a file are adopted. */
export interface PageSelection {
  /** The place of a page. By default, all pages that are pictures. */
  readonly page?: number | undefined;
  /** The overview of the page: 0 for the page itself, 1 for the largest smaller version, and so on. */
  readonly overview?: number | undefined;
}

/** A selection as a number below 2^32, for the record of a file. */
const PAGE_BITS = 22;
export const MOST_PAGES = 2 ** PAGE_BITS - 2;
export const MOST_OVERVIEWS = 2 ** (32 - PAGE_BITS) - 1;

export function encodeSelection(
  { page = -1, overview = 0 }: PageSelection,
): number {
  return page + 1 + overview * 2 ** PAGE_BITS;
}

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
export function selectPages(
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

/** The pages that are pictures: those of the chain, or else of sub-directories, or else the only page, whatever it says. */
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
 * A file and its place in an array.
 *
 * @example
 * ```ts
 * import type { TiffFile } from "@zarr-parts/zarr-parts/tiff";
 *
 * const file: TiffFile = { coordinates: [0, 2], key: "/S2A_T32TMT_B04.tif" };
 * ```
 */
export interface TiffFile {
  /** The grid coordinates of the shard that the file becomes. */
  readonly coordinates: readonly number[];
  /** The key of the file in the store. */
  readonly key: StoreKey;
}

/**
 * Options of {@linkcode adoptTiffs}.
 *
 * @example
 * ```ts
 * import type { AdoptTiffsOptions } from "@zarr-parts/zarr-parts/tiff";
 *
 * const options: AdoptTiffsOptions = {
 *   chunkKeyEncoding: { name: "template", configuration: { format: "tile_{0}_{1}.tif" } },
 *   attributes: { source: "survey of 2019" },
 * };
 * ```
 */
export interface AdoptTiffsOptions extends AdoptionOptions {
  /**
   * The names of the files below the path of the array. By default, `default` keys with
   * the suffix `.tiff` or `.tif`, such as `c/0/1.tiff`.
   */
  readonly chunkKeyEncoding?:
    | string
    | NamedConfiguration
    | ChunkKeyEncoding
    | undefined;
  /** The files, for a store that cannot list, or for names that follow no encoding. By default, those that the encoding names. */
  readonly files?: readonly TiffFile[] | undefined;
  /** Whether each file is one element along a new first dimension. */
  readonly stack?: boolean | undefined;
  /**
   * The place of the page that is adopted, as `describeTiff` lists them. By default, all
   * pages that are pictures; several of them make a dimension before those of a page.
   */
  readonly page?: number | undefined;
  /** The overview that is adopted in place of the page: 1 for the largest one, and so on. Defaults to 0, the page itself. */
  readonly overview?: number | undefined;
  /** The value of elements that no file has. By default, GDAL_NODATA of the files, or 0. */
  readonly fillValue?: number | bigint | undefined;
  /** A name for each dimension, or `null`. By default, `y`, `x`, `band`, `page` and `stack`. */
  readonly dimensionNames?: readonly (string | null)[] | undefined;
  /** The user's own metadata. */
  readonly attributes?: Readonly<Record<string, unknown>> | undefined;
}

/** For each option: what it must be, and whether a value is that. */
const OPTIONS: Readonly<
  Record<
    keyof AdoptTiffsOptions,
    readonly [string, (value: unknown) => boolean]
  >
> = {
  ...ADOPTION_OPTIONS,
  chunkKeyEncoding: [
    "a chunk key encoding",
    (value) => typeof value === "string" || typeof value === "object",
  ],
  files: ["a list of { coordinates, key }", isFiles],
  stack: isBoolean(),
  page: isPlace(MOST_PAGES),
  overview: isPlace(MOST_OVERVIEWS),
  fillValue: [
    "a number or a bigint",
    (value) => typeof value === "number" || typeof value === "bigint",
  ],
  dimensionNames: ["a list of names", Array.isArray],
  attributes: ["an object", (value) => typeof value === "object"],
};

/** Refuses options that are unknown or of a wrong type. */
export function assertAdoptOptions(options: AdoptTiffsOptions): void {
  if (typeof options !== "object" || options === null) {
    throw new TypeError(
      `Expected the options of adoptTiffs as an object, found ${
        describe(options)
      }`,
    );
  }
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(OPTIONS, name)) {
      throw new TypeError(
        `Unknown option ${describe(name)} of adoptTiffs; known are ${
          describeAll(Object.keys(OPTIONS))
        }`,
      );
    }
    const [expected, isValid] = OPTIONS[name as keyof AdoptTiffsOptions];
    if (value === undefined || isValid(value)) continue;
    throw new TypeError(
      `Expected the option "${name}" to be ${expected}, found ${
        describe(value)
      }`,
    );
  }
  assertAdoption(options);
}

function isPlace(most: number): [string, (value: unknown) => boolean] {
  return [
    `a whole number from 0 to ${most}`,
    (value) =>
      Number.isInteger(value) && value as number >= 0 &&
      value as number <= most,
  ];
}

function isFiles(value: unknown): boolean {
  return Array.isArray(value) &&
    value.every((file) =>
      Array.isArray(file?.coordinates) && typeof file.key === "string"
    );
}
