import { sentence } from "../errors/mod.ts";

/** Yields the coordinates of all chunks of a grid in C order: the last dimension varies fastest. */
export function* chunksOfGrid(
  gridShape: readonly number[],
): Generator<number[]> {
  if (gridShape.includes(0)) return;
  const coordinates = gridShape.map(() => 0);
  while (true) {
    yield [...coordinates];
    let i = gridShape.length - 1;
    while (i >= 0 && ++coordinates[i]! === gridShape[i]) coordinates[i--] = 0;
    if (i < 0) return;
  }
}

/** Returns the number of chunks of a grid. */
export function countOfGrid(gridShape: readonly number[]): number {
  return gridShape.reduce((count, length) => count * length, 1);
}

/**
 * One of several equal shares of a job, for programs that work on it side by side.
 *
 * @example The third of sixteen
 * ```ts
 * import type { Share } from "@zarr-parts/zarr-parts/jobs";
 *
 * const share: Share = { index: 2, count: 16 };
 * ```
 */
export interface Share {
  /** The share's number, from 0 to `count - 1`. */
  readonly index: number;
  /** The number of shares, from 1 to 2^26. */
  readonly count: number;
}

/** The greatest number of shares, so that products of two numbers below it are exact. */
const MOST_SHARES = 2 ** 26;

/** Checks that the numbers of a share are whole and in their ranges. */
export function assertShare(share: Share | undefined): void {
  if (share === undefined) return;
  const { index, count } = share;
  const isShare = Number.isInteger(count) && count >= 1 &&
    count <= MOST_SHARES && Number.isInteger(index) && index >= 0 &&
    index < count;
  if (isShare) return;
  throw new RangeError(
    sentence`Expected a share with a count from 1 to 2^26 and an index from 0 to count − 1, found index ${index} and count ${count}`,
  );
}

/** Returns whether the file with a key belongs to a share. */
export function isInShare({ index, count }: Share, key: string): boolean {
  return hash(key) % count === index;
}

/** Returns a hash from 0 to 2^32−1: FNV-1a, with the last step of MurmurHash3. */
export function hash(text: string): number {
  let state = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    state = Math.imul(state ^ text.charCodeAt(i), 0x01000193);
  }
  state = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
  return (state ^ (state >>> 16)) >>> 0;
}

/** The coordinates of many chunks in little memory: eight bytes for each coordinate. */
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

  /** The first chunk in C order; `undefined` if there is none. */
  get first(): readonly number[] | undefined {
    let first: readonly number[] | undefined;
    for (const chunk of this) {
      if (first === undefined || compareChunks(chunk, first) < 0) first = chunk;
    }
    return first;
  }

  *[Symbol.iterator](): Generator<number[]> {
    for (let i = 0; i < this.#count; i++) yield this.#at(i);
  }

  /** The chunks in C order, each of them once. */
  *sorted(): Generator<number[]> {
    const rank = this.#rank;
    const numbers = this.#numbers;
    const compare = (a: number, b: number) => {
      let i = 0;
      while (i < rank && numbers[a * rank + i] === numbers[b * rank + i]) i++;
      return i < rank ? numbers[a * rank + i]! - numbers[b * rank + i]! : 0;
    };
    const places = Uint32Array.from({ length: this.#count }, (_, i) => i)
      .sort(compare);
    for (const [i, place] of places.entries()) {
      if (i > 0 && compare(places[i - 1]!, place) === 0) continue;
      yield this.#at(place);
    }
  }

  #at(i: number): number[] {
    const start = i * this.#rank;
    return Array.from(this.#numbers.subarray(start, start + this.#rank));
  }
}

/** Compares two chunks of a grid, to sort chunks in C order: the last dimension varies fastest. */
export function compareChunks(
  a: readonly number[],
  b: readonly number[],
): number {
  const i = a.findIndex((coordinate, i) => coordinate !== b[i]);
  return i < 0 ? 0 : a[i]! - b[i]!;
}
