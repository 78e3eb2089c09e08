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
  type GeoLevel,
  type GeoPlace,
  geoPlaceOfFiles,
  MOST_TILES,
  stacked,
  type TiffFileShards,
  type TiffPicture,
  type TiffShard,
  withBandsFirst,
  withRows,
} from "../tiff/mod.ts";
import type { AdoptedShard, PlacedFile, Placement } from "./adopt_files.ts";
import {
  adoptedLayout,
  adoptedParts,
  type Mosaic,
  type MosaicFile,
  mosaicOf,
} from "./adopted_array.ts";

/** A TIFF at its place in arrays. */
export type PlacedTiff = TiffFileShards & PlacedFile;

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
export function pictureOf<T>(
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
