/** Returns `length` bytes that count up from `first` and start again after 250. */
export function countingBytes(length: number, first = 0): Uint8Array {
  const bytes = new Uint8Array(length);
  const counted = Math.min(length, 251);
  for (let i = 0; i < counted; i++) bytes[i] = (first + i) % 251;
  // Copies double what is there, in much less time than a loop.
  for (let end = 251; end < length; end *= 2) bytes.copyWithin(end, 0, end);
  return bytes;
}

/** Returns all values of a store by key, sorted. */
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
