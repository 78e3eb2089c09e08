import { describe } from "../metadata/describe.ts";
import { rejectOnAbort } from "../stores/abort.ts";
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
  InnerExtents,
  type InnerPath,
} from "./inner_extents.ts";
import { RangeBatches, type ShardBody } from "./range_batches.ts";
import { assertComplete, placeInShard } from "./read_inner_chunk.ts";
import { shardIndexSize } from "./shard_index.ts";
import type { ShardLayout } from "./shard_layout.ts";

/**
 * Reads and changes the inner chunks of the shards in a store. The index of a shard
 * is cached until the shard is changed here.
 */
export class InnerChunks {
  readonly #store: Store;
  readonly #layouts: readonly ShardLayout[];
  readonly #headSize: number;
  readonly #extents: InnerExtents;
  readonly #ranges: RangeBatches;
  /** Keeps readers from using the index of a shard that changes. */
  readonly #locks = new KeyLocks();
  /** The number of changes that are running, and of all changes. */
  #changing = 0;
  #changes = 0;
  readonly #batches = new Map<string, Batch>();

  /**
   * @param layouts The layouts of the shards, of the shards nested in them, and so
   * on.
   * @param headSize The number of bytes before the inner chunks of a new shard,
   * unless it is given a prefix.
   * @param body The values that hold the inner chunks, if these need not be read
   * through the store.
   */
  constructor(
    store: Store,
    layouts: readonly ShardLayout[],
    headSize = 0,
    body?: ShardBody,
  ) {
    this.#store = store;
    this.#layouts = layouts;
    this.#headSize = headSize;
    this.#extents = new InnerExtents(store, layouts);
    const [layout] = layouts;
    const indexSize = layout?.indexLocation === "end"
      ? shardIndexSize(layout)
      : 0;
    this.#ranges = new RangeBatches(store, body, indexSize);
  }

  /** One inner chunk as a store that has it under the key of its shard. */
  at(path: InnerPath): InnerChunkStore {
    return new InnerChunkStore(this, path);
  }

  /** Forgets all cached indexes, since other programs may have changed the shards. */
  refresh(): void {
    this.#extents.refresh();
  }

  /** Lists the inner chunks of a shard. */
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
    return rejectOnAbort(writing, options?.signal);
  }

  /**
   * Reads an inner chunk, or a range of it.
   *
   * @param isLocked Whether the lock of the shard is held, so that the shard does not change meanwhile.
   */
  async read(
    key: StoreKey,
    path: InnerPath,
    range: ByteRange | undefined,
    options: StoreOptions | undefined,
    isLocked = false,
  ): Promise<Uint8Array | undefined> {
    const changes = this.#changes;
    if (isLocked || this.#changing === 0) {
      // If a shard changes meanwhile, the index may not belong to the bytes: read again, with the lock.
      const isLatest = () => isLocked || this.#changes === changes;
      try {
        const found = this.#extents.find(key, path, options);
        let extent = found instanceof Promise ? await found : found;
        if (extent !== undefined && range !== undefined) {
          const { start, end } = resolveByteRange(range, extent.length);
          extent = { offset: extent.offset + start, length: end - start };
        }
        const bytes = extent &&
          (extent.length === 0 ? new Uint8Array() : assertComplete(
            await this.#ranges.read(key, extent, options),
            extent,
            () => describeInner(path, key),
            key,
          ));
        if (isLatest()) return bytes;
      } catch (error) {
        if (isLatest()) throw error;
      }
    }
    const reading = this.#locks.read(
      key,
      () => this.read(key, path, range, options, true),
    );
    return await rejectOnAbort(reading, options?.signal);
  }

  /** Tells how long an inner chunk is. */
  async size(
    key: StoreKey,
    path: InnerPath,
    options: StoreOptions | undefined,
  ): Promise<number | undefined> {
    return (await this.#extents.find(key, path, options))?.length;
  }

  /** Changes an inner chunk, together with others of its shard that are changed before the shard is stored. */
  change(
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
    // Changes are added until the earlier writes of the shard have finished.
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

/** A store of one inner chunk, under the key of its shard. */
export class InnerChunkStore implements Store {
  readonly #chunks: InnerChunks;
  readonly #path: InnerPath;

  constructor(chunks: InnerChunks, path: InnerPath) {
    this.#chunks = chunks;
    this.#path = path;
  }

  get(key: StoreKey, options?: StoreOptions): Promise<Uint8Array | undefined> {
    return this.#chunks.read(key, this.#path, undefined, options);
  }

  getRange(
    key: StoreKey,
    range: ByteRange,
    options?: StoreOptions,
  ): Promise<Uint8Array | undefined> {
    return this.#chunks.read(key, this.#path, range, options);
  }

  size(key: StoreKey, options?: StoreOptions): Promise<number | undefined> {
    return this.#chunks.size(key, this.#path, options);
  }

  set(key: StoreKey, bytes: Uint8Array): Promise<void> {
    return this.#chunks.change(key, this.#path, bytes);
  }

  delete(key: StoreKey): Promise<void> {
    return this.#chunks.change(key, this.#path, undefined);
  }
}
