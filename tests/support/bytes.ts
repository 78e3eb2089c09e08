/** `length` bytes that tell their place: 0, 1, … 250, 0, …, starting at `first`. */
export function countingBytes(length: number, first = 0): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => (first + i) % 251);
}

/** All entries of a store's keys and values, sorted by key. */
export async function contentsOf(store: {
  list(): AsyncIterable<`/${string}`>;
  get(key: `/${string}`): Promise<Uint8Array | undefined>;
}): Promise<Record<string, number[]>> {
  const contents: Record<string, number[]> = {};
  for (const key of (await Array.fromAsync(store.list())).sort()) {
    contents[key] = Array.from((await store.get(key))!);
  }
  return contents;
}
