import { unlessAborted } from "../stores/abort.ts";
import type { StoreOptions } from "../stores/store.ts";
import type { ShardIndex } from "./shard_index.ts";

/** How many entries are kept in all, which is some tens of megabytes. */
const MOST_ENTRIES = 2 ** 20;

/** An index that is kept, or being read. */
interface Kept {
  readonly index: Promise<ShardIndex | undefined>;
  /** How many entries it has; 0 while it is being read. */
  entries: number;
  /** How many wait for it. */
  waiting: number;
  readonly abort: AbortController;
}

/**
 * The indexes of shards that were read last; those longest unused go first. A
 * shard is named by its key, and one that lies in it by its place there too.
 */
export class IndexCache {
  /** By keys, and by names in the shard: "" is that of the shard itself. */
  readonly #shards = new Map<string, Map<string, Kept>>();
  #entries = 0;

  /**
   * An index, read by `load` if it is not kept. What fails is not kept, nor what
   * nobody waits for any more.
   */
  async get(
    key: string,
    name: string,
    load: (options: StoreOptions) => Promise<ShardIndex | undefined>,
    signal?: AbortSignal,
  ): Promise<ShardIndex | undefined> {
    const shard = this.#shards.get(key) ?? new Map<string, Kept>();
    this.#shards.delete(key); // To come last again.
    this.#shards.set(key, shard);
    const kept = shard.get(name) ?? this.#load(key, shard, name, load);
    if (signal === undefined && kept.entries > 0) return await kept.index;
    kept.waiting++;
    try {
      return await unlessAborted(kept.index, signal);
    } finally {
      kept.waiting--;
      if (kept.waiting === 0 && kept.entries === 0) {
        if (shard.get(name) === kept) this.#drop(key, shard, name);
        kept.abort.abort(signal?.reason);
      }
    }
  }

  /** Forgets the indexes of a shard: its own, and those of shards in it. */
  forget(key: string): void {
    const shard = this.#shards.get(key);
    for (const name of shard?.keys() ?? []) this.#drop(key, shard!, name);
  }

  /** Forgets all. */
  clear(): void {
    for (const key of this.#shards.keys()) this.forget(key);
  }

  #load(
    key: string,
    shard: Map<string, Kept>,
    name: string,
    load: (options: StoreOptions) => Promise<ShardIndex | undefined>,
  ): Kept {
    const abort = new AbortController();
    const index = load({ signal: abort.signal });
    const kept: Kept = { index, entries: 0, waiting: 0, abort };
    shard.set(name, kept);
    index.then(
      (index) => {
        if (shard.get(name) !== kept) return; // Forgotten meanwhile.
        kept.entries = Math.max(1, index?.length ?? 1);
        this.#entries += kept.entries;
        this.#dropOldest(kept);
      },
      () => shard.get(name) === kept && this.#drop(key, shard, name),
    );
    return kept;
  }

  /** Drops what was not used for the longest time, until there is room; all but the newest if need be. */
  #dropOldest(newest: Kept): void {
    for (const [key, shard] of this.#shards) {
      for (const [name, kept] of shard) {
        if (this.#entries <= MOST_ENTRIES) return;
        if (kept !== newest && kept.entries > 0) this.#drop(key, shard, name);
      }
    }
  }

  #drop(key: string, shard: Map<string, Kept>, name: string): void {
    this.#entries -= shard.get(name)!.entries;
    shard.delete(name);
    if (shard.size === 0 && this.#shards.get(key) === shard) {
      this.#shards.delete(key);
    }
  }
}
