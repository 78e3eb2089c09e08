import type { ChunkBlock, ElementsAt } from "../threads/mod.ts";

/** Elements along a dimension: every `step`-th one from `start` to before `stop`. */
export interface Run {
  readonly start: number;
  readonly stop: number;
  readonly step: number;
}

/** The elements of a run that lie in one chunk. */
export interface Section extends Run {
  /** The coordinate of the chunk. */
  readonly chunk: number;
  /** The place of the first element in the run. */
  readonly first: number;
  readonly count: number;
}

/** Divides a run by chunks. */
export function* sectionsOf(
  { start, stop, step }: Run,
  chunkLength: number,
  firstPlace = 0,
): Generator<Section> {
  for (let from = start, first = firstPlace; from < stop;) {
    const chunk = Math.floor(from / chunkLength);
    const to = Math.min(stop, (chunk + 1) * chunkLength);
    const count = Math.ceil((to - from) / step);
    yield { chunk, start: from, stop: to, step, first, count };
    first += count;
    from += count * step;
  }
}

/** The sections of runs along each dimension in chunks of a shape, by the chunks that have elements of them, in C order. */
export function sectionsIn(
  runs: readonly (Run & { readonly first?: number })[],
  chunkShape: readonly number[],
): Generator<Section[]> {
  return productOf(runs.map((run, i) => [
    ...sectionsOf(run, chunkShape[i]!, run.first),
  ]));
}

/** The coordinates of the chunk that sections lie in. */
export function chunkOf(sections: readonly Section[]): number[] {
  return sections.map(({ chunk }) => chunk);
}

/** The block of elements of sections in their chunk. `memory` is that of all runs. */
export function blockOf(
  sections: readonly Section[],
  chunkShape: readonly number[],
  { bytes, offset, strides }: ElementsAt,
): ChunkBlock {
  return {
    bytes,
    offset: sections.reduce(
      (sum, { first }, i) => sum + first * strides[i]!,
      offset,
    ),
    strides,
    counts: sections.map(({ count }) => count),
    starts: sections.map(({ chunk, start }, i) =>
      start - chunk * chunkShape[i]!
    ),
    steps: sections.map(({ step }) => step),
  };
}

/** Whether sections have all elements of their chunk that are in the array. */
export function isCovered(
  sections: readonly Section[],
  chunkShape: readonly number[],
  arrayShape: readonly number[],
): boolean {
  return sections.every(({ chunk, count }, i) => {
    const length = chunkShape[i]!;
    return count === Math.min(length, arrayShape[i]! - chunk * length);
  });
}

/** All combinations of an item of each list, in C order. */
function* productOf<T>(lists: readonly (readonly T[])[]): Generator<T[]> {
  const [list, ...others] = lists;
  if (list === undefined) return yield [];
  for (const item of list) {
    for (const rest of productOf(others)) yield [item, ...rest];
  }
}
