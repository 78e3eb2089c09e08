import type { Part } from "../splitter/mod.ts";
import type { Store, StoreKey, StoreOptions } from "../stores/mod.ts";

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
  const listed = new ListedParts(parts, isChunkKey);
  for await (const key of store.list!(prefix, options)) {
    const chunk = listed.take(key);
    if (chunk === undefined) {
      if (!isChunkKey(key)) yield key;
    } else if (chunk.isFirst && chunk.key.startsWith(prefix)) yield chunk.key;
  }
}

/** Finds the chunks that listed keys are parts of. */
export class ListedParts {
  /** The key suffixes of the parts, the longest first. */
  readonly #suffixes: readonly string[];
  readonly #isChunkKey: (key: StoreKey) => boolean;
  /**
   * The number of parts found of each chunk. The entry is deleted after the last part,
   * so that memory stays small if a store lists the parts side by side.
   */
  readonly #found = new Map<StoreKey, number>();

  constructor(parts: readonly Part[], isChunkKey: (key: StoreKey) => boolean) {
    this.#suffixes = parts.map((part) => part.keySuffix)
      .sort((a, b) => b.length - a.length);
    this.#isChunkKey = isChunkKey;
  }

  /**
   * Takes the next key of a listing.
   *
   * @returns The key of the chunk, and whether this is the first of its parts;
   * `undefined` for a key that is no part of a chunk.
   */
  take(key: StoreKey): { key: StoreKey; isFirst: boolean } | undefined {
    const chunk = this.chunkOf(key);
    if (chunk === undefined) return undefined;
    const count = (this.#found.get(chunk) ?? 0) + 1;
    if (count === this.#suffixes.length) this.#found.delete(chunk);
    else this.#found.set(chunk, count);
    return { key: chunk, isFirst: count === 1 };
  }

  /** Returns the key of the chunk that a key is a part of, or `undefined` for any other key. */
  chunkOf(key: StoreKey): StoreKey | undefined {
    const suffix = this.#suffixes.find((suffix) =>
      key.endsWith(suffix) && this.#isChunkKey(withoutSuffix(key, suffix))
    );
    return suffix === undefined ? undefined : withoutSuffix(key, suffix);
  }
}

function withoutSuffix(key: StoreKey, suffix: string): StoreKey {
  return key.slice(0, key.length - suffix.length) as StoreKey;
}
