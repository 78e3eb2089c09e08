import { stridesOf } from "../codecs/mod.ts";
import { describe } from "../errors/mod.ts";
import type { ChunkBlock } from "../threads/mod.ts";
import { type Chunk, classNameOf, type Elements } from "./zarrita_array.ts";

/**
 * A selection along one dimension, as zarrita takes it: `null` for all elements, an
 * index, or a slice from `start` to `stop` (exclusive).
 *
 * @example
 * ```ts
 * import type { DimensionSelection } from "@zarr-parts/zarr-parts/zarrita";
 * import * as zarr from "zarrita";
 *
 * const selection: DimensionSelection[] = [null, 7, zarr.slice(0, 500)];
 * ```
 */
export type DimensionSelection = null | number | {
  start: number | null;
  stop: number | null;
  step: number | null;
};

/** Refuses a selection that does not fit the array, or that zarrita would misinterpret. */
export function assertSelection(
  selection: unknown,
  shape: readonly number[],
): asserts selection is DimensionSelection[] | null {
  if (selection === null) return;
  if (!Array.isArray(selection) || selection.length !== shape.length) {
    throw new TypeError(
      `Expected null, or a selection for each of ${shape.length} dimensions, found ${
        describe(selection)
      }`,
    );
  }
  selection.forEach((along: DimensionSelection, i) => {
    const isSelection = along === null ||
      (typeof along === "number"
        ? Number.isInteger(along) && along >= -shape[i]! && along < shape[i]!
        : isSlice(along));
    if (isSelection) return;
    throw new RangeError(
      `Expected null, an index from ${-shape[i]!} to ${
        shape[i]! - 1
      } or a slice of whole numbers with a step from 1 for dimension ${i}, found ${
        describe(along)
      }`,
    );
  });
}

function isSlice(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { start, stop, step } = value as Record<string, unknown>;
  return [start, stop, step].every((edge) =>
    edge === null || Number.isInteger(edge)
  ) && (step === null || step as number >= 1);
}

/** Elements along a dimension, from `start` to `stop` (exclusive). */
export interface Run {
  readonly start: number;
  readonly stop: number;
}

/**
 * The elements along each dimension that a selection covers without gaps; an empty run for
 * a selection with gaps.
 */
export function coveredRuns(
  selection: readonly DimensionSelection[] | null,
  shape: readonly number[],
): Run[] {
  return shape.map((length, i) => {
    const { start, stop, step } = strideOf(selection?.[i] ?? null, length);
    return step === 1 ? { start, stop } : { start: 0, stop: 0 };
  });
}

/** The shape of the selected elements. Dimensions with an index are left out. */
export function selectedShape(
  selection: readonly DimensionSelection[] | null,
  shape: readonly number[],
): number[] {
  return shape.flatMap((length, i) => {
    const along = selection?.[i] ?? null;
    if (typeof along === "number") return [];
    const { start, stop, step } = strideOf(along, length);
    return [Math.max(0, Math.ceil((stop - start) / step))];
  });
}

/** The run of a selection, of which every `step`-th element is selected. */
function strideOf(
  selection: DimensionSelection,
  length: number,
): Run & { step: number } {
  if (selection === null) return { start: 0, stop: length, step: 1 };
  if (typeof selection === "number") {
    const start = selection < 0 ? selection + length : selection;
    return { start, stop: start + 1, step: 1 };
  }
  // Negative indices count from the end, as in Python.
  const place = (index: number) =>
    Math.min(Math.max(index < 0 ? index + length : index, 0), length);
  const { start, stop, step } = selection;
  return {
    start: place(start ?? 0),
    stop: place(stop ?? length),
    step: step ?? 1,
  };
}

/** The share of a write that changes one shard: a selection, and the value of the selected elements. */
export interface ShardPiece {
  /** The grid coordinates of the shard. */
  readonly shard: number[];
  readonly selection: DimensionSelection[];
  readonly value: unknown;
}

/** Makes a view of elements in memory. */
type ViewClass = new (
  buffer: ArrayBufferLike,
  byteOffset: number,
  length: number,
) => Elements;

/** The part of a selection along one dimension that lies in one shard, or in one chunk. */
export interface Along {
  readonly shard: number;
  readonly selection: DimensionSelection;
  /** The place of the first element in the value, and the number of elements; `undefined` for an index. */
  readonly run: { readonly first: number; readonly count: number } | undefined;
}

/**
 * Divides a write by the shards that it changes, in C order.
 *
 * @param shape The shape of the array in elements.
 * @param shardShape The shape of a shard in elements.
 */
export function* piecesOf(
  selection: readonly DimensionSelection[] | null,
  value: unknown,
  shape: readonly number[],
  shardShape: readonly number[],
): Generator<ShardPiece> {
  const runs = shape.map((length, i) => [
    ...dividedAlong(selection?.[i] ?? null, length, shardShape[i]!),
  ]);
  for (const along of productOf(runs)) {
    yield {
      shard: along.map(({ shard }) => shard),
      selection: along.map(({ selection }) => selection),
      value: isChunk(value) ? partOf(value, along) : value,
    };
  }
}

/** Divides a selection along one dimension by shards, or by chunks. */
export function* dividedAlong(
  selection: DimensionSelection,
  length: number,
  shardLength: number,
): Generator<Along> {
  const { start, stop, step } = strideOf(selection, length);
  if (typeof selection === "number") {
    const shard = Math.floor(start / shardLength);
    yield { shard, selection: start, run: undefined };
    return;
  }
  for (let from = start, first = 0; from < stop;) {
    const shard = Math.floor(from / shardLength);
    const to = Math.min(stop, (shard + 1) * shardLength);
    const count = Math.ceil((to - from) / step);
    const selection = { start: from, stop: to, step };
    yield { shard, selection, run: { first, count } };
    first += count;
    from += count * step;
  }
}

/**
 * The elements of a selection that lie in one chunk.
 *
 * @param along The part of the selection along each dimension that lies in the chunk.
 * @param bytes The memory of the selected elements.
 * @param strides The strides of the selected elements along the dimensions of the array; 0
 * for a dimension with an index.
 */
export function blockOf(
  along: readonly Along[],
  chunkShape: readonly number[],
  bytes: Uint8Array,
  strides: readonly number[],
): ChunkBlock {
  return {
    bytes,
    offset: along.reduce(
      (sum, { run }, i) => sum + (run?.first ?? 0) * strides[i]!,
      0,
    ),
    strides,
    counts: along.map(({ run }) => run?.count ?? 1),
    starts: along.map(({ shard, selection }, i) =>
      (typeof selection === "number" ? selection : selection!.start!) -
      shard * chunkShape[i]!
    ),
    steps: along.map(({ selection }) =>
      typeof selection === "number" ? 1 : selection!.step!
    ),
  };
}

/** All combinations of an item of each list, in C order. */
export function* productOf<T>(
  lists: readonly (readonly T[])[],
): Generator<T[]> {
  const [list, ...others] = lists;
  if (list === undefined) return yield [];
  for (const item of list) {
    for (const rest of productOf(others)) yield [item, ...rest];
  }
}

/** Whether a value to write is a chunk, and not one element. */
export function isChunk(value: unknown): value is Chunk {
  return typeof value === "object" && value !== null;
}

/** The part of a chunk that is written into one shard: a view, or a copy of texts. */
function partOf(
  { data, stride }: Chunk,
  along: readonly Along[],
): Chunk {
  const runs = along.flatMap(({ run }) => run ?? []);
  const shape = runs.map(({ count }) => count);
  const placeOf = (numbers: readonly number[]) =>
    numbers.reduce((sum, n, i) => sum + n * stride[i]!, 0);
  const start = placeOf(runs.map(({ first }) => first));
  const length = 1 + placeOf(shape.map((count) => count - 1));
  if (Array.isArray(data)) {
    return { data: data.slice(start, start + length), shape, stride };
  }
  const { buffer, byteOffset, BYTES_PER_ELEMENT: size } = data;
  const View = data.constructor as ViewClass;
  const view = new View(buffer!, byteOffset! + start * size!, length);
  return { data: view, shape, stride };
}

/** Whether a value is one element, or its elements have some length in memory. */
export function hasMemory(value: unknown, elementSize: number): boolean {
  if (!isChunk(value)) return true;
  const { data, stride } = value;
  return data.BYTES_PER_ELEMENT === elementSize && data.buffer !== undefined &&
    data.byteOffset !== undefined && data.byteLength !== undefined &&
    stride.every(Number.isInteger);
}

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
    : inOrder(value as Elements, shape);
  assertClass(chunk.data, dataType);
  assertFits(chunk, shape);
  return chunk;
}

/** Makes a chunk of a typed array in C order. */
function inOrder(data: Elements, shape: readonly number[]): Chunk {
  const count = shape.reduce((product, n) => product * n, 1);
  if (data.length === count) return { data, shape, stride: stridesOf(shape) };
  throw new RangeError(
    `Expected ${count} elements for a selection of the shape ${
      describe(shape)
    }, found ${describe(data.length)}`,
  );
}

function assertElement(value: unknown, dataType: string): void {
  const expected = /^u?int64$/.test(dataType)
    ? "bigint"
    : classNameOf(dataType) !== undefined
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
  const expected = classNameOf(dataType);
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
