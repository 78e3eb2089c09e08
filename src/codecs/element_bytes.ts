import { sentence } from "../errors/mod.ts";
import { isWhole } from "../metadata/mod.ts";
import { checkNumberType, sizeOfType } from "./cast_elements.ts";
import {
  type Chunk,
  type ChunkMetadata,
  type Configuration,
  damaged,
} from "./codec.ts";

/**
 * The elements of a chunk in the order of the memory, in which they are stored:
 * zarrita's `transpose` changes elements and strides, but not the shape.
 *
 * @param size The length of an element in bytes.
 * @returns A view, or a copy if there are gaps between the elements.
 */
export function elementBytes(chunk: Chunk, size: number): Uint8Array {
  const { data } = chunk;
  if (data.BYTES_PER_ELEMENT !== size) {
    throw new TypeError(
      `Expected elements of ${size} bytes in the chunk, found ${data.BYTES_PER_ELEMENT}`,
    );
  }
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (chunk.shape.includes(0)) return bytes.subarray(0, 0);
  const dimensions = fastestFirst(chunk);
  let count = 1;
  let last = 0;
  let isDense = true;
  for (const { length, stride } of dimensions) {
    isDense &&= stride === count;
    count *= length;
    last += (length - 1) * stride;
  }
  if (!(size * (last + 1) <= bytes.length)) {
    throw new RangeError(
      sentence`Expected a chunk of the shape ${chunk.shape} and the stride ${chunk.stride} to have at least ${
        last + 1
      } elements, found ${bytes.length / size}`,
    );
  }
  return isDense
    ? bytes.subarray(0, count * size)
    : gather(bytes, dimensions, count, size);
}

/** The order of dimensions of a `transpose` as a list, the slowest first; the first documents of Zarr v3 have letters, too. */
export function transposeOrder(order: unknown, rank: number): number[] {
  const axes = Array.from({ length: rank }, (_, i) => i);
  return Array.isArray(order) ? order : order === "F" ? axes.reverse() : axes;
}

/**
 * The strides of elements whose dimensions lie in an order.
 *
 * @param order That of a `transpose`; C order by default.
 */
export function stridesOf(
  shape: readonly number[],
  order: unknown = "C",
): number[] {
  const strides = new Array<number>(shape.length);
  let step = 1;
  for (const axis of transposeOrder(order, shape.length).toReversed()) {
    strides[axis] = step;
    step *= shape[axis]!;
  }
  return strides;
}

/** Strides without gaps, with the dimensions in the same order. */
export function denseStrides({ shape, stride }: Chunk): number[] {
  const dense: number[] = new Array(shape.length);
  const order = shape.map((_, i) => i).reverse()
    .sort((a, b) => stride[a]! - stride[b]!);
  let step = 1;
  for (const dimension of order) {
    dense[dimension] = step;
    step *= shape[dimension]!;
  }
  return dense;
}

interface Dimension {
  readonly length: number;
  readonly stride: number;
}

/** The dimensions of more than one element, in the order of the memory. */
function fastestFirst({ shape, stride }: Chunk): Dimension[] {
  const dimensions = shape
    .map((length, i) => ({ length, stride: stride[i]! }))
    .filter(({ length }) => length !== 1);
  // A dimension with a stride of 0 may be anywhere in the order.
  if (dimensions.every(({ stride }) => stride >= 1)) {
    return dimensions.sort((a, b) => a.stride - b.stride);
  }
  throw new RangeError(
    sentence`Expected a chunk of the shape ${shape} to have strides from 1, found ${stride}`,
  );
}

function gather(
  bytes: Uint8Array,
  dimensions: readonly Dimension[],
  count: number,
  size: number,
): Uint8Array {
  const gathered = new Uint8Array(count * size);
  for (let i = 0; i < count; i++) {
    let rest = i;
    let place = 0;
    for (const { length, stride } of dimensions) {
      place += rest % length * stride;
      rest = Math.floor(rest / length);
    }
    for (let byte = 0; byte < size; byte++) {
      gathered[i * size + byte] = bytes[place * size + byte]!;
    }
  }
  return gathered;
}

/**
 * Makes a codec from array to bytes whose chunks are pictures, and which only decodes.
 *
 * @param decode Throws a `SyntaxError` for damaged bytes.
 * @param why The reason why it does not encode, for messages.
 */
export function pictureCodec(
  name: string,
  shape: readonly number[],
  decode: (encoded: Uint8Array) => Chunk["data"],
  why = "",
) {
  return {
    kind: "array_to_bytes",
    encode(): never {
      throw new Error(
        `${name} does not encode${why}: store the array with another codec`,
      );
    },
    decode(encoded: Uint8Array): Chunk {
      try {
        return { data: decode(encoded), shape, stride: stridesOf(shape) };
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
        throw damaged(encoded, `is not decoded by ${name}: ${error.message}`);
      }
    },
  };
}

/** The shape of the chunk that a codec encodes, after the `transpose` codecs before it. */
export function storedShape(
  name: string,
  { shape, codecs = [] }: ChunkMetadata,
): readonly number[] {
  const place = codecs.findIndex((codec) => codec.name === name);
  let stored = shape;
  for (const codec of codecs.slice(0, Math.max(place, 0))) {
    const { order } = codec.configuration as { order?: unknown } ?? {};
    if (codec.name !== "transpose") continue;
    stored = transposeOrder(order, stored.length).map((i) => stored[i]!);
  }
  return stored;
}

/** The number of elements in a row that starts at an axis. */
export function rowOf(shape: readonly number[], axis: number): number {
  return shape.slice(axis).reduce((product, n) => product * n, 1);
}

/** The axis in the configuration of a codec, the last one by default, which may count from the last one, -1. */
export function axisOf(
  members: Configuration<"axis">,
  dimensions: number,
): number {
  const axis = members.get("axis") ?? -1;
  const place = (axis as number) < 0 ? dimensions + (axis as number) : axis;
  if (isWhole(place) && place < dimensions) return place;
  throw members.refusal(
    "axis",
    `a whole number from ${-dimensions} to ${dimensions - 1}`,
  );
}

/** The length of a number in bytes. */
export function numberSize(name: string, dataType: string): number {
  return sizeOfType(checkNumberType(name, dataType));
}
