import { describe } from "../metadata/describe.ts";
import { unlessAborted } from "../stores/abort.ts";
import { resolveByteRange } from "../stores/byte_range.ts";
import { KeyLocks } from "../stores/key_locks.ts";
import type {
  ByteRange,
  Store,
  StoreKey,
  StoreOptions,
} from "../stores/store.ts";
import {
  changeShard,
  type ChangeShardOptions,
  type ShardChanges,
} from "./change_shard.ts";
import {
  describeInner,
  type Extent,
  InnerExtents,
  type InnerPath,
} from "./inner_extents.ts";
import { RangeBatches } from "./range_batches.ts";
import { placeInShard, readEntry } from "./read_inner_chunk.ts";
import type { ShardLayout } from "./shard_layout.ts";

/**
 * The inner chunks of the shards in a store. A shard's index is read once, and
 * kept until the shard is changed here.
 */
export class InnerChunks {
  readonly #store: Store;
  readonly #layouts: readonly ShardLayout[];
  readonly #headSize: number;
  readonly #extents: InnerExtents;
  readonly #ranges: RangeBatches;
  /** Keep a shard and its index together while one of them changes. */
  readonly #locks = new KeyLocks();
  /** How many shards are being changed, and how often one was. */
  #changing = 0;
  #changes = 0;
  readonly #batches = new Map<string, Batch>();

  /**
   * @param layouts Those of the shards, of the shards in them, and so on.
   * @param headSize How many bytes of a shard come before its inner chunks, if
   * nothing else is said.
   */
  constructor(
    store: Store,
    layouts: readonly ShardLayout[],
    headSize = 0,
  ) {
    this.#store = store;
    this.#layouts = layouts;
    this.#headSize = headSize;
    this.#extents = new InnerExtents(store, layouts);
    this.#ranges = new RangeBatches(store);
  }

  /** One inner chunk as a store, whose value it is under its shard's key. */
  at(path: InnerPath): Store {
    return {
      get: (key, options) => this.#read(key, path, undefined, options),
      getRange: (key, range, options) => this.#read(key, path, range, options),
      size: async (key, options) =>
        (await this.#extents.find(key, path, options))?.length,
      set: (key, bytes) => this.#change(key, path, bytes as Uint8Array),
      delete: (key) => this.#change(key, path, undefined),
    };
  }

  /** Forgets all indexes, since others may have changed the shards. */
  refresh(): void {
    this.#extents.refresh();
  }

  /** The inner chunks that a shard has. */
  list(key: StoreKey, options?: StoreOptions): AsyncGenerator<InnerPath> {
    return this.#extents.list(key, options);
  }

  /** Stores a shard with some inner chunks changed. */
  write(
    key: StoreKey,
    changes: ShardChanges,
    options?: ChangeShardOptions,
  ): Promise<void> {
    const [layout, ...nested] = this.#layouts;
    const writing = this.#locks.write(key, async () => {
      options?.signal?.throwIfAborted();
      if (nested.length > 0) {
        throw new TypeError(
          `Shard ${
            describe(key)
          } is made of shards: such arrays can be read, and not written`,
        );
      }
      this.#changing++;
      this.#changes++;
      try {
        await changeShard(this.#store, key, layout!, changes, {
          headSize: this.#headSize,
          ...options,
        });
      } finally {
        this.#extents.forget(key);
        this.#changing--;
      }
    });
    return unlessAborted(writing, options?.signal);
  }

  /** An inner chunk, or a range of it. */
  async #read(
    key: StoreKey,
    path: InnerPath,
    range: ByteRange | undefined,
    options: StoreOptions | undefined,
  ): Promise<Uint8Array | undefined> {
    const changes = this.#changes;
    if (this.#changing === 0) {
      // If a shard changes meanwhile, the index may be older than the bytes.
      try {
        const bytes = await this.#readAsIs(key, path, range, options);
        if (this.#changes === changes) return bytes;
      } catch (error) {
        if (this.#changes === changes) throw error;
      }
    }
    const reading = this.#locks.read(
      key,
      () => this.#readAsIs(key, path, range, options),
    );
    return await unlessAborted(reading, options?.signal);
  }

  async #readAsIs(
    key: StoreKey,
    path: InnerPath,
    range: ByteRange | undefined,
    options: StoreOptions | undefined,
  ): Promise<Uint8Array | undefined> {
    const extent = await this.#extents.find(key, path, options);
    if (extent === undefined) return undefined;
    const { start, end } = range
      ? resolveByteRange(range, extent.length)
      : { start: 0, end: extent.length };
    return await readEntry(
      (range) => this.#ranges.read(key, range as Extent, options),
      { offset: extent.offset + start, length: end - start },
      () => describeInner(path, key),
    );
  }

  /** Changes an inner chunk, and with it others of its shard that come before it is stored. */
  #change(
    key: StoreKey,
    path: InnerPath,
    bytes: Uint8Array | undefined,
  ): Promise<void> {
    const batch = this.#batches.get(key) ?? this.#openBatch(key);
    batch.changes.set(placeInShard(path[0]!, this.#layouts[0]!), bytes);
    return batch.done;
  }

  #openBatch(key: StoreKey): Batch {
    const changes = new Map<number, Uint8Array | undefined>();
    // What comes while an earlier write is waited for is still taken in.
    const closed = this.#locks.write(key, () => {
      this.#batches.delete(key);
      return Promise.resolve();
    });
    const done = closed.then(() => this.write(key, changes));
    const batch = { changes, done };
    this.#batches.set(key, batch);
    return batch;
  }
}

/** Changes of one shard that are stored together. */
interface Batch {
  readonly changes: Map<number, Uint8Array | undefined>;
  readonly done: Promise<void>;
}
