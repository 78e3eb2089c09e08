import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";
import type { Part } from "../splitter/part.ts";

/**
 * Lists the keys of a store with each chunk key once instead of its part keys.
 * Keys that belong to no chunk are listed unchanged.
 *
 * An object is left out if its key is a chunk key but not a part key, since it
 * would be taken for the chunk.
 *
 * @param isChunkKey Returns whether a key is a chunk key.
 */
export async function* listChunks(
  parts: readonly Part[],
  store: Store,
  isChunkKey: (key: StoreKey) => boolean,
  prefix: StoreKey,
  options: StoreOptions | undefined,
): AsyncGenerator<StoreKey> {
  const suffixes = parts.map((part) => part.keySuffix)
    .sort((a, b) => b.length - a.length);
  // The number of parts found of each chunk. The entry is deleted after the last
  // part, so that memory stays small if a store lists the parts side by side.
  const found = new Map<StoreKey, number>();
  for await (const key of store.list!(prefix, options)) {
    const suffix = suffixes.find((suffix) =>
      key.endsWith(suffix) && isChunkKey(withoutSuffix(key, suffix))
    );
    if (suffix === undefined) {
      if (!isChunkKey(key)) yield key;
      continue;
    }
    const chunkKey = withoutSuffix(key, suffix);
    const count = (found.get(chunkKey) ?? 0) + 1;
    if (count === 1 && chunkKey.startsWith(prefix)) yield chunkKey;
    if (count === parts.length) found.delete(chunkKey);
    else found.set(chunkKey, count);
  }
}

function withoutSuffix(key: StoreKey, suffix: string): StoreKey {
  return key.slice(0, key.length - suffix.length) as StoreKey;
}
