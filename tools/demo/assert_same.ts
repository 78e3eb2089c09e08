/** Compares the elements that were read from a folder with those that were stored. */
export function assertSame(
  read: ArrayLike<number>,
  stored: ArrayLike<number>,
  folder: string,
): void {
  if (read.length !== stored.length) {
    throw new Error(
      `Expected ${stored.length} elements in ${folder}, found ${read.length}`,
    );
  }
  for (let i = 0; i < stored.length; i++) {
    if (read[i] === stored[i]) continue;
    throw new Error(
      `Expected element ${i} in ${folder} to be ${stored[i]}, found ${read[i]}`,
    );
  }
}
