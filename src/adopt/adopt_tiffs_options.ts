import type { ChunkKeyEncoding } from "../chunk_key_encoding/mod.ts";
import {
  checkExclusive,
  checkOptions,
  objectRule,
  type OptionRules,
  TEXT,
  wholeFrom,
} from "../errors/mod.ts";
import type { NamedConfiguration } from "../metadata/mod.ts";
import type { StoreKey } from "../stores/mod.ts";
import {
  ADOPTION_OPTIONS,
  type AdoptionOptions,
  assertAdoption,
} from "./adoption_options.ts";
import { MOST_OVERVIEWS, MOST_PAGES, MOST_SERIES } from "../tiff/mod.ts";

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
 * Options of `adoptTiffs`.
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
  /** The number of new first dimensions along which each file is one element; `true` for one. */
  readonly stack?: boolean | number | undefined;
  /**
   * The number of the page to adopt, from 0, in the order of `describeTiff`. By default, all
   * pages that are pictures; several of them make a dimension before those of a page.
   */
  readonly page?: number | undefined;
  /**
   * The number, from 0, of an image whose pages are numbered along several dimensions: an
   * image of OME-XML, or 0 for a hyperstack of ImageJ. The array has the dimensions `t`, `c`,
   * `z`, `y` and `x`, of which `t`, `c` and `z` are left out if they have one element. By
   * default, all pages make one dimension.
   */
  readonly series?: number | undefined;
  /** The overview that is adopted in place of the page: 1 for the largest one, and so on. Defaults to 0, the page itself. */
  readonly overview?: number | undefined;
  /** The value of elements that are in no file. By default, GDAL_NODATA of the files, or 0. */
  readonly fillValue?: number | bigint | undefined;
  /**
   * A name for each dimension, or `null`. By default, `y`, `x`, `band`, `page` and `stack`;
   * several new dimensions are `stack_0`, `stack_1` and so on.
   */
  readonly dimensionNames?: readonly (string | null)[] | undefined;
  /** The user's own metadata. */
  readonly attributes?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Options of `adoptPyramid`.
 *
 * @example
 * ```ts
 * import type { AdoptPyramidOptions } from "@zarr-parts/zarr-parts/tiff";
 *
 * const options: AdoptPyramidOptions = {
 *   files: [{ coordinates: [0, 0], key: "/scene.tif" }],
 *   attributes: { source: "survey of 2019" },
 * };
 * ```
 */
export interface AdoptPyramidOptions
  extends Omit<AdoptTiffsOptions, "link" | "overview" | "series"> {
  /**
   * The number of an image of OME-XML, as in `adoptTiffs`. By default, the only image of a
   * file with OME-XML, or the hyperstack of ImageJ, unless `page` chooses a page.
   */
  readonly series?: number | undefined;
  /** The name of the picture in the attribute `ome`. Defaults to the last name of the path. */
  readonly name?: string | undefined;
}

/** The most new dimensions, with which arrays have at most as many dimensions as they may. */
const MOST_STACKED = 200;

const OPTIONS: OptionRules<AdoptTiffsOptions> = {
  ...ADOPTION_OPTIONS,
  chunkKeyEncoding: {
    expected: "a chunk key encoding",
    isValid: (value) => typeof value === "string" || typeof value === "object",
  },
  files: { expected: "a list of { coordinates, key }", isValid: isFiles },
  stack: {
    expected: `true, false, or a whole number from 0 to ${MOST_STACKED}`,
    isValid: (value) =>
      typeof value === "boolean" ||
      Number.isInteger(value) && value as number >= 0 &&
        value as number <= MOST_STACKED,
  },
  page: wholeFrom(0, MOST_PAGES),
  series: wholeFrom(0, MOST_SERIES),
  overview: wholeFrom(0, MOST_OVERVIEWS),
  fillValue: {
    expected: "a number or a bigint",
    isValid: (value) => typeof value === "number" || typeof value === "bigint",
  },
  dimensionNames: { expected: "a list of names", isValid: Array.isArray },
  attributes: objectRule(),
};

/** Refuses options of `adoptTiffs` that are unknown or of a wrong type. */
export function assertAdoptTiffs(options: AdoptTiffsOptions): void {
  checkOptions(options, OPTIONS, "adoptTiffs");
  checkExclusive(options, [["page", "series"]]);
  assertAdoption(options);
}

function isFiles(value: unknown): boolean {
  return Array.isArray(value) &&
    value.every((file) =>
      Array.isArray(file?.coordinates) && typeof file.key === "string"
    );
}

const { link: _link, overview: _overview, ...PYRAMID_OPTIONS } = OPTIONS;

/** Refuses options of `adoptPyramid` that are unknown or of a wrong type. */
export function assertAdoptPyramid(options: AdoptPyramidOptions): void {
  const rules: OptionRules<AdoptPyramidOptions> = {
    ...PYRAMID_OPTIONS,
    name: TEXT,
  };
  checkOptions(options, rules, "adoptPyramid");
  checkExclusive(options, [["page", "series"]]);
  assertAdoption(options);
}
