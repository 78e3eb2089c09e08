import { describe } from "../errors/mod.ts";

/** Elements in memory, as zarrita takes them. Strides count elements. */
interface Chunk {
  readonly data: { readonly length: number };
  readonly shape: readonly number[];
  readonly stride: readonly number[];
}

/** The class of typed arrays for each numeric data type. */
const CLASSES: Readonly<Record<string, string>> = {
  int8: "Int8Array",
  int16: "Int16Array",
  int32: "Int32Array",
  int64: "BigInt64Array",
  uint8: "Uint8Array",
  uint16: "Uint16Array",
  uint32: "Uint32Array",
  uint64: "BigUint64Array",
  float16: "Float16Array",
  float32: "Float32Array",
  float64: "Float64Array",
};

/**
 * Converts a value to write into one that zarrita takes: one element, or a chunk with
 * the shape of the selection. Refuses values that zarrita would store as other
 * elements.
 */
export function writtenValue(
  value: unknown,
  shape: readonly number[],
  dataType: string,
): unknown {
  if (typeof value !== "object" || value === null) {
    assertElement(value, dataType);
    return value;
  }
  const chunk = "shape" in value
    ? value as unknown as Chunk
    : inOrder(value as Chunk["data"], shape);
  assertClass(chunk.data, dataType);
  assertFits(chunk, shape);
  return chunk;
}

/** Makes a chunk of a typed array in C order. */
function inOrder(data: Chunk["data"], shape: readonly number[]): Chunk {
  let count = 1;
  const stride = shape.toReversed().map((length) => {
    const stride = count;
    count *= length;
    return stride;
  }).reverse();
  if (data.length === count) return { data, shape, stride };
  throw new RangeError(
    `Expected ${count} elements for a selection of the shape ${
      describe(shape)
    }, found ${describe(data.length)}`,
  );
}

function assertElement(value: unknown, dataType: string): void {
  const expected = /^u?int64$/.test(dataType)
    ? "bigint"
    : dataType in CLASSES
    ? "number"
    : dataType === "bool"
    ? "boolean"
    : "string";
  const found: string = typeof value;
  if (found === expected) return;
  throw new TypeError(
    `Expected an element of ${dataType} to be a ${expected}, found ${
      describe(value)
    }`,
  );
}

function assertClass(data: unknown, dataType: string): void {
  const expected = CLASSES[dataType];
  const found = Object.prototype.toString.call(data).slice(8, -1);
  if (expected === undefined || found === expected) return;
  throw new TypeError(
    `Expected elements of ${dataType} in a ${expected}, found ${found}`,
  );
}

function assertFits(chunk: Chunk, shape: readonly number[]): void {
  const { data, stride } = chunk;
  const isShape = Array.isArray(chunk.shape) && Array.isArray(stride) &&
    stride.length === shape.length && chunk.shape.length === shape.length &&
    shape.every((length, i) => chunk.shape[i] === length);
  if (!isShape) {
    throw new RangeError(
      `Expected a chunk of the shape that is selected, ${
        describe(shape)
      }, and a stride for each dimension, found ${describe(chunk.shape)} and ${
        describe(stride)
      }`,
    );
  }
  if (shape.includes(0)) return;
  const ends = shape.map((length, i) => (length - 1) * stride[i]!);
  const last = ends.reduce((sum, end) => sum + Math.max(0, end), 0);
  if (last < data.length && ends.every((end) => end >= 0)) return;
  throw new RangeError(
    `Expected at least ${last + 1} elements for a chunk of the shape ${
      describe(shape)
    } and the stride ${describe(stride)}, found ${data.length}`,
  );
}
