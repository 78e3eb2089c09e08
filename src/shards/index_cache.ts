import type { StoreKey, StoreVersion } from "../stores/mod.ts";
import type { FileRecord } from "./file_record.ts";
import type { ShardIndex } from "./shard_index.ts";

/** The greatest number of entries that are cached, some tens of megabytes. */
const MOST_ENTRIES = 2 ** 20;
/** The number of entries from which on the cache keeps the order of use, since nothing is dropped before. */
const ORDERED_ENTRIES = MOST_ENTRIES / 2;
/** The memory that an index takes besides its entries, as a number of entries. */
const ENTRIES_PER_INDEX = 32;

/** The indexes of one version of a shard. */
export interface IndexedShard {
  readonly key: StoreKey;
  /** The index; `undefined` for an absent shard. */
  readonly index: ShardIndex | undefined;
  /** The indexes of the shards nested in it, by their paths. */
  readonly nested: Map<string, Promise<ShardIndex | undefined>>;
  /** The record of the file for which the index was made. */
  readonly record: FileRecord | undefined;
  /** The version; `undefined` if the store told none. */
  readonly version: StoreVersion | undefined;
  /** How many readers use the shard. */
  readers: number;
  /** The number of entries of all indexes. */
  entries: number;
}

/**
 * Least-recently-used cache of the indexes of shards, limited by the number of entries in
 * all of them. A version that is not to be kept for long is dropped once nobody reads the
 * shard any more.
 */
export class IndexCache {
  /** The shards in the order of their use. */
  readonly #shards = new Map<StoreKey, IndexedShard>();
  #entries = 0;

  /** Returns a shard to read from. The reader must `leave` it. */
  enter(key: StoreKey): IndexedShard | undefined {
    const shard = this.#shards.get(key);
    if (shard === undefined) return undefined;
    if (this.#entries >= ORDERED_ENTRIES) {
      this.#shards.delete(key);
      this.#shards.set(key, shard);
    }
    shard.readers++;
    return shard;
  }

  /** Ends the use of a shard by a reader. */
  leave(shard: IndexedShard): void {
    if (--shard.readers === 0 && !shard.version?.isLasting) this.drop(shard);
  }

  /** Caches a shard that a reader uses. */
  add(shard: IndexedShard): void {
    const earlier = this.#shards.get(shard.key);
    if (earlier !== undefined) this.drop(earlier);
    this.#shards.set(shard.key, shard);
    this.grow(shard, shard.index?.length ?? 0);
  }

  /** Counts a further index of a shard, and drops the least recently used shards until the rest fits. */
  grow(shard: IndexedShard, entries: number): void {
    shard.entries += ENTRIES_PER_INDEX + entries;
    if (this.#shards.get(shard.key) !== shard) return;
    this.#entries += ENTRIES_PER_INDEX + entries;
    for (const oldest of this.#shards.values()) {
      if (this.#entries <= MOST_ENTRIES) return;
      if (oldest !== shard) this.drop(oldest);
    }
  }

  /** Drops a shard, since it has changed. Later readers read it again. */
  drop(shard: IndexedShard): void {
    if (this.#shards.get(shard.key) === shard) {
      this.#shards.delete(shard.key);
      this.#entries -= shard.entries;
    }
    shard.version?.release();
  }

  /** Drops all shards. */
  clear(): void {
    for (const shard of this.#shards.values()) this.drop(shard);
  }
}
