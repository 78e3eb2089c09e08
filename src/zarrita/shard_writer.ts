import { placeInShard } from "../shards/read_inner_chunk.ts";
import type { StoreKey } from "../stores/store.ts";
import { outsideGrid } from "../views/plain_array.ts";
import type { SetShardedOptions } from "./set_sharded_options.ts";
import type { ShardedArray } from "./sharded_array.ts";

/** A shard with the inner chunks to write. */
interface Pending {
  readonly shard: readonly number[];
  readonly changes: Map<number, Uint8Array>;
}

/** Collects inner chunks and stores each shard once. */
export class ShardWriter {
  readonly #array: ShardedArray;
  readonly #covers: (shard: readonly number[]) => boolean;
  readonly #options: SetShardedOptions;
  readonly #pending = new Map<StoreKey, Pending>();
  readonly #writing = new Set<Promise<void>>();
  #isAbandoned = false;

  /** @param covers Whether all elements of a shard are written, so that it is replaced. */
  constructor(
    array: ShardedArray,
    covers: (shard: readonly number[]) => boolean,
    options: SetShardedOptions,
  ) {
    this.#array = array;
    this.#covers = covers;
    this.#options = options;
  }

  /** Adds an inner chunk, and stores its shard if it was the last one missing. */
  async set(plainKey: string, bytes: Uint8Array): Promise<void> {
    if (this.#isAbandoned) throw new Error("Another inner chunk has failed");
    const place = this.#array.locate(plainKey);
    if (place === undefined) throw outsideGrid(plainKey, this.#array);
    const { shard, key, path } = place;
    const pending = this.#pending.get(key) ?? { shard, changes: new Map() };
    this.#pending.set(key, pending);
    const { changes } = pending;
    const { layouts } = this.#array.levels;
    changes.set(placeInShard(path[0]!, layouts[0]!), bytes);
    if (changes.size === this.#countIn(shard)) await this.#store(key);
  }

  /** Stores the shards that are not complete. */
  async finish(): Promise<void> {
    for (const key of this.#pending.keys()) await this.#store(key);
  }

  /** Stores no more shards, and waits for those that are being stored. */
  async abandon(): Promise<void> {
    this.#isAbandoned = true;
    await Promise.allSettled(this.#writing);
  }

  async #store(key: StoreKey): Promise<void> {
    this.#options.signal?.throwIfAborted();
    const { shard, changes } = this.#pending.get(key)!;
    this.#pending.delete(key);
    const isWhole = this.#covers(shard);
    const { prefix, alignment, otherBytes, signal } = this.#options;
    const { container: given } = this.#options;
    const container = typeof given === "function" ? given(shard) : given;
    const encoding = { prefix, alignment, container };
    const options = { ...encoding, otherBytes, signal, isWhole };
    const writing = this.#array.inner.write(key, changes, options);
    this.#writing.add(writing);
    await writing;
    this.#writing.delete(writing);
  }

  /** The number of inner chunks of a shard that lie in the array. Shards may extend past its edge. */
  #countIn(shard: readonly number[]): number {
    const { gridShape, layouts } = this.#array.levels;
    return layouts[0]!.chunksPerShard.reduce(
      (count, along, i) =>
        count * Math.min(along, gridShape[i]! - shard[i]! * along),
      1,
    );
  }
}
