import {
  checkExclusive,
  checkOptions,
  objectRule,
  type OptionRules,
  TEXT,
  wholeFrom,
} from "../errors/mod.ts";
import { assertStore, type Store, type StoreKey } from "../stores/mod.ts";
import { MOST_OVERVIEWS, MOST_PAGES, MOST_SERIES } from "../tiff/mod.ts";
import {
  type AdoptedArray,
  adoptFiles,
  ADOPTION_OPTIONS,
  type AdoptionOptions,
  arrayOf,
} from "./adopt_files.ts";
import { findFiles } from "./find_files.ts";
import { tiffFormat } from "./tiff_files.ts";

/**
 * Makes a Zarr array of TIFF files, each of which becomes a shard with its tiles, or its
 * strips, as inner chunks. The files are not changed: an index is written beside each
 * file, under the file's key and `.index`, and then the array's `zarr.json`. Only the
 * directories of the files are read.
 *
 * Files at neighbouring grid coordinates make a mosaic. All have one data type, one
 * shape of tiles, one compression and one fill value, and all but the last ones along
 * a dimension have one length. `stack` puts each file at one place of a new first
 * dimension.
 *
 * A file that is written anew after it was adopted needs a new index: call `adoptTiffs`
 * again with `overwrite: true`. `verifyAdopted` finds such files.
 *
 * @param store The store that holds the files, and takes the indexes and the metadata.
 * @param path The array's path in the store; empty for the root.
 * @param options The names of the files, and which pages or series of them are adopted.
 * @returns The array, and a report about its files.
 * @throws {RangeError} If there are no files, or they cannot be one array: the message
 * names a file, the reason, and what to do.
 * @throws {DamageError} If a file is not a TIFF, or its directories are damaged.
 * @throws {MetadataError} If a node or another index is there already, without
 * `overwrite`.
 * @throws {TypeError} If an option is unknown or of a wrong type, or the store is
 * read-only, or it cannot list or link files where it has to.
 *
 * @example Two files of a mosaic, beside each other
 * ```ts
 * import { arrayMetadata, createArrayChunks, MemoryStore } from "@zarr-parts/zarr-parts";
 * import { adoptTiffs, tiffContainer } from "@zarr-parts/zarr-parts/tiff";
 * import { setSharded, withZarrParts } from "@zarr-parts/zarr-parts/zarrita";
 * import { assertEquals } from "@std/assert";
 * import * as zarr from "zarrita";
 *
 * // Two TIFFs, each of 32 × 32 pixels in tiles of 16 × 16.
 * const store = new MemoryStore();
 * const metadata = arrayMetadata({
 *   shape: [32, 64],
 *   dataType: "uint8",
 *   shardShape: [32, 32],
 *   chunkShape: [16, 16],
 *   keyEncoding: { name: "template", configuration: { format: "row{0}_column{1}.tif" } },
 * });
 * await createArrayChunks(store, "", metadata);
 * const pixels = Uint8Array.from({ length: 2048 }, (_, i) => i % 251);
 * const written = await zarr.open(zarr.root(withZarrParts(store)), { kind: "array" });
 * await setSharded(zarr, written, null, pixels, { container: tiffContainer(metadata) });
 * await store.delete("/zarr.json"); // Only the two files are left.
 *
 * const { chunks, report } = await adoptTiffs(store, "", {
 *   chunkKeyEncoding: { name: "template", configuration: { format: "row{0}_column{1}.tif" } },
 * });
 * assertEquals(chunks.metadata.shape, [32, 64]);
 * assertEquals(report.files, 2);
 * assertEquals(report.innerChunks, 8);
 *
 * const array = await zarr.open(zarr.root(withZarrParts(store)), { kind: "array" });
 * assertEquals((await zarr.get(array)).data, pixels);
 * ```
 */
export async function adoptTiffs(
  store: Store,
  path: string,
  options: AdoptTiffsOptions = {},
): Promise<AdoptedArray> {
  assertStore(store);
  checkOptions(options, OPTIONS, "adoptTiffs");
  checkExclusive(options, [["page", "series"]]);
  const format = tiffFormat(options);
  const files = await findFiles(store, path, format, options);
  return arrayOf(await adoptFiles(store, path, format, files, options));
}

/**
 * Makes a group of TIFF files with overviews: its arrays `0`, `1` and so on are the
 * pages themselves and their overviews, from the largest to the smallest. All arrays are
 * of the same files, which are not changed: each file gets the key of its chunk in each
 * array by a hard link, which takes no space, and an index beside it. The `zarr.json` of
 * the group is written last.
 *
 * Files with a place on the earth become arrays `0/data`, `1/data` and so on, since GDAL
 * reads levels as overviews only if each is in a group of its own.
 *
 * The attributes of the group describe the levels by two conventions: `multiscales` of the
 * [Zarr conventions](https://github.com/zarr-conventions/multiscales), with the place on
 * the earth as `spatial:` and `proj:` attributes if the files have tags of GeoTIFF; and
 * `ome` of [OME-Zarr 0.5](https://ngff.openmicroscopy.org/0.5/), if OME-Zarr allows the
 * dimensions. Without a place on the earth, bands come before the dimensions of a
 * picture, as in OME-Zarr.
 *
 * Several files make a mosaic or a stack, as with `adoptTiffs`. Levels that not all files
 * have, or whose pictures do not fit together, are left out with a note.
 *
 * @param store The store that holds the files, and takes the indexes and the metadata.
 * @param path The group's path in the store; empty for the root.
 * @param options The names of the files, and which pages or series of them are adopted.
 * @returns The arrays, and reports about their files.
 * @throws {RangeError} If there are no files, or the pages themselves cannot be one array.
 * @throws {DamageError} If a file is not a TIFF, or its directories are damaged.
 * @throws {MetadataError} If a node or another index is there already, without
 * `overwrite`, or an array with it.
 * @throws {TypeError} If an option is unknown or of a wrong type, or the store is
 * read-only, or cannot list or link files, as `FileSystemStore` can.
 *
 * @example A cloud-optimized GeoTIFF
 * ```ts
 * import { FileSystemStore } from "@zarr-parts/zarr-parts";
 * import { adoptPyramid } from "@zarr-parts/zarr-parts/tiff";
 * import { assertEquals } from "@std/assert";
 *
 * const folder = await Deno.makeTempDir();
 * await Deno.copyFile("tests/fixtures/tiffs/scene.tif", `${folder}/scene.tif`);
 *
 * const { levels } = await adoptPyramid(new FileSystemStore(folder), "scene.zarr", {
 *   files: [{ coordinates: [0, 0], key: "/scene.tif" }],
 * });
 * assertEquals(levels.map(({ chunks }) => chunks.metadata.shape), [[128, 128], [64, 64], [32, 32]]);
 * await Deno.remove(folder, { recursive: true });
 * ```
 */
export async function adoptPyramid(
  store: Store,
  path: string,
  options: AdoptPyramidOptions = {},
): Promise<AdoptedPyramid> {
  assertStore(store);
  checkOptions(options, PYRAMID_OPTIONS, "adoptPyramid");
  checkExclusive(options, [["page", "series"]]);
  const { name } = options;
  const format = tiffFormat({ ...options, pyramid: { path, name } });
  const files = await findFiles(store, path, format, options);
  const { levels, attributes = {}, notes } = await adoptFiles(
    store,
    path,
    format,
    files,
    { ...options, link: true },
  );
  return { levels, attributes, notes };
}

/**
 * A group whose arrays are the levels of files.
 *
 * @example
 * ```ts
 * import type { AdoptedPyramid } from "@zarr-parts/zarr-parts/tiff";
 *
 * const shapesOf = ({ levels }: AdoptedPyramid) =>
 *   levels.map(({ chunks }) => chunks.metadata.shape);
 * ```
 */
export interface AdoptedPyramid {
  /** The arrays from the largest to the smallest, with their paths in the group. */
  readonly levels: readonly (AdoptedArray & { readonly path: string })[];
  /** The attributes of the group. */
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Notes on unusual properties, such as levels that are left out. */
  readonly notes: readonly string[];
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
  attributes: objectRule(),
};

const { link: _link, overview: _overview, ...COMMON_OPTIONS } = OPTIONS;

const PYRAMID_OPTIONS: OptionRules<AdoptPyramidOptions> = {
  ...COMMON_OPTIONS,
  name: TEXT,
};
