import {
  type ArrayChunks,
  ChunkList,
  chunksOfGrid,
  countOfGrid,
  hash,
  type SetChunkOptions,
  type Share,
} from "../arrays/mod.ts";
import { isDamage } from "../errors/mod.ts";
import type { ShardContainer } from "../shards/mod.ts";
import type { Part } from "../splitter/mod.ts";
import {
  backendOf,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";

/** An array before and after its conversion. */
export interface ArrayPair {
  /** The path below the outermost node, which has an empty path. */
  readonly path: string;
  readonly source: ArrayChunks;
  readonly target: ArrayChunks;
  /** The stored chunks of the source. */
  readonly stored: StoredChunks;
  /** The container of each shard. */
  readonly containerOf:
    | ((shard: readonly number[]) => ShardContainer)
    | undefined;
}

/** A range of the bytes of a chunk. */
export interface ByteSpan {
  readonly offset: number;
  readonly length: number;
}

/** The bytes of a chunk that each part holds, at most one of which has no size. */
export function spansOf(parts: readonly Part[], size: number): ByteSpan[] {
  const rest = parts.reduce((left, { size = 0 }) => left - size, size);
  let end = 0;
  return parts.map(({ size: length = rest }) => {
    end += length;
    return { offset: end - length, length };
  });
}

/** An object that holds a part of a chunk, and the place of its bytes in the chunk. */
export interface StoredPart extends ByteSpan {
  readonly key: StoreKey;
}

/**
 * Finds the objects of a chunk. The store is only asked for lengths that do not follow from the
 * sizes of parts.
 *
 * @param key The key of the chunk.
 * @param size The length of the chunk in bytes.
 */
export async function partsOfChunk(
  store: Store,
  key: StoreKey,
  parts: readonly Part[],
  size: number,
  options: StoreOptions,
): Promise<StoredPart[]> {
  const keys = parts.map(({ keySuffix }): StoreKey => `${key}${keySuffix}`);
  const isKnown = parts.filter((part) => part.size === undefined).length <= 1;
  const sized = isKnown ? parts : await Promise.all(
    parts.map(async (part, i) => ({
      ...part,
      size: part.size ?? await backendOf(store).size(keys[i]!, options) ?? 0,
    })),
  );
  return spansOf(sized, size).map((span, i) => ({ key: keys[i]!, ...span }));
}

/** The outcome for a value, and the number of bytes that were copied. */
export interface Copied {
  readonly outcome: "copied" | "skipped" | "absent";
  readonly bytes: number;
}

/** How values are copied. */
export interface CopySettings {
  /** Whether values are skipped that the target has with the same length. */
  readonly skipsStored: boolean;
  /** Whether the target may have earlier values, which are removed if the source has none. */
  readonly replaces: boolean;
  /**
   * How chunks are set: without locks, and in place of any value, while nobody can have opened the
   * target.
   */
  readonly set: SetChunkOptions;
}

/** The length of a value of a target; `NaN` for a damaged one, which is neither absent nor right. */
export async function sizeOrDamage(
  size: Promise<number | undefined>,
): Promise<number | undefined> {
  try {
    return await size;
  } catch (error) {
    if (isDamage(error)) return NaN;
    throw error;
  }
}

/**
 * The stored chunks of an array that a job works on: those that a listing has found, in eight
 * bytes for each coordinate, or all chunks of the grid where the store cannot list.
 */
export class StoredChunks implements Iterable<number[]> {
  /** The array's path, so that arrays of one chunk are shared out, too. */
  readonly path: string;
  readonly gridShape: readonly number[];
  readonly isListed: boolean;
  readonly #list: ChunkList;
  #places: Float64Array | undefined;

  /** @param isListed Whether {@linkcode add} is called with each stored chunk. */
  constructor(path: string, gridShape: readonly number[], isListed: boolean) {
    this.path = path;
    this.gridShape = gridShape;
    this.isListed = isListed;
    this.#list = new ChunkList(gridShape.length);
  }

  add(coordinates: readonly number[]): void {
    this.#list.push(coordinates);
    this.#places = undefined;
  }

  get count(): number {
    return this.isListed ? this.#list.count : countOfGrid(this.gridShape);
  }

  /** Whether each chunk of the grid is or may be stored. */
  get isAll(): boolean {
    return this.count === countOfGrid(this.gridShape);
  }

  /** Whether {@linkcode has} tells chunks apart: in grids of more than 2^53 chunks, some share a place. */
  get isExact(): boolean {
    return countOfGrid(this.gridShape) <= Number.MAX_SAFE_INTEGER;
  }

  /** Whether a chunk is or may be stored. */
  has(chunk: readonly number[]): boolean {
    if (this.isAll) return true;
    this.#places ??= this.#sorted();
    const place = this.#placeOf(chunk);
    let [low, high] = [0, this.#places.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#places[middle]! < place) low = middle + 1;
      else high = middle;
    }
    return this.#places[low] === place;
  }

  [Symbol.iterator](): Iterator<number[]> {
    return this.isListed
      ? this.#list[Symbol.iterator]()
      : chunksOfGrid(this.gridShape);
  }

  /** The chunks of a share, or all of them. */
  *of(share: Share | undefined): Generator<number[]> {
    const isIncluded = share === undefined
      ? () => true
      : chunksOfShare(share, this.path, this.gridShape);
    for (const coordinates of this) {
      if (isIncluded(coordinates)) yield coordinates;
    }
  }

  /** The number of chunks that {@linkcode of} gives. */
  countOf(share: Share | undefined): number {
    if (share === undefined) return this.count;
    if (!this.isListed) return countInShare(share, this.path, this.count);
    let count = 0;
    for (const _ of this.of(share)) count++;
    return count;
  }

  #sorted(): Float64Array {
    const places = new Float64Array(this.#list.count);
    let i = 0;
    for (const chunk of this.#list) places[i++] = this.#placeOf(chunk);
    return places.sort();
  }

  /** A number that rises with the place in C order. */
  #placeOf(chunk: readonly number[]): number {
    return chunk.reduce((place, c, i) => place * this.gridShape[i]! + c, 0);
  }
}

/**
 * Returns a function that returns whether a chunk belongs to a share. Neighbouring chunks
 * belong to different shares, and every chunk to one.
 */
export function chunksOfShare(
  { index, count }: Share,
  path: string,
  gridShape: readonly number[],
): (coordinates: readonly number[]) => boolean {
  const start = hash(path) % count;
  return (coordinates) => {
    let place = 0;
    for (let i = 0; i < coordinates.length; i++) {
      place = (place * (gridShape[i]! % count) + coordinates[i]! % count) %
        count;
    }
    return (place + start) % count === index;
  };
}

/** The number of chunks of a grid that belong to a share. */
export function countInShare(
  { index, count }: Share,
  path: string,
  chunks: number,
): number {
  const rest = chunks % count;
  const first = (index - hash(path) % count + count) % count;
  return (chunks - rest) / count + (first < rest ? 1 : 0);
}
