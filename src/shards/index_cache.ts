import type { ShardIndex } from "./shard_index.ts";

/** How many entries are kept in all, which is some megabytes. */
const MOST_ENTRIES = 2 ** 18;

/** The indexes of shards that were read last; those longest unused go first. */
export class IndexCache {
  readonly #kept = new Map<string, Promise<ShardIndex | undefined>>();
  readonly #counts = new Map<string, number>();
  #entries = 0;

  /** An index, read by `load` if it is not kept. What fails is not kept. */
  get(
    name: string,
    load: () => Promise<ShardIndex | undefined>,
  ): Promise<ShardIndex | undefined> {
    const kept = this.#kept.get(name);
    this.#kept.delete(name); // To come last again.
    const loading = kept ?? load();
    this.#kept.set(name, loading);
    if (kept === undefined) {
      loading.then(
        (index) => this.#count(name, loading, index?.length ?? 1),
        () => this.#kept.get(name) === loading && this.#drop(name),
      );
    }
    return loading;
  }

  /** Forgets the indexes of a shard: its own, and those of shards in it. */
  forget(key: string): void {
    for (const name of this.#kept.keys()) {
      if (name === key || name.startsWith(`${key}\n`)) this.#drop(name);
    }
  }

  #count(
    name: string,
    loading: Promise<ShardIndex | undefined>,
    entries: number,
  ): void {
    if (this.#kept.get(name) !== loading) return; // Forgotten meanwhile.
    this.#counts.set(name, entries);
    this.#entries += entries;
    this.#kept.delete(name); // Others may have been asked for meanwhile.
    this.#kept.set(name, loading);
    for (const oldest of this.#kept.keys()) {
      if (this.#entries <= MOST_ENTRIES || oldest === name) return;
      if (this.#counts.has(oldest)) this.#drop(oldest);
    }
  }

  #drop(name: string): void {
    this.#kept.delete(name);
    this.#entries -= this.#counts.get(name) ?? 0;
    this.#counts.delete(name);
  }
}
