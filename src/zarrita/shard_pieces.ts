import { type DimensionSelection, strideOf } from "./selection.ts";

/** The share of a write that changes one shard: a selection, and the value of the selected elements. */
export interface ShardPiece {
  /** The grid coordinates of the shard. */
  readonly shard: number[];
  readonly selection: DimensionSelection[];
  readonly value: unknown;
}

/** A chunk as zarrita takes it. Strides are in elements. */
interface Chunk {
  readonly data: Elements;
  readonly shape: readonly number[];
  readonly stride: readonly number[];
}

/** A typed array, one of zarrita's own arrays of `bool` and texts, which have `get` and `set`, or a list of texts. */
type Elements =
  & (View | unknown[])
  & { get?(i: number): unknown; set?(i: number, value: unknown): void };

/** A view of elements in memory. */
interface View {
  readonly buffer: ArrayBufferLike;
  readonly byteOffset: number;
  readonly length: number;
  readonly BYTES_PER_ELEMENT: number;
  /** The length of each text. */
  readonly chars?: number;
}

/** Makes a view of elements in memory. */
type ViewClass = new (
  buffer: ArrayBufferLike,
  byteOffset: number,
  length: number,
) => View;

/** The part of a selection along one dimension that lies in one shard. */
interface Along {
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

function* dividedAlong(
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

/** The part of a chunk that is written into one shard: a view, or a copy of texts. */
function partOf(
  { data, stride }: Chunk,
  along: readonly Along[],
): Chunk {
  const runs = along.flatMap(({ run }) => run ?? []);
  const shape = runs.map(({ count }) => count);
  if (!Array.isArray(data) && data.chars === undefined) {
    const start = runs.reduce(
      (sum, { first }, i) => sum + first * stride[i]!,
      0,
    );
    const View = data.constructor as ViewClass;
    const view = new View(
      data.buffer,
      data.byteOffset + start * data.BYTES_PER_ELEMENT,
      data.length - start,
    );
    return { data: view as Elements, shape, stride };
  }
  const places = runs.reduce<number[]>(
    (places, { first, count }, i) =>
      places.flatMap((place) =>
        Array.from(
          { length: count },
          (_, j) => place + (first + j) * stride[i]!,
        )
      ),
    [0],
  );
  const elements = places.map((place) =>
    data.get ? data.get(place) : (data as unknown[])[place]
  );
  return { data: listOf(elements, data), shape, stride: stridesOf(shape) };
}

/** Makes texts of the same class as others. */
function listOf(texts: unknown[], like: Elements): Elements {
  if (Array.isArray(like)) return texts;
  const List = like.constructor as new (...args: number[]) => Elements;
  const list = new List(like.chars!, texts.length);
  texts.forEach((text, i) => list.set!(i, text));
  return list;
}

/** The strides of elements in C order. */
function stridesOf(shape: readonly number[]): number[] {
  return shape.map((_, i) => shape.slice(i + 1).reduce((n, m) => n * m, 1));
}
