/** All chunks of a grid, the last dimension first. */
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

/** The number of chunks of a grid. */
export function countOfGrid(gridShape: readonly number[]): number {
  return gridShape.reduce((count, length) => count * length, 1);
}
