import { rejectOnAbort } from "../runtime/mod.ts";
import type { StoreKey, StoreOptions, StoreVersion } from "../stores/mod.ts";
import type { ShardIndex } from "./shard_index.ts";

/** The greatest number of entries that are cached, some tens of megabytes. */
const MOST_ENTRIES = 2 ** 20;
/** The number of entries from which on the cache keeps the order of use. */
const ORDERED_ENTRIES = MOST_ENTRIES / 2;
/** The memory that an index takes besides its entries, as a number of entries. */
const ENTRIES_PER_INDEX = 8;
/** The number of entries for which an absent shard counts: more than it takes, since an array may have many. */
const ENTRIES_OF_ABSENT = 32;

/** The index of a shard, as it was read. */
export interface LoadedIndex {
  /** The index; `undefined` for an absent shard. */
  readonly index: ShardIndex | undefined;
  /** The version of the value that holds the inner chunks, if the store told one. */
  readonly version?: StoreVersion | undefined;
  /** Whether the index may be cached once no reader uses the shard any more. */
  readonly isLasting: boolean;
}

/** Reads an index. */
type Load = (options: StoreOptions) => Promise<LoadedIndex>;

/** An index that is cached, or being read. */
interface CachedIndex {
  /** The reading of the index; `undefined` once it is read. */
  loading: Promise<ShardIndex | undefined> | undefined;
  /** Aborts the reading; `undefined` if the first caller has no signal, since it waits to the end. */
  abort: AbortController | undefined;
  /** The index once it is read; `undefined` also for a shard that is absent. */
  index: ShardIndex | undefined;
  /** How many callers wait for the index. */
  waiting: number;
}

/** The indexes of one version of a shard, for the readers that have entered the shard. */
export class CachedShard {
  readonly key: StoreKey;
  /** The index of the stored shard. */
  own: CachedIndex | undefined = undefined;
  /** The indexes of the nested shards, by their paths. */
  nested: Map<string, CachedIndex> | undefined = undefined;
  /** The version that the indexes belong to, until the last reader has left. */
  version: StoreVersion | undefined = undefined;
  isLasting = false;
  isCached = true;
  readers = 0;
  /** The number of entries for which the indexes count. */
  entries = 0;

  constructor(key: StoreKey) {
    this.key = key;
  }

  /** Whether the shard is known to be absent. */
  get isAbsent(): boolean {
    return this.own?.loading === undefined && this.own?.index === undefined;
  }

  get(name: string): CachedIndex | undefined {
    return name === "" ? this.own : this.nested?.get(name);
  }

  set(name: string, cached: CachedIndex): void {
    if (name === "") this.own = cached;
    else (this.nested ??= new Map()).set(name, cached);
  }
}

/**
 * Least-recently-used cache of the indexes of shards, limited by the number of
 * entries in all of them. The order of use is kept once the cache is half full, since
 * nothing is dropped before.
 *
 * Readers `enter` a shard and `leave` it at the end. A shard that is dropped from the
 * cache keeps its version until its last reader has left.
 */
export class IndexCache {
  /** The shards in the order of their use. */
  readonly #shards = new Map<StoreKey, CachedShard>();
  #latest: CachedShard | undefined;
  #entries = 0;

  /** Returns a shard to read from, and keeps its version until `leave`. */
  enter(key: StoreKey): CachedShard {
    let shard = this.#shards.get(key);
    const keepsOrder = this.#entries >= ORDERED_ENTRIES;
    if (shard === undefined || shard !== this.#latest && keepsOrder) {
      shard ??= new CachedShard(key);
      this.#shards.delete(key);
      this.#shards.set(key, shard);
      this.#latest = shard;
    }
    shard.readers++;
    return shard;
  }

  /** Ends the use of a shard by a reader. */
  leave(shard: CachedShard): void {
    if (--shard.readers > 0 || shard.isCached && shard.isLasting) return;
    this.drop(shard);
  }

  /** Whether an index of a shard is cached, for a reader that is not aborted. */
  isLoaded(shard: CachedShard, name: string, signal?: AbortSignal): boolean {
    const cached = shard.get(name);
    return cached !== undefined && cached.loading === undefined &&
      !signal?.aborted;
  }

  /** Drops a shard from the cache, since it has changed. Later readers read it again. */
  drop(shard: CachedShard): void {
    if (shard.isCached) {
      shard.isCached = false;
      this.#entries -= shard.entries;
      this.#shards.delete(shard.key);
      if (this.#latest === shard) this.#latest = undefined;
    }
    if (shard.readers === 0) release(shard);
  }

  /** Drops the shard of a key. */
  forget(key: StoreKey): void {
    const shard = this.#shards.get(key);
    if (shard !== undefined) this.drop(shard);
  }

  /** Drops all shards. */
  clear(): void {
    for (const shard of this.#shards.values()) this.drop(shard);
  }

  /**
   * Resolves to an index of a shard, which `load` reads unless it is cached or being read.
   * Failures are not cached. The reading is aborted when the last caller that waits for
   * the index is aborted.
   *
   * @param name The path of a nested shard for the index of that shard, or an empty text
   * for the index of the stored shard.
   */
  async load(
    shard: CachedShard,
    name: string,
    load: Load,
    signal?: AbortSignal,
  ): Promise<ShardIndex | undefined> {
    const cached = shard.get(name) ??
      this.#begin(shard, name, load, signal && new AbortController());
    cached.waiting++;
    try {
      return await rejectOnAbort(
        cached.loading ?? Promise.resolve(cached.index),
        signal,
      );
    } finally {
      cached.waiting--;
      if (cached.waiting === 0 && cached.loading !== undefined) {
        this.#dropIndex(shard, name, cached);
        cached.abort?.abort(signal?.reason);
      }
    }
  }

  #begin(
    shard: CachedShard,
    name: string,
    load: Load,
    abort: AbortController | undefined,
  ): CachedIndex {
    const cached: CachedIndex = {
      loading: undefined,
      abort,
      index: undefined,
      waiting: 0,
    };
    shard.set(name, cached);
    cached.loading = this.#read(
      shard,
      name,
      cached,
      load(abort ? { signal: abort.signal } : {}),
    );
    return cached;
  }

  async #read(
    shard: CachedShard,
    name: string,
    cached: CachedIndex,
    loading: Promise<LoadedIndex>,
  ): Promise<ShardIndex | undefined> {
    let loaded: LoadedIndex;
    try {
      loaded = await loading;
    } catch (error) {
      this.#dropIndex(shard, name, cached);
      throw error;
    }
    const { index, version, isLasting } = loaded;
    cached.index = index;
    cached.loading = cached.abort = undefined;
    if (name === "") {
      shard.version = version;
      shard.isLasting = isLasting;
      if (shard.readers === 0) release(shard);
    }
    if (shard.isCached && shard.get(name) === cached) {
      this.#count(shard, entriesOf(cached));
      this.#evict(shard, cached);
    }
    return index;
  }

  /** Drops an index that could not be read, and the whole shard if the index is its own. */
  #dropIndex(shard: CachedShard, name: string, cached: CachedIndex): void {
    if (shard.get(name) !== cached) return;
    if (name === "") this.drop(shard);
    else shard.nested!.delete(name);
  }

  /** Drops the least recently used shards until the rest fits, but never the newest index. */
  #evict(newest: CachedShard, index: CachedIndex): void {
    for (const shard of this.#shards.values()) {
      if (this.#entries <= MOST_ENTRIES) return;
      if (shard !== newest && shard.entries > 0) this.drop(shard);
    }
    for (const [name, cached] of newest.nested ?? []) {
      if (this.#entries <= MOST_ENTRIES) return;
      if (cached === index || cached.loading !== undefined) continue;
      newest.nested!.delete(name);
      this.#count(newest, -entriesOf(cached));
    }
  }

  #count(shard: CachedShard, entries: number): void {
    shard.entries += entries;
    this.#entries += entries;
  }
}

function entriesOf({ index }: CachedIndex): number {
  return index === undefined
    ? ENTRIES_OF_ABSENT
    : ENTRIES_PER_INDEX + index.length;
}

function release(shard: CachedShard): void {
  const { version } = shard;
  shard.version = undefined;
  version?.release();
}
