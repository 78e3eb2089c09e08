import type { ChangeShardOptions } from "../shards/change_shard.ts";
import { placeInShard } from "../shards/read_inner_chunk.ts";
import type { StoreKey } from "../stores/store.ts";
import type { ShardedArray } from "./sharded_array.ts";

/** The inner chunks of a shard that are to be written. */
interface Pending {
  readonly shard: readonly number[];
  readonly changes: Map<number, Uint8Array>;
}

/** Collects inner chunks, and stores each shard once. */
export class ShardWriter {
  readonly #array: ShardedArray;
  readonly #covers: (shard: readonly number[]) => boolean;
  readonly #options: ChangeShardOptions;
  readonly #pending = new Map<StoreKey, Pending>();
  readonly #writing = new Set<Promise<void>>();
  #isAbandoned = false;

  /** @param covers Whether all elements of a shard are written, so that nothing of it is kept. */
  constructor(
    array: ShardedArray,
    covers: (shard: readonly number[]) => boolean,
    options: ChangeShardOptions,
  ) {
    this.#array = array;
    this.#covers = covers;
    this.#options = options;
  }

  /** Takes an inner chunk; the last one of its shard stores that. */
  async set(plainKey: string, bytes: Uint8Array): Promise<void> {
    if (this.#isAbandoned) throw new Error("Another inner chunk has failed");
    const { shard, key, path } = this.#array.locate(plainKey);
    const pending = this.#pending.get(key) ?? { shard, changes: new Map() };
    this.#pending.set(key, pending);
    const { changes } = pending;
    const { layouts } = this.#array.levels;
    changes.set(placeInShard(path[0]!, layouts[0]!), bytes);
    if (changes.size === this.#countIn(shard)) await this.#store(key);
  }

  /** Stores the shards of which some inner chunks are to be kept. */
  async finish(): Promise<void> {
    for (const key of this.#pending.keys()) await this.#store(key);
  }

  /** Stores nothing more, and waits for what is being stored. */
  async abandon(): Promise<void> {
    this.#isAbandoned = true;
    await Promise.allSettled(this.#writing);
  }

  async #store(key: StoreKey): Promise<void> {
    this.#options.signal?.throwIfAborted();
    const { shard, changes } = this.#pending.get(key)!;
    this.#pending.delete(key);
    const isWhole = this.#covers(shard);
    const { prefix, alignment, signal } = this.#options;
    const options = { prefix, alignment, signal, isWhole };
    const writing = this.#array.inner.write(key, changes, options);
    this.#writing.add(writing);
    await writing;
    this.#writing.delete(writing);
  }

  /** How many inner chunks of a shard lie in the array; at its edge, shards go on. */
  #countIn(shard: readonly number[]): number {
    const { gridShape, layouts } = this.#array.levels;
    return layouts[0]!.chunksPerShard.reduce(
      (count, along, i) =>
        count * Math.min(along, gridShape[i]! - shard[i]! * along),
      1,
    );
  }
}
