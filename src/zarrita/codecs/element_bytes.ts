import { describe } from "../../metadata/describe.ts";
import type { Chunk } from "./codec.ts";

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
      `Expected a chunk of the shape ${describe(chunk.shape)} and the stride ${
        describe(chunk.stride)
      } to have at least ${last + 1} elements, found ${bytes.length / size}`,
    );
  }
  return isDense
    ? bytes.subarray(0, count * size)
    : gather(bytes, dimensions, count, size);
}

/** The strides of elements in C order. */
export function stridesOf(shape: readonly number[]): number[] {
  let stride = 1;
  return shape.toReversed().map((length) => {
    const step = stride;
    stride *= length;
    return step;
  }).reverse();
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
  // A stride of 0 does not tell the place of its dimension in the order.
  if (dimensions.every(({ stride }) => stride >= 1)) {
    return dimensions.sort((a, b) => a.stride - b.stride);
  }
  throw new RangeError(
    `Expected a chunk of the shape ${
      describe(shape)
    } to have strides from 1, found ${describe(stride)}`,
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
