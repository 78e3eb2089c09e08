/** The most elements of a picture along each side. */
const LONGEST_SIDE = 1024;

/**
 * The greatest window of a dimension that holds whole chunks, and starts at one.
 *
 * @param length The length of the dimension.
 * @param chunk The length of a chunk.
 * @param start An element in the first chunk of the window.
 * @returns The window, and the distance between possible starts.
 */
export function windowOf(
  length: number,
  chunk: number,
  start: number,
): { start: number; stop: number; step: number } {
  const step = Math.min(chunk, LONGEST_SIDE);
  const size = Math.min(length, Math.floor(LONGEST_SIDE / step) * step);
  const last = Math.ceil((length - size) / step) * step;
  const first = Math.min(Math.floor(start / step) * step, last);
  return { start: first, stop: Math.min(length, first + size), step };
}

/** Turns elements into numbers. Returns `undefined` for elements that are no numbers. */
export function numbersOf(data: unknown): ArrayLike<number> | undefined {
  if (data instanceof BigInt64Array || data instanceof BigUint64Array) {
    return Float64Array.from(data, Number);
  }
  if (ArrayBuffer.isView(data)) return data as Float64Array;
  if (typeof data !== "object" || data === null) return undefined;
  if (!(Symbol.iterator in data)) return undefined;
  const elements = Array.from(data as Iterable<unknown>);
  return elements.every((each) => typeof each === "boolean")
    ? elements.map(Number)
    : undefined;
}

/** Reorders the dimensions of elements in row-major order: at most three. */
export function transpose(
  values: ArrayLike<number>,
  shape: readonly number[],
  order: readonly number[],
): ArrayLike<number> {
  if (order.every((from, i) => from === i)) return values;
  const strides = shape.map((_, i) =>
    shape.slice(i + 1).reduce((a, b) => a * b, 1)
  );
  const result = new Float64Array(values.length);
  const [a = 1, b = 1, c = 1] = order.map((i) => shape[i]!);
  const [down = 0, right = 0, deep = 0] = order.map((i) => strides[i]!);
  for (let i = 0, to = 0; i < a; i++) {
    for (let j = 0; j < b; j++) {
      for (let k = 0; k < c; k++, to++) {
        result[to] = values[i * down + j * right + k * deep]!;
      }
    }
  }
  return result;
}
