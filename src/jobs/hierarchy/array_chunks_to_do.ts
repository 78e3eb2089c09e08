import { chunksOfGrid, countOfGrid } from "../../arrays/chunks_of_grid.ts";
import type { ChunkList } from "./chunk_list.ts";
import { chunksOfShare, countInShare, type Share } from "../../arrays/share.ts";

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
