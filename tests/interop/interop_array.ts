import type { ArrayMetadata } from "../../mod.ts";
import {
  elementBytes,
  fillBytes,
  fillJson,
  type FillValue,
} from "./elements.ts";

type Codec = { name: string; configuration?: Record<string, unknown> };

/** An array that one program writes and another one reads. */
export interface InteropArray {
  readonly path: string;
  readonly metadata: ArrayMetadata;
  /** Whether the writer chooses all metadata except for the shape and the data type. */
  readonly byDefault: boolean;
  /** The shape of a chunk, or of a shard. */
  readonly chunkShape: readonly number[];
  /** The shapes of inner chunks, outermost first. */
  readonly innerShapes: readonly (readonly number[])[];
  readonly fill: Uint8Array;
  /** All elements in C order, little endian. Some chunks have only the fill value. */
  readonly elements: Uint8Array;
}

/** Options of an array; by default it is unsharded, two-dimensional, and not a multiple of its chunk shape. */
export interface ArrayOptions {
  dataType?: string;
  shape?: readonly number[];
  /** The shape of a chunk, or of a shard. */
  chunkShape?: readonly number[];
  /** The shapes of inner chunks, outermost first. */
  innerShapes?: readonly (readonly number[])[];
  fill?: FillValue;
  codecs?: readonly Codec[];
  /** Whether all elements are the fill value. */
  isEmpty?: boolean;
  byDefault?: boolean;
}

export function interopArray(
  path: string,
  {
    dataType = "int16",
    shape = [7, 5],
    chunkShape = [3, 2],
    innerShapes = [],
    fill = 3,
    codecs = [bytes(dataType)],
    isEmpty = false,
    byDefault = false,
  }: ArrayOptions = {},
): InteropArray {
  const metadata: ArrayMetadata = {
    zarr_format: 3,
    node_type: "array",
    shape,
    data_type: dataType,
    chunk_grid: { name: "regular", configuration: { chunk_shape: chunkShape } },
    chunk_key_encoding: { name: "default", configuration: { separator: "/" } },
    fill_value: dataType.startsWith("complex") ? [fill, fill] : fillJson(fill),
    codecs,
  };
  const blocks = [chunkShape, ...innerShapes];
  const fillElement = fillBytes(dataType, fill);
  const elements = coordinatesIn(shape).flatMap((coordinates, index) => {
    const isFill = isEmpty ||
      blocks.some((block) => isAbsent(coordinates, block));
    return [...isFill ? fillElement : elementBytes(dataType, index + 2)];
  });
  return {
    path,
    metadata,
    byDefault,
    chunkShape,
    innerShapes,
    fill: fillElement,
    elements: Uint8Array.from(elements),
  };
}

/** Composes the codec `bytes`, with a byte order if elements have several bytes. */
export function bytes(
  dataType: string,
  endian: "little" | "big" = "little",
): Codec {
  return ["bool", "int8", "uint8"].includes(dataType)
    ? { name: "bytes" }
    : { name: "bytes", configuration: { endian } };
}

/** Composes the codec `sharding_indexed`. */
export function sharded(
  innerShape: readonly number[],
  codecs: readonly Codec[],
  { endian = "little", hasChecksum = true, location = "end" } = {},
): Codec {
  return {
    name: "sharding_indexed",
    configuration: {
      chunk_shape: innerShape,
      codecs,
      index_codecs: [
        { name: "bytes", configuration: { endian } },
        ...hasChecksum ? [{ name: "crc32c" }] : [],
      ],
      index_location: location,
    },
  };
}

/** Returns the coordinates of the blocks of a shape that hold more than the fill value. */
export function filledBlocks(
  { metadata, fill, elements }: InteropArray,
  block: readonly number[],
): number[][] {
  const filled = new Map<string, number[]>();
  coordinatesIn(metadata.shape).forEach((coordinates, index) => {
    const isFill = fill.every((byte, i) =>
      elements[index * fill.length + i] === byte
    );
    if (isFill) return;
    const found = coordinates.map((c, i) => Math.floor(c / block[i]!));
    filled.set(found.join(), found);
  });
  return [...filled.values()];
}

/** Returns all coordinates in a shape, in C order. */
export function coordinatesIn(shape: readonly number[]): number[][] {
  return shape.reduce<number[][]>(
    (all, length) =>
      all.flatMap((coordinates) =>
        Array.from({ length }, (_, i) => [...coordinates, i])
      ),
    [[]],
  );
}

/** Returns whether an element is in a block of only the fill value: one block in three. */
function isAbsent(
  coordinates: readonly number[],
  block: readonly number[],
): boolean {
  const sum = coordinates.reduce(
    (sum, c, i) => sum + Math.floor(c / block[i]!),
    0,
  );
  return sum % 3 === 1;
}
