import type { Run, Section } from "../blocks/mod.ts";
import { stridesOf } from "../codecs/mod.ts";
import { describe, sentence } from "../errors/mod.ts";
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
      sentence`Expected null, or a selection for each of ${shape.length} dimensions, found ${selection}`,
    );
  }
  selection.forEach((along: DimensionSelection, i) => {
    const isSelection = along === null ||
      (typeof along === "number"
        ? Number.isInteger(along) && along >= -shape[i]! && along < shape[i]!
        : isSlice(along));
    if (isSelection) return;
    throw new RangeError(
      sentence`Expected null, an index from ${-shape[i]!} to ${
        shape[i]! - 1
      } or a slice of whole numbers with a step from 1 for dimension ${i}, found ${along}`,
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

/** The elements that a selection has along each dimension. */
export function runsOf(
  selection: readonly DimensionSelection[] | null,
  shape: readonly number[],
): Run[] {
  return shape.map((length, i) => runOf(selection?.[i] ?? null, length));
}

function runOf(selection: DimensionSelection, length: number): Run {
  if (selection === null) return { start: 0, stop: length, step: 1 };
  // Negative indices count from the end, as in Python.
  const place = (index: number) =>
    Math.min(Math.max(index < 0 ? index + length : index, 0), length);
  if (typeof selection === "number") {
    const start = place(selection);
    return { start, stop: start + 1, step: 1 };
  }
  const { start, stop, step } = selection;
  return {
    start: place(start ?? 0),
    stop: place(stop ?? length),
    step: step ?? 1,
  };
}

/** The dimensions that selected elements have: those without an index. */
export function selectedAxes(
  selection: readonly DimensionSelection[] | null,
  shape: readonly number[],
): number[] {
  return shape.flatMap((_, i) => typeof selection?.[i] === "number" ? [] : [i]);
}

/** The shape of the selected elements. Dimensions with an index are left out. */
export function selectedShape(
  selection: readonly DimensionSelection[] | null,
  shape: readonly number[],
): number[] {
  const runs = runsOf(selection, shape);
  return selectedAxes(selection, shape).map((axis) => {
    const { start, stop, step } = runs[axis]!;
    return Math.max(0, Math.ceil((stop - start) / step));
  });
}

/** The part of a write that lies in some sections, as zarrita's `set` takes it. */
export function partOf(
  selection: readonly DimensionSelection[] | null,
  value: unknown,
  sections: readonly Section[],
): { selection: DimensionSelection[]; value: unknown } {
  const axes = selectedAxes(selection, sections.map(() => 1));
  return {
    selection: sections.map(({ start, stop, step }, i) =>
      axes.includes(i) ? { start, stop, step } : start
    ),
    value: isChunk(value)
      ? sectionsOfChunk(value, axes.map((axis) => sections[axis]!))
      : value,
  };
}

/** Makes a view of elements in memory. */
type ViewClass = new (
  buffer: ArrayBufferLike,
  byteOffset: number,
  length: number,
) => Elements;

/** Sections of a chunk to write: a view, or a copy of texts. */
function sectionsOfChunk(
  { data, stride }: Chunk,
  sections: readonly Section[],
): Chunk {
  const shape = sections.map(({ count }) => count);
  const placeOf = (numbers: readonly number[]) =>
    numbers.reduce((sum, n, i) => sum + n * stride[i]!, 0);
  const start = placeOf(sections.map(({ first }) => first));
  const length = 1 + placeOf(shape.map((count) => count - 1));
  if (Array.isArray(data)) {
    return { data: data.slice(start, start + length), shape, stride };
  }
  const { buffer, byteOffset, BYTES_PER_ELEMENT: size } = data;
  const View = data.constructor as ViewClass;
  const view = new View(buffer!, byteOffset! + start * size!, length);
  return { data: view, shape, stride };
}

/** Whether a value to write is a chunk, and not one element. */
export function isChunk(value: unknown): value is Chunk {
  return typeof value === "object" && value !== null;
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
    sentence`Expected ${count} elements for a selection of the shape ${shape}, found ${data.length}`,
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
      sentence`Expected a chunk of the shape that is selected, ${shape}, and a stride for each dimension, found ${chunk.shape} and ${stride}`,
    );
  }
  if (shape.includes(0)) return;
  const ends = shape.map((length, i) => (length - 1) * stride[i]!);
  const last = ends.reduce((sum, end) => sum + Math.max(0, end), 0);
  if (last < data.length && ends.every((end) => end >= 0)) return;
  throw new RangeError(
    sentence`Expected at least ${
      last + 1
    } elements for a chunk of the shape ${shape} and the stride ${stride}, found ${data.length}`,
  );
}
