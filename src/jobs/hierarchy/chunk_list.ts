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
