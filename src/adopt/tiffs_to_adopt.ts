import { arrayMetadata } from "../arrays/mod.ts";
import {
  type ChunkKeyEncoding,
  SuffixChunkKeyEncoding,
  toChunkKeyEncoding,
} from "../chunk_key_encoding/mod.ts";
import { DamageError, describe } from "../errors/mod.ts";
import type { ArrayMetadata } from "../metadata/mod.ts";
import { mapConcurrently } from "../runtime/mod.ts";
import type { ShardIndex } from "../shards/mod.ts";
import {
  describeStore,
  readSize,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";
import { FILES_AT_ONCE, type FileToAdopt } from "./adopt_files.ts";
import { adoptedLayout, adoptedParts } from "./adopted_index.ts";
import {
  filesOfShare,
  findFiles,
  placeByName,
  type SharedFile,
} from "./files_to_adopt.ts";
import { type Mosaic, type MosaicFile, mosaicOf } from "./mosaic.ts";
import type { AdoptTiffsOptions, TiffFile } from "./adopt_tiffs_options.ts";
import {
  assertJpeg,
  bandsFirst,
  commonRows,
  differenceOf,
  dimensionsOfTiff,
  encodeSelection,
  type FilesSelection,
  type GeoLevel,
  type GeoPlace,
  geoPlaceOfFiles,
  MOST_TILES,
  readTiff,
  stacked,
  type TiffPicture,
  type TiffSeries,
  type TiffShard,
  withBandsFirst,
  withRows,
} from "../tiff/mod.ts";

/** A file that was read, with the elements of each level that is adopted. */
export interface ReadFile {
  /** The name of the file in messages. */
  readonly name: string;
  readonly key: StoreKey;
  readonly size: number;
  readonly isOwn: boolean;
  readonly coordinates: readonly number[];
  /** The elements of each level, the largest first. */
  readonly levels: readonly ReadLevel[];
  /** The note on overviews that are left out, with the reason. */
  readonly notes: readonly string[];
  /** The number of overviews that the file has. */
  readonly overviews: number;
  readonly picture: TiffPicture;
  /** The series that is adopted. */
  readonly series: TiffSeries | undefined;
  /** Whether the file has a series that is not adopted. */
  readonly hasSeries: boolean;
}

/** A level of a file. */
interface ReadLevel {
  readonly shard: TiffShard;
  /** The number of the contents that an index describes. */
  readonly contents: number;
}

/** Options of reading files. */
export interface ReadOptions extends
  Pick<
    AdoptTiffsOptions,
    "stack" | "page" | "series" | "overview" | "fillValue" | "share" | "finish"
  > {
  /** Whether all overviews of a file are read, beside the page itself. */
  readonly isPyramid: boolean;
}

/** Reads the files of a share, and those that show the shape of the array. */
export async function readFiles(
  store: Store,
  files: readonly SharedFile<TiffFile>[],
  options: ReadOptions,
  onStep: () => void,
  storeOptions: StoreOptions,
): Promise<ReadFile[]> {
  return await mapConcurrently(files, FILES_AT_ONCE, async (file) => {
    const found = await readFile(store, file, options, storeOptions);
    onStep();
    return found;
  }, storeOptions.signal);
}

async function readFile(
  store: Store,
  { key, coordinates, isOwn }: SharedFile<TiffFile>,
  { stack = false, fillValue, isPyramid, page, series, overview }: ReadOptions,
  storeOptions: StoreOptions,
): Promise<ReadFile> {
  const name = `File ${describe(key)}`;
  const size = await readSize(store, key, storeOptions);
  if (size === undefined) {
    throw new Error(`There is no ${name} in ${describeStore(store)}`);
  }
  const tiff = await readTiff(
    store,
    { key, size },
    { page, series },
    storeOptions,
    isPyramid,
  );
  const selection = { page, series: tiff.series?.place };
  const numbers = isPyramid
    ? Array.from({ length: tiff.overviews + 1 }, (_, i) => i)
    : [overview];
  const levels: ReadLevel[] = [];
  const notes: string[] = [];
  for (const [i, number] of numbers.entries()) {
    try {
      const shard = tiff.shardOf(number);
      assertTiles(shard, name, key, size, i > 0);
      if (shard.codecs.some(({ name }) => name === "imagecodecs_jpeg")) {
        await assertJpeg(store, key, shard, storeOptions);
      }
      const placed = stacked(shard, stack);
      if (i > 0) assertLike(levels[0]!.shard, placed, number!, name);
      assertCoordinates(coordinates, placed, name, stack);
      levels.push({
        shard: withFillValue(placed, fillValue, name),
        contents: encodeSelection({ ...selection, overview: number }),
      });
    } catch (error) {
      // The page itself is worth having without its smallest versions.
      if (i === 0 || !(error instanceof RangeError)) throw error;
      notes.push(leftOut(i, error));
      break;
    }
  }
  const { overviews, picture, hasSeries } = tiff;
  return {
    name,
    key,
    size,
    isOwn,
    coordinates,
    levels,
    notes,
    overviews,
    picture,
    hasSeries,
    series: tiff.series?.series,
  };
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
  name: string,
): void {
  const told = ({ dimensionNames, dataType }: TiffShard) =>
    `the dimensions ${describe(dimensionNames)} and the data type ${
      describe(dataType)
    }`;
  const [expected, found] = [told(page), told(overview)];
  if (expected === found) return;
  throw new RangeError(
    `${name} has an overview ${number} with ${found}, where the page itself has ${expected}`,
  );
}

/**
 * Refuses a file that is cut short, or that has no tile.
 *
 * @param mayBeSparse Whether the file may have no tile, as overviews of few elements have.
 */
function assertTiles(
  { tiles, dimensionNames }: TiffShard,
  name: string,
  key: StoreKey,
  size: number,
  mayBeSparse: boolean,
): void {
  const end = tiles.reduce(
    (most, tile) => tile ? Math.max(most, tile.offset + tile.length) : most,
    0,
  );
  if (end > size) {
    throw new DamageError(
      `${name} is ${size} bytes long, where its tiles end at ${end}: it is truncated, so get it again${
        dimensionNames[0] === "page"
          ? ', or choose a page that it has, by the option "page"'
          : ""
      }`,
      { key },
    );
  }
  if (!mayBeSparse && !tiles.some((tile) => tile !== undefined)) {
    throw new RangeError(
      `${name} adds no chunk to the array, since all its tiles are left out (sparse): leave out the file, whose elements have the fill value then`,
    );
  }
}

function assertCoordinates(
  coordinates: readonly number[],
  { dimensionNames }: TiffShard,
  name: string,
  stack: boolean | number,
): void {
  if (coordinates.length === dimensionNames.length) return;
  throw new RangeError(
    `${name} is at ${
      describe(coordinates)
    }, where an array of it has the dimensions ${
      describe(dimensionNames)
    }: give one coordinate for each${
      coordinates.length > dimensionNames.length && !stack
        ? ", or set stack: true for a new first dimension, or stack to the number of new ones"
        : ""
    }`,
  );
}

/** Sets the fill value of a shard to that of the option. */
function withFillValue(
  shard: TiffShard,
  fillValue: number | bigint | undefined,
  name: string,
): TiffShard {
  if (fillValue === undefined) return shard;
  const isSparse = shard.tiles.includes(undefined);
  if (isSparse && !Object.is(fillValue, shard.fillValue)) {
    throw new RangeError(
      `${name} leaves out tiles whose elements are ${shard.fillValue}, which the fill value ${fillValue} would change: leave out the option "fillValue"`,
    );
  }
  return { ...shard, fillValue };
}

/** Refuses files that differ. Tiles of rows without compression are divided or joined, so that all files have as many rows in a tile. */
function fitted(files: readonly PlacedShard[]): readonly PlacedShard[] {
  const rows = commonRows(files.map(({ shard }) => shard));
  const fitted = rows === undefined ? files : files.map((file) => ({
    ...file,
    shard: withRows(file.shard, rows)!,
  }));
  const [first, ...others] = fitted;
  for (const { name, shard } of others) {
    const difference = differenceOf(first!.shard, shard);
    if (difference === undefined) continue;
    throw new RangeError(
      `${
        first!.name
      } and ${name} have ${difference}: files of one array agree in these; adopt them as several arrays, or convert some of them`,
    );
  }
  return fitted;
}

/** Matches keys of TIFFs. */
const EXTENSION = /\.(?:tiff?|btf|tf8)$/i;

/** The files of an array, and the encoding of their keys. */
interface FoundTiffs {
  readonly encoding: ChunkKeyEncoding;
  readonly files: readonly TiffFile[];
}

/**
 * Finds the files of an array: those that are given, or those below its root whose keys
 * the encoding decodes.
 *
 * @param root The prefix of the array's keys, without a last `/`.
 * @throws {RangeError} If there are none, or their keys are of several encodings.
 * @throws {TypeError} If the store cannot list and no files are given.
 */
export async function findTiffs(
  store: Store,
  root: "" | StoreKey,
  { chunkKeyEncoding, files, ...selection }:
    & Pick<AdoptTiffsOptions, "chunkKeyEncoding" | "files">
    & FilesSelection,
  options: StoreOptions,
): Promise<FoundTiffs> {
  const encodings = chunkKeyEncoding === undefined
    ? [".tiff", ".tif"].map((suffix) => new SuffixChunkKeyEncoding(suffix))
    : [toChunkKeyEncoding(chunkKeyEncoding)];
  if (files === undefined) {
    const found = await findFiles(store, root, encodings, EXTENSION, options);
    const placed = await placeByName(
      found.encoding,
      found.files,
      (key) => dimensionsOfTiff(store, key, selection, options),
      true,
    );
    return { encoding: found.encoding, files: placed };
  }
  if (files.length === 0) throw new RangeError("Expected files, found none");
  const isShort = files[0]!.key.toLowerCase().endsWith(".tif");
  return { encoding: (isShort && encodings[1]) || encodings[0]!, files };
}

/** Selects the files that are read, those of a share among them. */
export function tiffsToRead(
  files: readonly TiffFile[],
  options: Pick<AdoptTiffsOptions, "share" | "finish">,
): { toRead: readonly SharedFile<TiffFile>[]; own: number } {
  const toRead = filesOfShare(files, options);
  return { toRead, own: toRead.filter(({ isOwn }) => isOwn).length };
}

/** The array that one level of files makes. */
export interface TiffLevel {
  /** The elements of the first file. */
  readonly shard: TiffShard;
  readonly mosaic: Mosaic;
  readonly geo: GeoLevel;
  /** The files of a share, at the places of their chunks. */
  readonly files: readonly FileToAdopt[];
}

/**
 * Makes an array of one level of files.
 *
 * @param level The number of the level among those that were read, from 0.
 * @param areBandsFirst Whether bands come before rows; all shards can have them there.
 * @throws {RangeError} If the files do not fit together.
 */
export function levelOf(
  files: readonly ReadFile[],
  level: number,
  areBandsFirst = false,
): TiffLevel {
  const placed = fitted(placedAt(files, level))
    .map((file) => areBandsFirst ? withBands(file) : file);
  const mosaic = mosaicOfTiffs(placed);
  const { shard } = placed[0]!;
  const [height, width] = picture(shard.dimensionNames, mosaic.shape);
  const [factorY, factorX] = (["y", "x"] as const).map((axis) =>
    factorOf(files, level, axis)
  );
  return {
    shard,
    mosaic,
    geo: {
      height: height!,
      width: width!,
      factorY: factorY!,
      factorX: factorX!,
    },
    files: files.flatMap(({ key, size, isOwn, levels }, i) => {
      if (!isOwn) return [];
      const { contents } = levels[level]!;
      const { coordinates, shard } = placed[i]!;
      const index = indexOf(shard, mosaic.chunksPerShard);
      return [{ key, coordinates, size, index, contents }];
    }),
  };
}

function placedAt(files: readonly ReadFile[], level: number): PlacedShard[] {
  return files.map(({ name, coordinates, levels }) => {
    const { shard } = levels[level]!;
    return { name, coordinates, shape: shard.shape, shard };
  });
}

/** Whether the bands of all files can come before rows, or are there. */
export function canMoveBands(
  files: readonly ReadFile[],
  level: number,
): boolean {
  return fitted(placedAt(files, level))
    .every(({ shard }) => bandsFirst(shard) !== undefined);
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
function picture<T>(names: readonly string[], list: readonly T[]): T[] {
  return ["y", "x"].map((axis) => list[names.indexOf(axis)]!);
}

/** The number of elements of the page itself for each one of a level, by the longest file. */
function factorOf(
  files: readonly ReadFile[],
  level: number,
  axis: "y" | "x",
): number {
  const lengthOf = ({ picture: { height, width } }: ReadFile) =>
    axis === "y" ? height : width;
  const longest = files.reduce((a, b) => lengthOf(b) > lengthOf(a) ? b : a);
  const { dimensionNames, shape } = longest.levels[level]!.shard;
  return lengthOf(longest) / shape[dimensionNames.indexOf(axis)]!;
}

/** Finds the place of an array of files on the earth. */
export function geoPlaceOfTiffs(
  files: readonly ReadFile[],
): { place?: GeoPlace; notes: readonly string[] } {
  const most = (lengthOf: (file: ReadFile) => number) =>
    files.reduce((most, file) => Math.max(most, lengthOf(file)), 0);
  const height = most(({ picture }) => picture.height);
  const width = most(({ picture }) => picture.width);
  return geoPlaceOfFiles(files.map(({ name, coordinates, levels, ...file }) => {
    const [row, column] = picture(
      levels[0]!.shard.dimensionNames,
      coordinates,
    );
    const { picture: own } = file;
    return {
      name,
      ...own,
      row: row! * height,
      column: column! * width,
    };
  }));
}

/** The names of the dimensions of rows and columns; `undefined` if one has no name. */
export function pictureNames(
  { dimensionNames }: TiffShard,
  { dimensionNames: names = dimensionNames }: Pick<
    AdoptTiffsOptions,
    "dimensionNames"
  >,
): readonly [string, string] | undefined {
  const [y, x] = picture(dimensionNames, names);
  return y && x ? [y, x] : undefined;
}

/** The metadata of an array whose files are like a shard. */
export function metadataOf(
  shard: TiffShard,
  { shape, shardShape, chunksPerShard }: Mosaic,
  keyEncoding: ChunkKeyEncoding,
  { dimensionNames = shard.dimensionNames, attributes }: Pick<
    AdoptTiffsOptions,
    "dimensionNames" | "attributes"
  >,
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
    attributes,
  });
}

/** A file at its place in the grid. */
interface PlacedShard extends MosaicFile {
  readonly shard: TiffShard;
}

/**
 * Finds the shape of the array that files make, which agree in all but their shapes.
 *
 * @throws {RangeError} If the files do not fit together.
 */
function mosaicOfTiffs(files: readonly PlacedShard[]): Mosaic {
  const mosaic = mosaicOf(files, files[0]!.shard.tileShape, "tiles");
  const count = mosaic.chunksPerShard.reduce((product, n) => product * n, 1);
  if (count <= MOST_TILES) return mosaic;
  throw new RangeError(
    `Expected files of at most ${MOST_TILES} tiles, found ${count} in a file: adopt one page at a time by the option "page"`,
  );
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
  tiles.forEach((tile, n) => {
    let place = 0;
    let step = 1;
    for (let i = counts.length - 1; i >= 0; i--) {
      place += (n % counts[i]!) * step;
      n = Math.floor(n / counts[i]!);
      step *= chunksPerShard[i]!;
    }
    index[place] = tile;
  });
  return index;
}
