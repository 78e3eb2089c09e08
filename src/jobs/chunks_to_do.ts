import {
  type ChunkList,
  chunksOfGrid,
  countOfGrid,
  hash,
  type Share,
} from "../arrays/mod.ts";

/** The chunks of an array that a job works on. */
export interface ArrayOfJob {
  readonly path: string;
  readonly gridShape: readonly number[];
  /** The stored chunks; `undefined` for all chunks of the grid. */
  readonly stored: ChunkList | undefined;
}

/** The coordinates of the chunks that a job works on, or of those in a share. */
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

/**
 * Returns a function that returns whether a chunk belongs to a share. Neighbouring chunks
 * belong to different shares, and every chunk to one.
 *
 * @param path The array's path, so that arrays of one chunk are shared out, too.
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
