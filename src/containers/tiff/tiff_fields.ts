import type { ShardIndex } from "../../shards/mod.ts";
import type { TiffArray } from "./tiff_array.ts";
import type { Field } from "./tiff_directory.ts";
import type { TiffGeoreference, TiffOptions } from "./tiff_options.ts";

/** The part of an array that a shard holds. */
export interface Picture {
  /** The grid coordinates of the shard. */
  readonly shard: readonly number[];
  /** The lengths of the part in elements. At the edge of the array they are less than those of a shard. */
  readonly shape: readonly number[];
}

/** The extent of a tile in a file; offset and length are 0 for a sparse tile. */
export interface Tile {
  readonly offset: number;
  readonly length: number;
}

const UNITS = { none: 1, inch: 2, centimeter: 3 } as const;

/** The part of an array that lies in a shard. */
export function pictureOf(
  { shape, shardShape }: TiffArray,
  shard: readonly number[],
): Picture {
  return {
    shard,
    shape: shape.map((length, i) =>
      Math.min(shardShape[i]!, length - shard[i]! * shardShape[i]!)
    ),
  };
}

/**
 * Lists the places in the index of the tiles of a picture: for each page, those of its
 * bands, rows and columns.
 */
export function tilePlaces(
  { tileShape, layout, axes }: TiffArray,
  { shape }: Picture,
): number[][] {
  const { chunksPerShard } = layout;
  const counts = shape.map((length, i) => Math.ceil(length / tileShape[i]!));
  const first = axes.pages.length;
  const placesFrom = (
    axis: number,
    end: number,
    outer: readonly number[],
  ): number[] =>
    axis === end ? [...outer] : placesFrom(
      axis + 1,
      end,
      outer.flatMap((place) =>
        Array.from(
          { length: counts[axis]! },
          (_, i) => place * chunksPerShard[axis]! + i,
        )
      ),
    );
  return placesFrom(0, first, [0])
    .map((page) => placesFrom(first, counts.length, [page]));
}

/** The fields of each page of a picture. */
export function pageFields(
  array: TiffArray,
  picture: Picture,
  options: TiffOptions,
  tiles: readonly (readonly Tile[])[],
): Field[][] {
  const shared = [
    ...pictureFields(array, picture, options),
    ...descriptiveFields(array, options),
    ...options.georeference
      ? georeferenceFields(array, picture, options.georeference)
      : [],
  ];
  return tiles.map((page) => [
    ...shared,
    // A page of several, and no smaller version of another one.
    ...tiles.length > 1 ? [[254, "long", [2]] as const] : [],
    [324, "offset", page.map(({ offset }) => offset)],
    [325, "offset", page.map(({ length }) => length)],
  ]);
}

/** Resolves the extents of tiles by the index. Absent tiles share the one that is given. */
export function resolveTiles(
  places: readonly (readonly number[])[],
  index: ShardIndex,
  absent: Tile,
): Tile[][] {
  return places.map((page) => page.map((place) => index[place] ?? absent));
}

function pictureFields(
  { tileShape, axes, bits, sampleFormat, compression, predictor }: TiffArray,
  { shape }: Picture,
  { bands, colors }: TiffOptions,
): Field[] {
  const { x, y } = axes;
  const samples = axes.bands === undefined ? 1 : shape[axes.bands]!;
  const isRgb = colors === "rgb";
  const extra = samples - (isRgb ? 3 : 1);
  return [
    [256, "long", [shape[x]!]],
    [257, "long", [shape[y]!]],
    [258, "short", Array(samples).fill(bits)],
    [259, "short", [compression]],
    [262, "short", [isRgb ? 2 : 1]],
    [277, "short", [samples]],
    [284, "short", [bands === "first" ? 2 : 1]],
    ...predictor > 1 ? [[317, "short", [predictor]] as const] : [],
    [322, "long", [tileShape[x]!]],
    [323, "long", [tileShape[y]!]],
    // The fourth band of a picture in colors is its alpha, which is not multiplied in.
    ...extra > 0
      ? [
        [
          338,
          "short",
          Array.from({ length: extra }, (_, i) => isRgb && i === 0 ? 2 : 0),
        ] as const,
      ]
      : [],
    [339, "short", Array(samples).fill(sampleFormat)],
  ];
}

function descriptiveFields(
  { fillBytes, fillValue }: TiffArray,
  { description, resolution, noData, sparse }: TiffOptions,
): Field[] {
  // Readers take sparse tiles for zeros unless they know another value.
  const missing = noData ??
    (sparse && fillBytes.some((byte) => byte !== 0) ? fillValue : undefined);
  return [
    ...description === undefined ? [] : [[270, "ascii", description] as const],
    ...resolution
      ? [
        [282, "rational", rational(resolution.x)] as const,
        [283, "rational", rational(resolution.y)] as const,
        [296, "short", [UNITS[resolution.unit ?? "none"]]] as const,
      ]
      : [],
    ...missing === undefined
      ? []
      : [[42113, "ascii", numberText(missing)] as const],
  ];
}

/** Shifts a georeference to the first pixel of a shard. */
function georeferenceFields(
  { shardShape, axes }: TiffArray,
  { shard }: Picture,
  georeference: TiffGeoreference,
): Field[] {
  const { modelPixelScale, modelTiepoint } = georeference;
  const { geoKeyDirectory, geoDoubleParams, geoAsciiParams } = georeference;
  const [column, row] = [axes.x, axes.y]
    .map((axis) => shard[axis]! * shardShape[axis]!);
  const [i, j, k, x, y, z] = modelTiepoint;
  const [scaleX, scaleY] = modelPixelScale;
  const tiepoint = [i, j, k, x + column! * scaleX, y - row! * scaleY, z];
  return [
    [33550, "double", modelPixelScale],
    [33922, "double", tiepoint],
    ...geoKeyDirectory ? [[34735, "short", geoKeyDirectory] as const] : [],
    ...geoDoubleParams ? [[34736, "double", geoDoubleParams] as const] : [],
    ...geoAsciiParams === undefined
      ? []
      : [[34737, "ascii", geoAsciiParams] as const],
  ];
}

/** The text of a number as GDAL writes it. */
function numberText(value: unknown): string {
  const text = String(
    (value as { rawJSON?: unknown } | null)?.rawJSON ?? value,
  );
  return text === "NaN" ? "nan" : text.replace("Infinity", "inf");
}

/** A fraction of two whole numbers below 2^32 that is close to a number: the last such convergent of its continued fraction. */
export function rational(value: number): [number, number] {
  let [before, now] = [[0, 1], [1, 0]] as [[number, number], [number, number]];
  let rest = value;
  while (true) {
    const whole = Math.floor(rest);
    const next: [number, number] = [
      whole * now[0] + before[0],
      whole * now[1] + before[1],
    ];
    if (Math.max(...next) >= 2 ** 32) return now;
    [before, now] = [now, next];
    if (rest === whole || now[0] / now[1] === value) return now;
    rest = 1 / (rest - whole);
  }
}
