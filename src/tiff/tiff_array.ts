import { ArrayStorage } from "../arrays/array_storage.ts";
import { flattenLayers } from "../concat_parts/flat_parts.ts";
import { describe, describeAll } from "../metadata/describe.ts";
import { below } from "../metadata/metadata_error.ts";
import { shardIndexSize } from "../shards/shard_index.ts";
import { parseShardLayout, type ShardLayout } from "../shards/shard_layout.ts";
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
  const storage = new ArrayStorage(document);
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
  const { layout, tileShape, codecs } = parseShards(
    metadata.codecs,
    shardShape,
  );
  const axes = axesOf(shape, bands);
  assertTiles(tileShape, shape, axes);
  assertParts(storage, layout);
  const bits = Number(digits);
  const encoding = tileEncoding(codecs, {
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
    axes,
    bits,
    sampleFormat: SAMPLE_FORMATS[kind]!,
    fillValue: fill_value,
    fillBytes: elementBytes(kind, bits, fill_value, encoding.isLittleEndian),
  };
}

function parseShards(
  codecs: readonly unknown[],
  shardShape: readonly number[],
): {
  layout: ShardLayout;
  tileShape: readonly number[];
  codecs: readonly unknown[];
} {
  const [codec, ...others] = codecs;
  const isSharded =
    (codec as { name?: unknown } | undefined)?.name === "sharding_indexed";
  if (!isSharded || others.length > 0) {
    throw new RangeError(
      'Expected an array with "sharding_indexed" as its only codec, since the tiles of a TIFF are inner chunks: give arrayMetadata a shardShape',
    );
  }
  const layout = below("/codecs/0", () => parseShardLayout(codec, shardShape));
  const { configuration } = codec as {
    configuration: { chunk_shape: number[]; codecs: unknown[] };
  };
  if (layout.indexLocation === "start") {
    throw new RangeError(
      'Expected the index at the end of shards, since a TIFF begins with its own header, found it at the start: set index_location to "end"',
    );
  }
  return {
    layout,
    tileShape: configuration.chunk_shape,
    codecs: configuration.codecs,
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

/** Refuses parts that would divide the TIFF: all of it must lie in the part without a size. */
function assertParts({ layers }: ArrayStorage, layout: ShardLayout): void {
  const { parts } = flattenLayers(layers);
  const place = parts.findIndex(({ size }) => size === undefined);
  const isAlone = parts.filter(({ size }) => size === undefined).length === 1;
  const after = parts.slice(place + 1)
    .reduce((sum, { size = 0 }) => sum + size, 0);
  const indexSize = shardIndexSize(layout);
  if (place === 0 && isAlone && after <= indexSize) return;
  throw new RangeError(
    `Expected parts that leave the TIFF whole: first the one without a size, and then none, or those of the index of ${indexSize} bytes, found ${
      describe(
        parts.map(({ keySuffix, size }) =>
          size === undefined ? keySuffix : `${keySuffix}:${size}`
        ),
      )
    }: for example parts: ["", ".index"]`,
  );
}
