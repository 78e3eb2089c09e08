import {
  type ArrayStorage,
  chunksOfGrid,
  chunksOfShare,
  countInShare,
  countOfGrid,
  type Share,
  storageOf,
} from "../../arrays/mod.ts";
import { flattenLayers, ListedParts } from "../../concat_parts/mod.ts";
import { ChunkKeyError } from "../../errors/mod.ts";
import type { StoreKey } from "../../stores/mod.ts";

/** The kind of a listed key of an array. */
export type ListedKey =
  | { readonly kind: "chunk"; readonly coordinates: readonly number[] }
  /** A further part of a chunk, an object where a chunk in parts would be, or any other key. */
  | { readonly kind: "part" | "stray" | "file" };

/** Tells the chunks of an array from other keys below the array. */
export class ArrayKeys {
  readonly storage: ArrayStorage;
  readonly #prefix: string;
  readonly #parts: ListedParts;
  readonly #suffixes: readonly string[];
  /** The key that was decoded last: most keys are asked for several times. */
  #latest: { key: StoreKey; coordinates: number[] | undefined } | undefined;

  /** @param root The prefix of the array's keys, without a last `/`. */
  constructor(metadata: unknown, root: string) {
    this.storage = storageOf(metadata);
    this.#prefix = `${root}/`;
    const { parts } = flattenLayers(this.storage.layers);
    this.#suffixes = parts.map(({ keySuffix }) => keySuffix);
    this.#parts = new ListedParts(
      parts,
      (key) => this.#coordinatesOf(key) !== undefined,
    );
  }

  /** Takes the next key of a listing. The first part of a chunk stands for the chunk. */
  take(key: StoreKey): ListedKey {
    const chunk = this.#parts.take(key);
    if (chunk === undefined) {
      return {
        kind: this.#coordinatesOf(key) === undefined ? "file" : "stray",
      };
    }
    if (!chunk.isFirst) return { kind: "part" };
    return { kind: "chunk", coordinates: this.#coordinatesOf(chunk.key)! };
  }

  /** The key of the chunk that the object of a key belongs to; `undefined` for other keys. */
  chunkOf(key: StoreKey): StoreKey | undefined {
    return this.#parts.chunkOf(key);
  }

  /** Whether a key is that of a chunk or of a part. */
  isTaken(key: StoreKey): boolean {
    return this.#parts.chunkOf(key) !== undefined ||
      this.#coordinatesOf(key) !== undefined;
  }

  /** Whether a key is that of a part of a chunk, or of a chunk, outside of the grid. */
  isOutsideGrid(key: StoreKey): boolean {
    const { keyEncoding, gridShape } = this.storage;
    const relative = key.slice(this.#prefix.length);
    return ["", ...this.#suffixes].some((suffix) => {
      if (!relative.endsWith(suffix)) return false;
      const chunk = relative.slice(0, relative.length - suffix.length);
      try {
        keyEncoding.decode(chunk, gridShape.length);
        return this.storage.coordinatesOf(chunk) === undefined;
      } catch (error) {
        if (error instanceof ChunkKeyError) return false;
        throw error;
      }
    });
  }

  #coordinatesOf(key: StoreKey): number[] | undefined {
    if (this.#latest?.key !== key) {
      const coordinates = key.startsWith(this.#prefix)
        ? this.storage.coordinatesOf(key.slice(this.#prefix.length))
        : undefined;
      this.#latest = { key, coordinates };
    }
    return this.#latest.coordinates;
  }
}

/** The coordinates of many chunks in little memory: eight bytes a coordinate. */
export class ChunkList implements Iterable<number[]> {
  readonly #rank: number;
  #numbers = new Float64Array(64);
  #count = 0;

  /** @param rank The number of coordinates of a chunk. */
  constructor(rank: number) {
    this.#rank = rank;
  }

  get count(): number {
    return this.#count;
  }

  push(coordinates: readonly number[]): void {
    const end = this.#count++ * this.#rank;
    if (end + this.#rank > this.#numbers.length) {
      const longer = new Float64Array(2 * this.#numbers.length + this.#rank);
      longer.set(this.#numbers);
      this.#numbers = longer;
    }
    this.#numbers.set(coordinates, end);
  }

  /** The numbers of all chunks, one chunk after another. */
  get numbers(): Float64Array {
    return this.#numbers.subarray(0, this.#count * this.#rank);
  }

  *[Symbol.iterator](): Generator<number[]> {
    for (let i = 0; i < this.#count; i++) {
      const start = i * this.#rank;
      yield Array.from(this.#numbers.subarray(start, start + this.#rank));
    }
  }
}

/** The first of some chunks in the order of the grid, the last dimension fastest. */
export function firstChunk(
  chunks: Iterable<readonly number[]>,
): readonly number[] | undefined {
  let first: readonly number[] | undefined;
  for (const chunk of chunks) {
    if (first === undefined || isBefore(chunk, first)) first = chunk;
  }
  return first;
}

/** Whether a chunk comes before another one in the order of the grid. */
export function isBefore(a: readonly number[], b: readonly number[]): boolean {
  const i = a.findIndex((each, i) => each !== b[i]);
  return i >= 0 && a[i]! < b[i]!;
}

/** The chunks of an array that a job has to do with. */
export interface ArrayOfJob {
  readonly path: string;
  readonly gridShape: readonly number[];
  /** The stored chunks; `undefined` for all chunks of the grid. */
  readonly stored: ChunkList | undefined;
}

/** The coordinates of an array's chunks, or of those in a share. */
export function* chunksToDo(
  { path, gridShape, stored }: ArrayOfJob,
  share: Share | undefined,
): Generator<number[]> {
  const isIncluded = share === undefined
    ? () => true
    : chunksOfShare(share, path, gridShape);
  for (const coordinates of stored ?? chunksOfGrid(gridShape)) {
    if (isIncluded(coordinates)) yield coordinates;
  }
}

/** The number of chunks that {@linkcode chunksToDo} gives. */
export function countToDo(array: ArrayOfJob, share: Share | undefined): number {
  const { path, gridShape, stored } = array;
  if (stored === undefined) {
    const count = countOfGrid(gridShape);
    return share ? countInShare(share, path, count) : count;
  }
  if (share === undefined) return stored.count;
  let count = 0;
  for (const _ of chunksToDo(array, share)) count++;
  return count;
}
