import type { Part } from "../splitter/mod.ts";
import type { Backend, StoreKey, StoreOptions } from "../stores/mod.ts";
import { PartsLayout, partsReader } from "./read_parts.ts";
import { partsWriter } from "./write_parts.ts";

/**
 * Returns a backend of whole chunks over one of their parts. It can write, delete and list
 * if the other can.
 *
 * @param parts The parts in the order in which they make up a chunk.
 * @param isChunkKey Whether a key is that of a chunk. Other values are passed on unchanged.
 * By default, all keys are those of chunks.
 */
export function partsBackend(
  below: Backend,
  parts: readonly Part[],
  isChunkKey?: (key: StoreKey) => boolean,
): Backend {
  const layout = new PartsLayout(parts, isChunkKey);
  return {
    ...partsReader(below, layout),
    ...partsWriter(below, layout),
    ...below.list && {
      list: (prefix, options) => listChunks(below, layout, prefix, options),
    },
  };
}

/**
 * Lists the keys of a store with each chunk key once instead of its part keys. Keys that
 * belong to no chunk are listed unchanged. A key that is a chunk key but not a part key is
 * left out, since it would be taken for a chunk.
 */
async function* listChunks(
  below: Backend,
  { parts, isChunkKey }: PartsLayout,
  prefix: StoreKey,
  options: StoreOptions | undefined,
): AsyncGenerator<StoreKey> {
  const listed = new ListedParts(parts, isChunkKey);
  for await (const key of below.list!(prefix, options)) {
    const chunk = listed.take(key);
    if (chunk === undefined) {
      if (!isChunkKey(key)) yield key;
    } else if (chunk.isFirst && chunk.key.startsWith(prefix)) yield chunk.key;
  }
}

/** Finds the chunks to which listed keys belong as parts. */
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
    for (const suffix of this.#suffixes) {
      if (!key.endsWith(suffix)) continue;
      const chunk = key.slice(0, key.length - suffix.length) as StoreKey;
      if (this.#isChunkKey(chunk)) return chunk;
    }
    return undefined;
  }
}
