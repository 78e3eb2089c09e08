import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";
import type { Part } from "../splitter/part.ts";

/**
 * The keys of a store with part keys folded back into chunk keys, each once.
 * Keys that belong to no chunk pass through.
 *
 * An object under a chunk's key that is none of its parts is left out: it would
 * pass for the chunk.
 *
 * @param isChunkKey Which keys are chunk keys.
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
  // How many parts of a chunk were met so far. It is forgotten after the last,
  // so that a store that lists them side by side costs no memory.
  const met = new Map<StoreKey, number>();
  for await (const key of store.list!(prefix, options)) {
    const suffix = suffixes.find((suffix) =>
      key.endsWith(suffix) && isChunkKey(withoutSuffix(key, suffix))
    );
    if (suffix === undefined) {
      if (!isChunkKey(key)) yield key;
      continue;
    }
    const chunkKey = withoutSuffix(key, suffix);
    const count = (met.get(chunkKey) ?? 0) + 1;
    if (count === 1 && chunkKey.startsWith(prefix)) yield chunkKey;
    if (count === parts.length) met.delete(chunkKey);
    else met.set(chunkKey, count);
  }
}

function withoutSuffix(key: StoreKey, suffix: string): StoreKey {
  return key.slice(0, key.length - suffix.length) as StoreKey;
}
