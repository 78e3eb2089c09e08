import { arrayMetadata } from "../arrays/mod.ts";
import type { ChunkKeyEncoding } from "../chunk_key_encoding/mod.ts";
import { DamageError, describe } from "../errors/mod.ts";
import type { ArrayMetadata } from "../metadata/mod.ts";
import type { ShardIndex } from "../shards/mod.ts";
import {
  describeStore,
  readSize,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";
import {
  assertJpeg,
  bandsFirst,
  commonRows,
  differenceOf,
  encodeSelection,
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
import type { AdoptedShard, PlacedFile, Placement } from "./adopt_files.ts";
import { adoptedLayout, adoptedParts } from "./adopted_index.ts";
import { type Mosaic, type MosaicFile, mosaicOf } from "./mosaic.ts";

/** The pages of TIFFs that are adopted. */
export interface TiffSelection {
  readonly page?: number | undefined;
  readonly series?: number | undefined;
  readonly overview?: number | undefined;
  readonly fillValue?: number | bigint | undefined;
  /** Whether all overviews of a file are read, beside the page itself, and a series is selected by default. */
  readonly isPyramid: boolean;
}

/** A TIFF that was read, with the elements of each level that is adopted. */
export interface ReadTiffFile {
  /** The length of the file in bytes. */
  readonly size: number;
  /** The elements of each level, the largest first, and the number of the contents that an index describes. */
  readonly levels: readonly {
    readonly shard: TiffShard;
    readonly contents: number;
  }[];
  /** The note on overviews that are left out, with the reason. */
  readonly notes: readonly string[];
  /** Notes on pages that are left out, since they are damaged. */
  readonly damages: readonly string[];
  /** The number of overviews that the file has. */
  readonly overviews: number;
  readonly picture: TiffPicture;
  /** The series that is adopted. */
  readonly series: TiffSeries | undefined;
  /** Whether the file has a series that is not adopted. */
  readonly hasSeries: boolean;
}

/** A TIFF at its place in arrays. */
export type PlacedTiff = ReadTiffFile & PlacedFile;

/** Reads the directories of a TIFF. */
export async function readTiffFile(
  store: Store,
  key: StoreKey,
  { isPyramid, fillValue, page, series, overview }: TiffSelection,
  options: StoreOptions,
): Promise<ReadTiffFile> {
  const name = `File ${describe(key)}`;
  const size = await readSize(store, key, options);
  if (size === undefined) {
    throw new Error(`There is no ${name} in ${describeStore(store)}`);
  }
  const tiff = await readTiff(
    store,
    { key, size },
    { page, series },
    options,
    isPyramid,
  );
  const selection = { page, series: tiff.series?.place };
  const numbers = isPyramid
    ? Array.from({ length: tiff.overviews + 1 }, (_, i) => i)
    : [overview];
  const levels: ReadTiffFile["levels"][number][] = [];
  const notes: string[] = [];
  for (const [i, number] of numbers.entries()) {
    try {
      const shard = tiff.shardOf(number);
      assertTiles(shard, name, key, size);
      if (shard.codecs.some(({ name }) => name === "imagecodecs_jpeg")) {
        await assertJpeg(store, key, shard, options);
      }
      if (i > 0) assertLike(levels[0]!.shard, shard, number!, name);
      levels.push({
        shard: withFillValue(shard, fillValue, name),
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
    size,
    levels,
    notes,
    damages: tiff.notes,
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
  const textOf = ({ dimensionNames, dataType }: TiffShard) =>
    `the dimensions ${describe(dimensionNames)} and the data type ${
      describe(dataType)
    }`;
  const [expected, found] = [textOf(page), textOf(overview)];
  if (expected === found) return;
  throw new RangeError(
    `${name} has an overview ${number} with ${found}, where the page itself has ${expected}`,
  );
}

/** Refuses a file that is cut short. */
function assertTiles(
  { tiles, dimensionNames }: TiffShard,
  name: string,
  key: StoreKey,
  size: number,
): void {
  const end = tiles.reduce(
    (most, tile) => tile ? Math.max(most, tile.offset + tile.length) : most,
    0,
  );
  if (end <= size) return;
  throw new DamageError(
    `${name} is ${size} bytes long, where its tiles end at ${end}: it is truncated, so get it again${
      dimensionNames[0] === "page"
        ? ', or choose a page that it has, by the option "page"'
        : ""
    }`,
    { key },
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

/** The array that one level of files makes. */
export interface TiffLevel {
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
export function levelOf(
  files: readonly PlacedTiff[],
  level: number,
  stack: number,
  areBandsFirst = false,
): TiffLevel {
  const placed = fitted(placedAt(files, level, stack))
    .map((file) => areBandsFirst ? withBands(file) : file);
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

/** The elements of a file at the place of the file. */
interface PlacedShard extends MosaicFile {
  readonly shard: TiffShard;
}

function placedAt(
  files: readonly PlacedTiff[],
  level: number,
  stack: number,
): PlacedShard[] {
  return files.map(({ name, coordinates, levels }) => {
    const shard = stacked(levels[level]!.shard, stack);
    return { name, coordinates, shape: shard.shape, shard };
  });
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

/** Whether the bands of all files can come before rows, or are there. */
export function canMoveBands(
  files: readonly PlacedTiff[],
  level: number,
  stack: number,
): boolean {
  return fitted(placedAt(files, level, stack))
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
export function geoPlaceOfTiffs(
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

/** The names of the dimensions of rows and columns; `undefined` if one has no name. */
export function pictureNames(
  { dimensionNames }: TiffShard,
  { dimensionNames: names = dimensionNames }: Pick<Placement, "dimensionNames">,
): readonly [string, string] | undefined {
  const { y, x } = pictureOf(dimensionNames, names);
  return y && x ? [y, x] : undefined;
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
