import { parseShardFiles } from "../arrays/shard_files.ts";
import { describe, describeAll } from "../metadata/describe.ts";
import type { ShardLayout } from "../shards/shard_layout.ts";
import { elementBytes } from "./element_bytes.ts";
import { type TileEncoding, tileEncoding } from "./tiff_codecs.ts";
import type { TiffOptions } from "./tiff_options.ts";

/** An array whose shards can be TIFF files. All shapes are in elements. */
export interface TiffArray extends TileEncoding {
  readonly shape: readonly number[];
  readonly shardShape: readonly number[];
  readonly gridShape: readonly number[];
  /** The shape of inner chunks, which are the tiles. */
  readonly tileShape: readonly number[];
  readonly layout: ShardLayout;
  /** Whether a record of the file lies before the index in the part of the index. */
  readonly hasRecord: boolean;
  readonly axes: Axes;
  readonly bits: number;
  /** The value of the tag SampleFormat. */
  readonly sampleFormat: number;
  readonly fillValue: unknown;
  /** The fill value as an element in the byte order of the array. */
  readonly fillBytes: Uint8Array;
}

/** The dimensions of an array by their meaning. */
export interface Axes {
  readonly y: number;
  readonly x: number;
  readonly bands?: number;
  /** Dimensions whose elements are pages of a file. */
  readonly pages: readonly number[];
}

const SAMPLE_FORMATS: Readonly<Record<string, number>> = {
  uint: 1,
  int: 2,
  float: 3,
};

const DATA_TYPES: readonly string[] = [
  ...[8, 16, 32, 64].map((bits) => `uint${bits}`),
  ...[8, 16, 32, 64].map((bits) => `int${bits}`),
  ...[16, 32, 64].map((bits) => `float${bits}`),
];

/**
 * Parses the metadata of an array whose shards are to be TIFF files.
 *
 * @throws {MetadataError} If the metadata is not valid.
 * @throws {RangeError} If TIFF cannot hold such shards.
 */
export function parseTiffArray(
  document: unknown,
  { bands }: TiffOptions,
): TiffArray {
  const { innerShape: tileShape, ...files } = parseShardFiles(document, {
    name: "TIFF",
    pieces: "tiles",
  });
  const { storage, layout, innerCodecs, hasRecord } = files;
  const { metadata, chunkShape: shardShape, gridShape } = storage;
  const { shape, data_type, fill_value } = metadata;
  const [, kind = "", digits] = /^(u?int|float)(\d+)$/.exec(
    String(data_type),
  ) ?? [];
  if (!DATA_TYPES.includes(data_type as string)) {
    throw new RangeError(
      `Expected one of the data types that TIFF has, ${
        describeAll(DATA_TYPES)
      }, found ${describe(data_type)}${
        data_type === "bool" ? ': store booleans as "uint8"' : ""
      }`,
    );
  }
  const axes = axesOf(shape, bands);
  assertTiles(tileShape, shape, axes);
  const bits = Number(digits);
  const encoding = tileEncoding(innerCodecs, {
    bits,
    isFloat: kind === "float",
    xAxis: axes.x,
    rank: shape.length,
  });
  return {
    ...encoding,
    shape,
    shardShape,
    gridShape,
    tileShape,
    layout,
    hasRecord,
    axes,
    bits,
    sampleFormat: SAMPLE_FORMATS[kind]!,
    fillValue: fill_value,
    fillBytes: elementBytes(kind, bits, fill_value, encoding.isLittleEndian),
  };
}

function axesOf(shape: readonly number[], bands: TiffOptions["bands"]): Axes {
  const rank = shape.length;
  const needed = bands === undefined ? 2 : 3;
  if (rank < needed) {
    throw new RangeError(
      `Expected an array of at least ${needed} dimensions${
        bands === undefined ? "" : `, as bands: "${bands}" needs them`
      }, found ${rank}`,
    );
  }
  const x = bands === "last" ? rank - 2 : rank - 1;
  const before = bands === "first" ? x - 2 : x - 1;
  return {
    y: x - 1,
    x,
    ...bands && { bands: bands === "last" ? rank - 1 : x - 2 },
    pages: Array.from({ length: before }, (_, i) => i),
  };
}

/** Refuses inner chunks that are not tiles of one picture. */
function assertTiles(
  tileShape: readonly number[],
  shape: readonly number[],
  { y, x, bands, pages }: Axes,
): void {
  if ([y, x].some((axis) => tileShape[axis]! % 16 !== 0)) {
    throw new RangeError(
      `Expected inner chunks with multiples of 16 elements along the dimensions ${y} and ${x}, as tiles of TIFF have, found the shape ${
        describe(tileShape)
      }`,
    );
  }
  const thick = [...pages, ...bands === x - 2 ? [bands] : []]
    .find((axis) => tileShape[axis] !== 1);
  if (thick !== undefined) {
    throw new RangeError(
      `Expected inner chunks of one element along dimension ${thick}, since a tile of TIFF holds one ${
        thick === bands ? "band" : "page"
      }, found the shape ${describe(tileShape)}`,
    );
  }
  if (bands === x + 1 && tileShape[bands] !== shape[bands]) {
    throw new RangeError(
      `Expected inner chunks with all ${
        shape[bands]
      } bands along dimension ${bands}, found the shape ${
        describe(tileShape)
      }: store bands in a dimension of their own before y and x, with bands: "first", to have each in tiles of its own`,
    );
  }
}
