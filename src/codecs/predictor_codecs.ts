/**
 * The predictors of TIFF, as the codecs `imagecodecs_delta` and `imagecodecs_floatpred` of
 * the Python package imagecodecs.
 * Source: https://github.com/cgohlke/imagecodecs, `imagecodecs/zarr.py`
 */
import { describe, MetadataError } from "../errors/mod.ts";
import { isWhole } from "../metadata/mod.ts";
import { TYPED_ARRAYS } from "./cast_elements.ts";
import {
  type ChunkMetadata,
  Configuration,
  type Filter,
  type ParseFilter,
} from "./codec.ts";
import { axisOf, numberSize, rowOf, storedShape } from "./element_bytes.ts";

/** `imagecodecs_delta`: differences along an axis, as in predictor 2 of TIFF. */
export const parseImagecodecsDelta: ParseFilter = (
  name,
  configuration,
  metadata,
) => {
  const rows = parseRows(name, configuration, metadata);
  return differences(rows, metadata.dataType);
};

/** The filter that stores differences of elements as unsigned integers, which wrap around. */
export function differences(rows: Rows, dataType: string): Filter {
  return {
    stored: dataType,
    encode(bytes) {
      const own = bytes.slice();
      subtractElements(own, rows);
      return own;
    },
    decode(bytes) {
      const own = bytes.slice();
      addElements(own, rows);
      return own;
    },
  };
}

/** `imagecodecs_floatpred`: predictor 3 of TIFF, along one of the last two axes. */
export const parseFloatpred: ParseFilter = (name, configuration, metadata) => {
  const rows = parseRows(name, configuration, metadata);
  const { dataType } = metadata;
  if (rows.size === 1) {
    throw new MetadataError(
      `Expected elements of 2 bytes or more for ${name}, found ${
        describe(dataType)
      }`,
    );
  }
  return {
    stored: dataType,
    encode: (bytes) => shuffleBytes(bytes, rows),
    decode: (bytes) => unshuffleBytes(bytes.slice(), rows),
  };
};

/** The rows of a predictor: its `axis` is -1 by default, and its `dist` 1. */
function parseRows(
  name: string,
  configuration: unknown,
  metadata: ChunkMetadata,
): Rows {
  const members = new Configuration(name, ["axis", "dist"], configuration);
  const dist = members.get("dist") ?? 1;
  const size = numberSize(name, metadata.dataType);
  const shape = storedShape(name, metadata);
  const place = axisOf(members, shape.length);
  const isFloatpred = name === "imagecodecs_floatpred";
  if (isFloatpred && place < shape.length - 2) {
    throw members.refusal("axis", "-1 or -2");
  }
  const isRight = isFloatpred
    ? isWhole(dist, 1) && shape[place]! % dist === 0
    : dist === 1;
  if (!isRight) {
    const expected = `a divisor of the length of the axis, ${shape[place]}`;
    throw members.refusal("dist", isFloatpred ? expected : "1");
  }
  const distance = rowOf(shape, place + 1) * (dist as number);
  return { size, count: rowOf(shape, place), distance };
}

/** The rows of a chunk, which are the elements from an axis on, in memory order. */
interface Rows {
  /** The length of an element in bytes. */
  readonly size: number;
  /** The number of elements in a row. */
  readonly count: number;
  /** The distance between elements that are subtracted, in elements. */
  readonly distance: number;
}

/** Subtracts from each element of a row the one before it, as unsigned integers, in place. */
function subtractElements(bytes: Uint8Array, rows: Rows): void {
  const elements = unsigned(bytes, rows.size);
  const { count, distance } = rows;
  for (let end = elements.length; end > 0; end -= count) {
    const first = end - count + distance;
    for (let i = end - 1; i >= first; i--) {
      (elements[i] as number) -= elements[i - distance] as number;
    }
  }
}

/** Reverses {@linkcode subtractElements}. */
function addElements(bytes: Uint8Array, rows: Rows): void {
  const elements = unsigned(bytes, rows.size);
  const { count, distance } = rows;
  for (let start = 0; start < elements.length; start += count) {
    for (let i = start + distance; i < start + count; i++) {
      (elements[i] as number) += elements[i - distance] as number;
    }
  }
}

/**
 * Sorts the bytes of each row by their significance, the highest first, and subtracts
 * from each byte the one before it. Source: TIFF Technical Note 3
 */
function shuffleBytes(bytes: Uint8Array, rows: Rows): Uint8Array {
  const { size, count } = rows;
  const shuffled = new Uint8Array(bytes.length);
  const row = size * count;
  for (let start = 0; start < bytes.length; start += row) {
    for (let byte = 0; byte < size; byte++) {
      const from = start + size - 1 - byte;
      const to = start + byte * count;
      for (let i = 0; i < count; i++) {
        shuffled[to + i] = bytes[from + i * size]!;
      }
    }
  }
  subtractElements(shuffled, { ...rows, size: 1, count: row });
  return shuffled;
}

/** Reverses {@linkcode shuffleBytes}. Changes `shuffled`. */
function unshuffleBytes(shuffled: Uint8Array, rows: Rows): Uint8Array {
  const { size, count } = rows;
  const row = size * count;
  addElements(shuffled, { ...rows, size: 1, count: row });
  const bytes = new Uint8Array(shuffled.length);
  for (let start = 0; start < bytes.length; start += row) {
    for (let byte = 0; byte < size; byte++) {
      const to = start + size - 1 - byte;
      const from = start + byte * count;
      for (let i = 0; i < count; i++) {
        bytes[to + i * size] = shuffled[from + i]!;
      }
    }
  }
  return bytes;
}

/** The elements as unsigned integers, which wrap around. */
function unsigned(
  { buffer, byteOffset, byteLength }: Uint8Array,
  size: number,
): Uint8Array | Uint16Array | Uint32Array | BigUint64Array {
  const Elements = TYPED_ARRAYS[`uint${8 * size}` as "uint8"];
  return new Elements(buffer, byteOffset, byteLength / size);
}
