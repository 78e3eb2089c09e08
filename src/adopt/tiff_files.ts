import { arrayMetadata } from "../arrays/mod.ts";
import type { ChunkKeyEncoding } from "../chunk_key_encoding/mod.ts";
import type { ArrayMetadata } from "../metadata/mod.ts";
import {
  coordinatesInShard,
  placeInShard,
  type ShardIndex,
} from "../shards/mod.ts";
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
  MOST_TILES,
  pyramidAttributes,
  readTiff,
  stacked,
  type TiffFileShards,
  type TiffPicture,
  type TiffSelection,
  type TiffShard,
  valueAttributes,
  withBandsFirst,
  withRows,
} from "../tiff/mod.ts";
import type {
  AdoptedShard,
  FileFormat,
  PlacedFile,
  Placement,
} from "./adopt_files.ts";
import {
  adoptedLayout,
  adoptedParts,
  type Mosaic,
  type MosaicFile,
  mosaicOf,
} from "./adopted_array.ts";

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
    async compose(files, { stack, dimensionNames, encoding }) {
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
      const geo = geoPlaceOfTiffs(files, stack);
      const { y, x } = pictureOf(own, names ?? own);
      const dimensions = y && x ? [y, x] as const : undefined;
      const values = await valueAttributes(
        files.flatMap(({ picture }) => picture.pages),
        dataType,
      );
      const arrays = levels.map(({ shard, mosaic, geo: level, shards }, i) => ({
        path: isNested ? `/${i}/${VARIABLE}` : isPyramid ? `/${i}` : "",
        metadata: metadataOf(shard, mosaic, encoding, {
          dimensionNames: names,
          attributes: joinAttributes({
            ...values.attributes,
            ...dimensions && geoAttributes(geo.place, level, dimensions),
          }, isPyramid ? {} : attributes),
        }),
        shards,
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
    `${series.name} describes the dimensions of its pages, which are one dimension of the array: the option "series" keeps them, and --multiscale`,
  ];
  const most = files.reduce((a, b) => b.overviews > a.overviews ? b : a);
  if (overview !== undefined || most.overviews === 0) return notes;
  const count = most.overviews === 1
    ? "an overview"
    : `${most.overviews} overviews`;
  return [
    ...notes,
    `${most.name} has ${count}, which the array leaves out: adoptPyramid, and zarr-parts adopt --multiscale, make a group of all levels`,
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
  const notes = [...fewest.notes];
  if (notes.length === 0 && files.some(({ levels }) => levels.length > count)) {
    notes.push(
      `${fewest.name} has levels up to ${
        count - 1
      }: those that other files have beyond are left out`,
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
  readonly shards: readonly AdoptedShard[];
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
  const shards = shardsOf(files, level, stack);
  const placed = areBandsFirst ? shards.map(withBands) : shards;
  const { shard } = placed[0]!;
  const mosaic = mosaicOf(placed, shard.tileShape, "tiles");
  const count = mosaic.chunksPerShard.reduce((product, n) => product * n, 1);
  if (count > MOST_TILES) {
    throw new RangeError(
      `Expected files of at most ${MOST_TILES} tiles, found ${count} in a file: adopt one page at a time by the option "page"`,
    );
  }
  const { y, x } = pictureOf(shard.dimensionNames, mosaic.shape);
  return {
    shard,
    mosaic,
    geo: {
      height: y!,
      width: x!,
      factorY: factorOf(files, level, "y"),
      factorX: factorOf(files, level, "x"),
    },
    shards: files.map(({ key, size, levels }, i) => ({
      key,
      coordinates: placed[i]!.coordinates,
      size,
      index: indexOf(placed[i]!.shard, mosaic.chunksPerShard),
      contents: levels[level]!.contents,
    })),
  };
}

/** The elements of a file where the file lies in the array. */
interface PlacedShard extends MosaicFile {
  readonly shard: TiffShard;
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
): PlacedShard[] {
  const shards = files.map(({ levels }) =>
    stacked(levels[level]!.shard, stack)
  );
  const rows = commonRows(shards);
  return files.map(({ name, coordinates }, i) => {
    const [first, shard] = [shards[0]!, shards[i]!]
      .map((shard) => rows === undefined ? shard : withRows(shard, rows)!);
    const difference = differenceOf(first!, shard!);
    if (difference === undefined) {
      return { name, coordinates, shape: shard!.shape, shard: shard! };
    }
    throw new RangeError(
      `${
        files[0]!.name
      } and ${name} have ${difference}: files of one array agree in these; adopt them as several arrays, or convert some of them`,
    );
  });
}

/** Puts the bands of a file before its rows. */
function withBands(file: PlacedShard): PlacedShard {
  const { shard, coordinates } = file;
  const moved = bandsFirst(shard);
  if (moved === undefined || moved === shard) return file;
  const y = shard.dimensionNames.indexOf("y");
  return {
    ...file,
    shard: moved,
    shape: moved.shape,
    coordinates: withBandsFirst(coordinates, y),
  };
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
  return geoPlaceOfFiles(files.map(({ name, coordinates, picture }) => {
    const { y, x } = pictureOf(dimensionNames, coordinates);
    return { name, ...picture, row: y! * height, column: x! * width };
  }));
}

/** The metadata of an array whose files are like a shard. */
export function metadataOf(
  shard: TiffShard,
  { shape, shardShape, chunksPerShard }: Mosaic,
  keyEncoding: ChunkKeyEncoding,
  { dimensionNames = shard.dimensionNames, attributes = {} }:
    & Pick<Placement, "dimensionNames">
    & { readonly attributes?: Readonly<Record<string, unknown>> },
): ArrayMetadata {
  const { dataType, fillValue, tileShape, codecs } = shard;
  return arrayMetadata({
    shape,
    dataType,
    shardShape,
    chunkShape: tileShape,
    codecs,
    fillValue: dataType.startsWith("complex") ? [fillValue, 0] : fillValue,
    keyEncoding,
    parts: adoptedParts(adoptedLayout(chunksPerShard)),
    dimensionNames,
    ...Object.keys(attributes).length > 0 && { attributes },
  });
}

/** The index of a file as a shard, which may be larger than the file. */
export function indexOf(
  { shape, tileShape, tiles }: TiffShard,
  chunksPerShard: readonly number[],
): ShardIndex {
  const counts = shape.map((length, i) => Math.ceil(length / tileShape[i]!));
  if (counts.every((count, i) => count === chunksPerShard[i])) return tiles;
  const size = chunksPerShard.reduce((product, n) => product * n, 1);
  const index: ShardIndex[number][] = new Array(size).fill(undefined);
  for (const [i, tile] of tiles.entries()) {
    const tilePlace = coordinatesInShard(i, { chunksPerShard: counts });
    index[placeInShard(tilePlace, { chunksPerShard })] = tile;
  }
  return index;
}
