import { type DimensionSelection, strideOf } from "./selection.ts";

/** The share of a write that changes one shard: a selection, and the value of the selected elements. */
export interface ShardPiece {
  readonly selection: DimensionSelection[];
  readonly value: unknown;
}

/** A chunk as zarrita takes it, whose elements are views of memory. Strides are in elements. */
interface Chunk {
  readonly data: Elements;
  readonly shape: readonly number[];
  readonly stride: readonly number[];
}

/** A typed array, or zarrita's own `BoolArray`. */
interface Elements {
  readonly buffer: ArrayBufferLike;
  readonly byteOffset: number;
  readonly length: number;
  readonly BYTES_PER_ELEMENT: number;
}

/** Makes a view of elements in memory. */
type ElementsClass = new (
  buffer: ArrayBufferLike,
  byteOffset: number,
  length: number,
) => Elements;

/** The part of a selection along one dimension that lies in one shard. */
interface Along {
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
      selection: along.map(({ selection }) => selection),
      value: isChunk(value) ? viewOf(value, along) : value,
    };
  }
}

/** Whether the value of a write can be divided without a copy: one element, or a typed array or `BoolArray`. zarrita's arrays of texts have `chars`. */
export function isDivisible(value: unknown): boolean {
  if (!isChunk(value)) return typeof value !== "object" || value === null;
  const { data, stride } = value;
  const isView = "buffer" in data && !("chars" in data);
  return isView && stride.every((step) => step >= 0);
}

function* dividedAlong(
  selection: DimensionSelection,
  length: number,
  shardLength: number,
): Generator<Along> {
  const { start, stop, step } = strideOf(selection, length);
  if (typeof selection === "number") {
    yield { selection: start, run: undefined };
    return;
  }
  for (let from = start, first = 0; from < stop;) {
    const shard = Math.floor(from / shardLength);
    const to = Math.min(stop, (shard + 1) * shardLength);
    const count = Math.ceil((to - from) / step);
    yield { selection: { start: from, stop: to, step }, run: { first, count } };
    first += count;
    from += count * step;
  }
}

/** All combinations of an item of each list, in C order. */
function* productOf<T>(lists: readonly (readonly T[])[]): Generator<T[]> {
  const [list, ...others] = lists;
  if (list === undefined) return yield [];
  for (const item of list) {
    for (const rest of productOf(others)) yield [item, ...rest];
  }
}

function isChunk(value: unknown): value is Chunk {
  return typeof value === "object" && value !== null;
}

/** The part of a chunk that is written into one shard, as a view. */
function viewOf(
  { data, stride }: Chunk,
  along: readonly Along[],
): Chunk {
  const runs = along.flatMap(({ run }) => run ?? []);
  const start = runs.reduce((sum, { first }, i) => sum + first * stride[i]!, 0);
  const View = data.constructor as ElementsClass;
  return {
    data: new View(
      data.buffer,
      data.byteOffset + start * data.BYTES_PER_ELEMENT,
      data.length - start,
    ),
    shape: runs.map(({ count }) => count),
    stride,
  };
}
