import { arrayMetadata } from "../arrays/mod.ts";
import {
  checkExclusive,
  checkOptions,
  objectRule,
  type OptionRules,
  sentence,
  TEXT,
  wholeFrom,
} from "../errors/mod.ts";
import type { ArrayMetadata } from "../metadata/mod.ts";
import { assertStore, type Store, type StoreKey } from "../stores/mod.ts";
import {
  bandsFirst,
  commonRows,
  differenceOf,
  geoAttributes,
  type GeoLevel,
  type GeoPlace,
  geoPlaceOf,
  geoPlaceOfFiles,
  joinAttributes,
  leftOut,
  MOST_OVERVIEWS,
  MOST_PAGES,
  MOST_SERIES,
  MOST_TILES,
  pyramidAttributes,
  readTiff,
  type TiffFileShards,
  type TiffPicture,
  type TiffSelection,
  type TiffShard,
  valueAttributes,
  withBandsFirst,
  withRows,
} from "../tiff/mod.ts";
import {
  type AdoptedArray,
  adoptFiles,
  ADOPTION_OPTIONS,
  type AdoptionOptions,
  arrayOf,
  type FileFormat,
  stackNames,
} from "./adopt_files.ts";
import {
  type FileArray,
  type Mosaic,
  mosaicOf,
  type PlacedArray,
  type PlacedFile,
} from "./adopted_array.ts";
import { findFiles } from "./find_files.ts";

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

/** Options of {@linkcode tiffFormat}. */
interface TiffAdoption extends Omit<TiffSelection, "isPyramid"> {
  /** The user's own attributes. */
  readonly attributes?: Readonly<Record<string, unknown>> | undefined;
  /** The path of a group whose arrays are the pages and their overviews, and the name of the picture. */
  readonly pyramid?: {
    readonly path: string;
    readonly name?: string | undefined;
  };
}

/** The name of the arrays in the groups of levels. */
const VARIABLE = "data";

/** Arrays of the pages of TIFFs, or groups whose arrays are the pages and their overviews. */
export function tiffFormat(
  { attributes, pyramid, page, series, overview, fillValue }: TiffAdoption,
): FileFormat<TiffFileShards> {
  const isPyramid = pyramid !== undefined;
  const selection = { page, series, overview, fillValue, isPyramid };
  return {
    suffixes: [".tiff", ".tif"],
    isPicture: true,
    read: (store, key, options) => readTiff(store, key, selection, options),
    dimensionsOf: ({ levels }) => levels[0]!.shard.dimensionNames,
    async compose(files, { stack, dimensionNames }) {
      const [{ picture, series }] = files as [PlacedTiff];
      // GDAL finds levels of a place on the earth only if each is in a group of its own.
      const isNested = isPyramid && picture.place !== undefined &&
        geoPlaceOf(picture.place) !== undefined;
      const { levels, notes } = isPyramid
        ? levelsOf(files, stack, !isNested)
        : {
          levels: [levelOf(files, 0, stack)],
          notes: notesOnPages(files, overview),
        };
      const { dataType, dimensionNames: own } = levels[0]!.shard;
      const names = dimensionNames ??
        (isNested ? namesForGdal(own) : undefined);
      const geo = picture.place === undefined
        ? { notes: [] }
        : geoPlaceOfTiffs(files, stack);
      const { y, x } = pictureOf(own, names ?? own);
      const dimensions = y && x ? [y, x] as const : undefined;
      const values = await valueAttributes(
        files.flatMap(({ picture }) => picture.pages),
        dataType,
      );
      const arrays = levels.map(({ shard, geo: level, ...array }, i) => ({
        ...array,
        path: isNested ? `/${i}/${VARIABLE}` : isPyramid ? `/${i}` : "",
        metadata: metadataOf(
          shard,
          names,
          joinAttributes({
            ...values.attributes,
            ...dimensions && geo.place &&
              geoAttributes(geo.place, level, dimensions),
          }, isPyramid ? {} : attributes),
        ),
      }));
      const all = [
        ...isPyramid ? notes : [],
        ...files.flatMap(({ damages }) => damages),
        ...geo.notes,
        ...values.notes,
        ...isPyramid ? [] : notes,
      ];
      if (!isPyramid) return { arrays, notes: all };
      const group = pyramidAttributes({
        name: pyramid.name ?? series?.name ?? pyramid.path.split("/").at(-1)!,
        axes: (names ?? own).map((name, i) => ({
          name: name ?? "",
          ...series?.scales[own[i]!],
        })),
        channels: own.includes("c") ? series?.channels : undefined,
        dataType,
        levels: levels.map(({ geo }, i) => ({
          path: arrays[i]!.path.slice(1),
          ...geo,
        })),
        place: dimensions && geo.place,
        dimensions: dimensions ?? ["y", "x"],
      });
      return {
        arrays,
        groups: new Map([
          ...isNested ? levels.map((_, i) => [`/${i}`, {}] as const) : [],
          ["", joinAttributes(group.attributes, attributes)],
        ]),
        notes: [...all, ...group.notes],
      };
    },
  };
}

/** Returns notes on series and overviews that are not adopted. */
function notesOnPages(
  files: readonly PlacedTiff[],
  overview: number | undefined,
): string[] {
  const series = files.find(({ hasSeries }) => hasSeries);
  const notes = series === undefined ? [] : [
    sentence`File ${series.key} describes the dimensions of its pages, which are one dimension of the array: the option "series" keeps them, and --multiscale`,
  ];
  const most = files.reduce((a, b) => b.overviews > a.overviews ? b : a);
  if (overview !== undefined || most.overviews === 0) return notes;
  const count = most.overviews === 1
    ? "an overview"
    : `${most.overviews} overviews`;
  return [
    ...notes,
    sentence`File ${most.key} has ` +
    `${count}, which the array leaves out: adoptPyramid, and zarr-parts adopt --multiscale, make a group of all levels`,
  ];
}

/** Makes the arrays of all levels that all files have, and that fit together. */
function levelsOf(
  files: readonly PlacedTiff[],
  stack: number,
  mayMoveBands: boolean,
): { levels: TiffLevel[]; notes: string[] } {
  const fewest = files.reduce((a, b) =>
    b.levels.length < a.levels.length ? b : a
  );
  const count = fewest.levels.length;
  const last = count - 1;
  const notes = [...fewest.notes];
  if (notes.length === 0 && files.some(({ levels }) => levels.length > count)) {
    notes.push(
      sentence`File ${fewest.key} has levels up to ${last}: those that other files have beyond are left out`,
    );
  }
  const areBandsFirst = mayMoveBands &&
    files.every(({ levels }) =>
      levels.slice(0, count).every(({ shard }) => bandsFirst(shard))
    );
  const levels: TiffLevel[] = [];
  for (let i = 0; i < count; i++) {
    try {
      levels.push(levelOf(files, i, stack, areBandsFirst));
    } catch (error) {
      if (i === 0 || !(error instanceof RangeError)) throw error;
      notes.push(leftOut(i, error));
      break;
    }
  }
  return { levels, notes };
}

/**
 * Names of dimensions by which GDAL finds rows and columns that are not the last dimensions;
 * `undefined` if they are.
 */
function namesForGdal(names: readonly string[]): string[] | undefined {
  if (names.at(-1) !== "band") return undefined;
  return names.map((name) =>
    ["y", "x"].includes(name) ? name.toUpperCase() : name
  );
}

/** A TIFF at its place in arrays. */
type PlacedTiff = TiffFileShards & PlacedFile;

/** The array that one level of files makes. */
interface TiffLevel {
  /** The elements of the first file. */
  readonly shard: TiffShard;
  readonly mosaic: Mosaic;
  readonly geo: GeoLevel;
  readonly files: readonly PlacedArray[];
}

/**
 * Makes an array of one level of files.
 *
 * @param level The number of the level among those that were read, from 0.
 * @param areBandsFirst Whether bands come before rows; all shards can have them there.
 * @throws {RangeError} If the files do not fit together.
 */
function levelOf(
  files: readonly PlacedTiff[],
  level: number,
  stack: number,
  areBandsFirst = false,
): TiffLevel {
  const inOrder = shardsOf(files, level, stack);
  const shards = areBandsFirst
    ? inOrder.map((shard) => bandsFirst(shard)!)
    : inOrder;
  const y = inOrder[0]!.dimensionNames.indexOf("y");
  const placed = files.map((file, i): PlacedArray => ({
    ...file,
    ...arrayOfShard(shards[i]!),
    coordinates: shards[i] === inOrder[i]
      ? file.coordinates
      : withBandsFirst(file.coordinates, y),
    contents: file.levels[level]!.contents,
  }));
  const mosaic = mosaicOf(placed, "tiles");
  const { shape, chunksPerShard } = mosaic;
  const count = chunksPerShard.reduce((product, n) => product * n, 1);
  if (count > MOST_TILES) {
    throw new RangeError(
      `Expected files of at most ${MOST_TILES} tiles, found ${count} in a file: adopt one page at a time by the option "page"`,
    );
  }
  const [shard] = shards as [TiffShard];
  const { y: height, x: width } = pictureOf(shard.dimensionNames, shape);
  return {
    shard,
    mosaic,
    geo: {
      height: height!,
      width: width!,
      factorY: factorOf(files, level, "y"),
      factorX: factorOf(files, level, "x"),
    },
    files: placed,
  };
}

/**
 * The shards of one level of files. Tiles of rows without compression are divided or joined,
 * so that all files have as many rows in a tile.
 *
 * @throws {RangeError} If files differ.
 */
function shardsOf(
  files: readonly PlacedTiff[],
  level: number,
  stack: number,
): TiffShard[] {
  const shards = files.map(({ levels }) =>
    stacked(levels[level]!.shard, stack)
  );
  const rows = commonRows(shards);
  const alike = rows === undefined
    ? shards
    : shards.map((shard) => withRows(shard, rows)!);
  for (const [i, shard] of alike.entries()) {
    const difference = differenceOf(alike[0]!, shard);
    if (difference === undefined) continue;
    throw new RangeError(
      sentence`File ${files[0]!.key} and File ${files[i]!.key} have ` +
        `${difference}: files of one array agree in these; adopt them as several arrays, or convert some of them`,
    );
  }
  return alike;
}

/** Gives a shard first dimensions of one element. */
export function stacked(shard: TiffShard, count: number): TiffShard {
  const ones = new Array<number>(count).fill(1);
  return {
    ...shard,
    dimensionNames: [...stackNames(count), ...shard.dimensionNames],
    shape: [...ones, ...shard.shape],
    tileShape: [...ones, ...shard.tileShape],
  };
}

/** The array in a file whose elements are a shard. */
export function arrayOfShard(
  { shape, tileShape, tiles }: TiffShard,
): FileArray {
  return { shape, chunkShape: tileShape, chunks: tiles };
}

/** The values of a list along the dimensions of rows and columns. */
function pictureOf<T>(
  names: readonly string[],
  list: readonly T[],
): { y: T | undefined; x: T | undefined } {
  return { y: list[names.indexOf("y")], x: list[names.indexOf("x")] };
}

/** The number of elements of the page itself for each one of a level, by the longest file. */
function factorOf(
  files: readonly PlacedTiff[],
  level: number,
  axis: "y" | "x",
): number {
  const lengthOf = ({ picture: { height, width } }: PlacedTiff) =>
    axis === "y" ? height : width;
  const longest = files.reduce((a, b) => lengthOf(b) > lengthOf(a) ? b : a);
  const { dimensionNames, shape } = longest.levels[level]!.shard;
  return lengthOf(longest) / pictureOf(dimensionNames, shape)[axis]!;
}

/** Finds the place of an array of files on the earth. */
function geoPlaceOfTiffs(
  files: readonly PlacedTiff[],
  stack: number,
): { place?: GeoPlace; notes: readonly string[] } {
  const most = (lengthOf: (picture: TiffPicture) => number) =>
    files.reduce((most, { picture }) => Math.max(most, lengthOf(picture)), 0);
  const [height, width] = [
    most((picture) => picture.height),
    most((picture) => picture.width),
  ];
  const { dimensionNames } = stacked(files[0]!.levels[0]!.shard, stack);
  return geoPlaceOfFiles(files.map(({ key, coordinates, picture }) => {
    const { y, x } = pictureOf(dimensionNames, coordinates);
    return { key, ...picture, row: y! * height, column: x! * width };
  }));
}

/** The metadata of the array in a file whose elements are a shard. */
export function metadataOf(
  shard: TiffShard,
  dimensionNames: readonly (string | null)[] = shard.dimensionNames,
  attributes: Readonly<Record<string, unknown>> = {},
): ArrayMetadata {
  const { shape, tileShape, dataType, fillValue, codecs } = shard;
  return arrayMetadata({
    shape,
    dataType,
    chunkShape: tileShape,
    codecs,
    fillValue: dataType.startsWith("complex") ? [fillValue, 0] : fillValue,
    dimensionNames,
    ...Object.keys(attributes).length > 0 && { attributes },
  });
}
