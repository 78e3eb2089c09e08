import { rejectOnAbort } from "../stores/abort.ts";
import type { StoreOptions } from "../stores/store.ts";
import type { ShardIndex } from "./shard_index.ts";

/** The greatest number of entries that are cached, some tens of megabytes. */
const MOST_ENTRIES = 2 ** 20;
/** The number of entries from which the cache keeps the order of use. */
const ORDERED_ENTRIES = MOST_ENTRIES / 2;

/** Reads an index. */
type Load = (options: StoreOptions) => Promise<ShardIndex | undefined>;

/** An index that is cached, or being read. */
interface Cached {
  readonly loading: Promise<ShardIndex | undefined>;
  /** Aborts the reading; `undefined` if the first caller has no signal, and so waits to the end. */
  readonly abort: AbortController | undefined;
  /** The index once it is read; `undefined` also for a shard that is absent. */
  index: ShardIndex | undefined;
  /** How many entries the index counts for; 0 while it is being read. */
  entries: number;
  /** How many callers wait for the index. */
  waiting: number;
}

/**
 * Least-recently-used cache of shard indexes, limited by the number of entries in
 * all of them. The order of use is kept once the cache is half full, since nothing is
 * dropped before. An index has the key of its shard, and a name in that shard: empty
 * for the shard's own index, the place of a nested shard for that one's.
 */
export class IndexCache {
  /** The shards by key, in the order of their use. */
  readonly #shards = new Map<string, Map<string, Cached>>();
  #latest: Map<string, Cached> | undefined;
  #entries = 0;

  /**
   * Gives an index: at once if it is cached, else read by `load`. Failures are not
   * cached, and reading is aborted when no caller waits for it any more.
   */
  get(
    key: string,
    name: string,
    load: Load,
    signal?: AbortSignal,
  ): ShardIndex | undefined | Promise<ShardIndex | undefined> {
    const shard = this.#use(key);
    const cached = shard.get(name);
    return cached === undefined || cached.entries === 0 || signal?.aborted
      ? this.#wait(key, shard, name, load, signal)
      : cached.index;
  }

  /** Forgets the indexes of a shard and of the shards nested in it. */
  forget(key: string): void {
    const shard = this.#shards.get(key);
    for (const name of shard?.keys() ?? []) this.#drop(key, shard!, name);
  }

  /** Forgets all indexes. */
  clear(): void {
    for (const key of this.#shards.keys()) this.forget(key);
  }

  /** The indexes of a shard, which becomes the most recently used one. */
  #use(key: string): Map<string, Cached> {
    const found = this.#shards.get(key);
    const keepsOrder = this.#entries >= ORDERED_ENTRIES;
    if (found !== undefined && (found === this.#latest || !keepsOrder)) {
      return found;
    }
    const shard = found ?? new Map<string, Cached>();
    this.#shards.delete(key);
    this.#shards.set(key, shard);
    this.#latest = shard;
    return shard;
  }

  async #wait(
    key: string,
    shard: Map<string, Cached>,
    name: string,
    load: Load,
    signal: AbortSignal | undefined,
  ): Promise<ShardIndex | undefined> {
    const cached = shard.get(name) ??
      this.#load(key, shard, name, load, signal && new AbortController());
    cached.waiting++;
    try {
      return await rejectOnAbort(cached.loading, signal);
    } finally {
      cached.waiting--;
      if (cached.waiting === 0 && cached.entries === 0) {
        if (shard.get(name) === cached) this.#drop(key, shard, name);
        cached.abort?.abort(signal?.reason);
      }
    }
  }

  #load(
    key: string,
    shard: Map<string, Cached>,
    name: string,
    load: Load,
    abort: AbortController | undefined,
  ): Cached {
    const loading = load(abort ? { signal: abort.signal } : {});
    const cached: Cached = {
      loading,
      abort,
      index: undefined,
      entries: 0,
      waiting: 0,
    };
    shard.set(name, cached);
    loading.then(
      (index) => {
        if (shard.get(name) !== cached) return; // Forgotten meanwhile.
        cached.index = index;
        cached.entries = Math.max(1, index?.length ?? 1);
        this.#entries += cached.entries;
        this.#evict(cached);
      },
      () => shard.get(name) === cached && this.#drop(key, shard, name),
    );
    return cached;
  }

  /** Drops the least recently used indexes until the rest fits, but never the newest. */
  #evict(newest: Cached): void {
    for (const [key, shard] of this.#shards) {
      for (const [name, cached] of shard) {
        if (this.#entries <= MOST_ENTRIES) return;
        if (cached !== newest && cached.entries > 0) {
          this.#drop(key, shard, name);
        }
      }
    }
  }

  #drop(key: string, shard: Map<string, Cached>, name: string): void {
    this.#entries -= shard.get(name)!.entries;
    shard.delete(name);
    if (shard.size === 0 && this.#shards.get(key) === shard) {
      this.#shards.delete(key);
      if (this.#latest === shard) this.#latest = undefined;
    }
  }
}
