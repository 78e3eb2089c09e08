import { describe, sentence } from "../errors/mod.ts";
import { isSameJson, type NamedConfiguration } from "../metadata/mod.ts";
import { isSameList } from "../runtime/mod.ts";
import type { ShardIndex } from "../shards/mod.ts";
import {
  dividedRows,
  greatestDivisor,
  MOST_TILES,
  type TiffPage,
} from "./describe_tiff.ts";
import type { TiffSeries } from "./ome_axes.ts";
import { PageDamage, PageProblem } from "./tiff_tags.ts";

/** The elements of a file as a shard: those of one page, or of pages of one kind along a first dimension. */
export interface TiffShard {
  readonly dimensionNames: readonly string[];
  readonly shape: readonly number[];
  readonly tileShape: readonly number[];
  readonly dataType: string;
  readonly fillValue: number | bigint;
  readonly codecs: readonly NamedConfiguration[];
  readonly tiles: ShardIndex;
}

/**
 * Makes a shard of pages.
 *
 * @throws {PageProblem} If a page is damaged or cannot be in an array, or the pages differ.
 */
export function shardOf(pages: readonly TiffPage[]): TiffShard {
  const shards = withSameRows(pages.map((page): TiffShard => {
    const { problem, isDamaged, axes, dataType, codecs } = page;
    if (isDamaged) throw new PageDamage(`is damaged: ${problem}`);
    if (
      problem !== undefined || dataType === undefined || codecs === undefined
    ) {
      throw new PageProblem(`cannot be part of an array: ${problem}`);
    }
    return { ...page, dimensionNames: axes, dataType, codecs };
  }));
  const [first, ...others] = shards;
  if (others.length === 0) return first!;
  for (const [i, other] of shards.entries()) {
    const difference = differenceOf(first!, other) ??
      (isSameList(first!.shape, other.shape)
        ? undefined
        : sentence`different shapes, ${first!.shape} and ${other.shape}`);
    if (difference === undefined) continue;
    throw new PageProblem(
      `has ${shards.length} pictures, of which 0 and ${i} have ${difference}: choose a page by the option "page"`,
    );
  }
  return {
    ...first!,
    dimensionNames: ["page", ...first!.dimensionNames],
    shape: [shards.length, ...first!.shape],
    tileShape: [1, ...first!.tileShape],
    tiles: shards.flatMap(({ tiles }) => tiles),
  };
}

/** Divides pages of one shape, whose strips without compression differ, into tiles of one shape. */
function withSameRows(shards: readonly TiffShard[]): readonly TiffShard[] {
  const [first] = shards as readonly [TiffShard];
  const isFirst = (member: "shape" | "tileShape") => (shard: TiffShard) =>
    isSameList(shard[member], first[member]);
  const areDivided = shards.every(isFirst("shape")) &&
    !shards.every(isFirst("tileShape"));
  const rows = areDivided ? commonRows(shards) : undefined;
  return rows === undefined
    ? shards
    : shards.map((shard) => withRows(shard, rows)!);
}

/**
 * Makes a shard of the pages of a series, with the dimensions `t`, `c`, `z`, `y` and `x`, of
 * which those of one element are left out, except `y` and `x`.
 *
 * @param pages The pages in C order of `t`, `c` and `z`.
 */
export function seriesShardOf(
  pages: readonly TiffPage[],
  { counts }: TiffSeries,
): TiffShard {
  const flat = shardOf(pages);
  const first = pages.length === 1 ? flat : shardOf(pages.slice(0, 1));
  const { dimensionNames: names, shape, tileShape } = first;
  const bands = shape[names.indexOf("band")] ?? 1;
  const isPlanar = names[0] === "band";
  const isLast = names.at(-1) === "band";
  const y = names.indexOf("y");
  // Pixels with all their bands are chunks of several channels, unless rows may be missing.
  const isMoved = isLast && bandsFirst(first) !== undefined;
  const channels = counts.c * (isLast && !isMoved ? 1 : bands);
  const axes = [
    { name: "t", length: counts.t, tile: 1 },
    { name: "c", length: channels, tile: isMoved ? bands : 1 },
    { name: "z", length: counts.z, tile: 1 },
  ].filter(({ length }) => length > 1);
  const picture = isMoved ? [y, y + 1] : names.map((_, i) => i).slice(y);
  const codecs = [...flat.codecs];
  const c = axes.findIndex(({ name }) => name === "c");
  if (isMoved && c >= 0) {
    const order = [...axes, ...picture].map((_, i) => i);
    order.push(...order.splice(c, 1));
    codecs.unshift({ name: "transpose", configuration: { order } });
  }
  return {
    ...flat,
    dimensionNames: [
      ...axes.map(({ name }) => name),
      ...picture.map((i) => names[i]!),
    ],
    shape: [
      ...axes.map(({ length }) => length),
      ...picture.map((i) => shape[i]!),
    ],
    tileShape: [
      ...axes.map(({ tile }) => tile),
      ...picture.map((i) => tileShape[i]!),
    ],
    codecs,
    tiles: isPlanar ? planarTiles(flat.tiles, counts, bands) : flat.tiles,
  };
}

/** The tiles of pages of several planes of bands, with bands before `z`. */
function planarTiles(
  tiles: ShardIndex,
  { t, c, z }: TiffSeries["counts"],
  bands: number,
): ShardIndex {
  const perBand = tiles.length / (t * c * z * bands);
  const ordered: ShardIndex[number][] = [];
  for (let channel = 0; channel < t * c; channel++) {
    for (let band = 0; band < bands; band++) {
      for (let slice = 0; slice < z; slice++) {
        const start = ((channel * z + slice) * bands + band) * perBand;
        for (let i = 0; i < perBand; i++) ordered.push(tiles[start + i]);
      }
    }
  }
  return ordered;
}

/** Moves the last number of a list, that of bands, to the place before `y`. */
export function withBandsFirst<T>(list: readonly T[], y: number): T[] {
  return [...list.slice(0, y), list.at(-1)!, ...list.slice(y, -1)];
}

/**
 * Puts the bands of a shard before its rows, by the codec `transpose`. A shard without
 * bands after its columns stays as it is.
 *
 * @returns `undefined` if the last chunk of a column may lack rows, which can only be
 * filled up where rows come first.
 */
export function bandsFirst(shard: TiffShard): TiffShard | undefined {
  const { dimensionNames, shape, tileShape, codecs } = shard;
  if (dimensionNames.at(-1) !== "band") return shard;
  const y = dimensionNames.indexOf("y");
  const isWhole = shape[y]! % tileShape[y]! === 0 ||
    tileShape[y + 1] !== shape[y + 1];
  if (!isWhole) return undefined;
  const order = dimensionNames.map((_, i) => i);
  order.splice(y, 3, y + 1, y + 2, y);
  return {
    ...shard,
    dimensionNames: withBandsFirst(dimensionNames, y),
    shape: withBandsFirst(shape, y),
    tileShape: withBandsFirst(tileShape, y),
    codecs: [{ name: "transpose", configuration: { order } }, ...codecs],
  };
}

/**
 * Returns the difference by which two shards cannot be in one array, such as `different data
 * types, "uint8" and "int8"`; `undefined` if they can be. Their shapes may differ.
 */
export function differenceOf(a: TiffShard, b: TiffShard): string | undefined {
  const differ = (
    what: string,
    valueOf: (shard: TiffShard) => unknown,
  ): string | undefined => {
    const [one, other] = [valueOf(a), valueOf(b)];
    const isSame = Object.is(one, other) ||
      Array.isArray(one) && isSameJson(one, other);
    return isSame
      ? undefined
      : `different ${what}, ${describe(one)} and ${describe(other)}`;
  };
  return differ("dimensions", (shard) => shard.dimensionNames) ??
    differ("data types", (shard) => shard.dataType) ??
    differ("shapes of tiles", (shard) => shard.tileShape) ??
    differ("codecs", namesOf) ??
    (isSameJson(a.codecs, b.codecs)
      ? undefined
      : "different tables (JPEGTables) for their tiles") ??
    differ("fill values (GDAL_NODATA)", (shard) => shard.fillValue);
}

/** The names of the codecs, with the configuration of each except its tables. */
function namesOf({ codecs }: TiffShard): string[] {
  return codecs.map(({ name, configuration = {} }) => {
    const { tables: _, ...others } = configuration;
    const hasOthers = Object.keys(others).length > 0;
    return hasOthers ? `${name} ${JSON.stringify(others)}` : name;
  });
}

/** The codecs that store rows of elements one after another. */
const UNCOMPRESSED = ["bytes", "imagecodecs_packints", "zarr-parts.bitorder"];

/** The length in bytes of inner chunks of rows, up to which they are not divided, and to about which others are. */
const LARGEST_PIECE = 2 ** 22;
const PIECE = 2 ** 20;

/**
 * Finds the rows of a shard: their dimension, the number in a plane, in a tile and in a run of
 * rows that lie one after another, and the length of a row in bytes; `undefined` unless all
 * tiles are whole rows of elements without compression.
 */
function rowsOf(
  { dimensionNames, tileShape, shape, codecs, tiles }: TiffShard,
) {
  const [y, x] = [dimensionNames.indexOf("y"), dimensionNames.indexOf("x")];
  const isRows = tileShape[x] === shape[x] &&
    codecs.every(({ name }) => UNCOMPRESSED.includes(name));
  if (!isRows) return undefined;
  const [height, perTile] = [shape[y]!, tileShape[y]!];
  const count = Math.ceil(height / perTile);
  const areJoined = height % perTile === 0 &&
    tiles.every((tile, i) =>
      tile !== undefined && (i % count === count - 1 ||
        tiles[i + 1]?.offset === tile.offset + tile.length)
    );
  const length = tiles.find((tile) => tile !== undefined)?.length ?? 0;
  return {
    y,
    height,
    perTile,
    run: areJoined ? height : perTile,
    size: length / perTile,
  };
}

/**
 * Chooses the number of rows of the inner chunks of shards whose tiles are rows without
 * compression, which can be cut anywhere between two rows, and joined where they lie one
 * after another. One number for all shards divides them without a rest, and gives inner
 * chunks of up to 4 MiB, or else of about 1 MiB.
 *
 * @returns `undefined` if tiles of a shard are no such rows.
 */
export function commonRows(shards: readonly TiffShard[]): number | undefined {
  const rows = shards.map(rowsOf).filter((each) => each !== undefined);
  if (rows.length < shards.length) return undefined;
  const most = rows.reduce(
    (common, { run }) => greatestDivisor(common, run),
    0,
  );
  const size = Math.max(...rows.map(({ size }) => size));
  if (most * size <= LARGEST_PIECE) return most;
  const distance = (count: number) => Math.abs(Math.log(count * size / PIECE));
  // Tiles of a TIFF have multiples of 16 rows, so that such a file can be written anew.
  const areTiles = rows.every(({ perTile }) => perTile % 16 === 0);
  const isFew = (count: number) =>
    rows.every(({ height, perTile }, i) => {
      const planes = shards[i]!.tiles.length / Math.ceil(height / perTile);
      return planes * Math.ceil(height / count) <= MOST_TILES;
    });
  return divisorsOf(most)
    .filter((count) => isFew(count) && (!areTiles || count % 16 === 0))
    .reduce(
      (best, count) => distance(count) < distance(best) ? count : best,
      most,
    );
}

function divisorsOf(number: number): number[] {
  const divisors: number[] = [];
  for (let i = 1; i * i <= number; i++) {
    if (number % i === 0) divisors.push(i, number / i);
  }
  return divisors;
}

/**
 * Divides a shard into tiles of other numbers of rows.
 *
 * @param count A number of rows that divides those of a tile, or those of a plane where
 * these lie one after another.
 * @returns `undefined` if the shard cannot be divided so.
 */
export function withRows(
  shard: TiffShard,
  count: number,
): TiffShard | undefined {
  const rows = rowsOf(shard);
  if (rows === undefined) return undefined;
  const { y, height, perTile, size, run } = rows;
  if (!(count > 0 && run % count === 0)) return undefined;
  return {
    ...shard,
    tileShape: shard.tileShape.with(y, count),
    tiles: dividedRows(shard.tiles, { height, perTile, count, size }),
  };
}
