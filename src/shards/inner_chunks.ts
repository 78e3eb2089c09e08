import { describe, isDamage } from "../errors/mod.ts";
import { isSameBytes, rejectOnAbort } from "../runtime/mod.ts";
import {
  type ByteRange,
  exclusively,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";
import {
  coordinatesInShard,
  findInner,
  type InnerPath,
  readInner,
} from "./inner_extents.ts";
import { mayHaveRecords } from "./other_bytes.ts";
import type { ShardBody } from "./range_batches.ts";
import { placeInShard } from "./read_inner_chunk.ts";
import { ShardChanges } from "./shard_changes.ts";
import type { ShardLayout } from "./shard_layout.ts";
import { ShardReads } from "./shard_reader.ts";
import {
  changeShard,
  type ChangeShardOptions,
  type ChangesOf,
  readDamagedHead,
  type ShardChanges as InnerChanges,
} from "./shard_writer.ts";

/** Options of {@linkcode InnerChunks}. */
export interface InnerChunksOptions {
  /** The number of bytes before the inner chunks of a new shard, unless it is given a prefix. Defaults to 0. */
  headSize?: number;
  /**
   * The values that hold the inner chunks; `null` if these are in several values.
   * Defaults to the shards themselves.
   */
  body?: ShardBody | null;
  /** The changes of the array in this process. By default, those of this object alone. */
  changes?: ShardChanges;
}

/**
 * Reads and changes the inner chunks of the shards in a store. The index of a shard
 * is cached until the shard is changed: here, by others that share the same
 * `changes`, or, in a store with versions, by anybody.
 */
export class InnerChunks {
  readonly #store: Store;
  readonly #layouts: readonly ShardLayout[];
  readonly #headSize: number;
  readonly #mayHaveRecords: boolean;
  readonly #changes: ShardChanges;
  readonly #reads: ShardReads;
  readonly #batches = new Map<string, Batch>();

  /**
   * @param store The store of whole shards.
   * @param layouts The layouts of the shards, of the shards nested in them, and so
   * on.
   */
  constructor(
    store: Store,
    layouts: readonly ShardLayout[],
    {
      headSize = 0,
      body = { store, keySuffix: "", offset: 0, tailSize: 0 },
      changes = new ShardChanges(),
    }: InnerChunksOptions = {},
  ) {
    this.#store = store;
    this.#layouts = layouts;
    this.#headSize = headSize;
    this.#mayHaveRecords = mayHaveRecords(body, layouts[0]);
    this.#changes = changes;
    this.#reads = new ShardReads(store, layouts, body, changes);
  }

  /** One inner chunk as a store that has it under the key of its shard. */
  at(path: InnerPath): InnerChunkStore {
    return new InnerChunkStore(this, path);
  }

  /** Forgets all cached indexes, since other programs may have changed the shards. */
  refresh(): void {
    this.#reads.clear();
  }

  /** Lists the inner chunks of a shard. */
  async *list(
    key: StoreKey,
    options?: StoreOptions,
    outer: InnerPath = [],
  ): AsyncGenerator<InnerPath> {
    const index = await this.#reads.read(key, options, async (shard) => {
      const extent = outer.length > 0
        ? await findInner(shard, outer)
        : undefined;
      const isAbsent = outer.length > 0 && extent === undefined;
      const index = isAbsent ? undefined : await shard.index(outer, extent);
      await shard.confirm?.();
      return index;
    });
    const layout = this.#layouts[outer.length]!;
    for (const [place, entry] of index?.entries() ?? []) {
      if (entry === undefined) continue;
      const path = [...outer, coordinatesInShard(place, layout)];
      if (path.length === this.#layouts.length) yield path;
      else yield* this.list(key, options, path);
    }
  }

  /** Stores a shard with some inner chunks changed, which are read and stored under its lock. */
  write(
    key: StoreKey,
    changes: InnerChanges | ChangesOf,
    options: ChangeShardOptions = {},
  ): Promise<void> {
    const { signal } = options;
    const writing = this.#changes.run(key, async () => {
      signal?.throwIfAborted();
      const [layout, ...nested] = this.#layouts;
      if (nested.length > 0) {
        throw new TypeError(
          `Shard ${
            describe(key)
          } is made of shards: such arrays can be read, and not written`,
        );
      }
      const headSize = this.#headSize;
      const mayHaveRecords = this.#mayHaveRecords;
      const change = (more: ChangeShardOptions) =>
        exclusively(
          this.#store,
          key,
          (store) =>
            changeShard(store, key, layout!, changes, {
              headSize,
              mayHaveRecords,
              ...options,
              ...more,
            }),
          signal && { signal },
        );
      try {
        await change({});
      } catch (error) {
        if (!options.isWhole || !isDamage(error)) throw error;
        // Parts of a damaged shard can be read alone, without its lock.
        const reading = signal ? { signal } : {};
        const store = this.#store;
        await change({
          head: await readDamagedHead(store, key, layout!, headSize, reading),
        });
      }
    }, () => this.#reads.noteChange(key));
    return rejectOnAbort(writing, signal);
  }

  /** Reads an inner chunk, or a range of it. */
  read(
    key: StoreKey,
    path: InnerPath,
    range?: ByteRange,
    options?: StoreOptions,
  ): Promise<Uint8Array | undefined> {
    return this.#reads.read(
      key,
      options,
      (shard) => readInner(shard, path, range),
    );
  }

  /** Reads an inner chunk by the present index, to change it and write it back. */
  readPresent(
    key: StoreKey,
    path: InnerPath,
  ): Promise<Uint8Array | undefined> {
    return this.#reads.readPresent(key, path);
  }

  /** Tells how long an inner chunk is. */
  size(
    key: StoreKey,
    path: InnerPath,
    options: StoreOptions | undefined,
  ): Promise<number | undefined> {
    return this.#reads.read(key, options, async (shard) => {
      const extent = await findInner(shard, path);
      await shard.confirm?.();
      return extent?.length;
    });
  }

  /**
   * Changes an inner chunk, together with others of its shard that are changed before the
   * shard is stored.
   *
   * @param base What the inner chunk was when it was read to be changed in part. If it is
   * another one by now, it is not changed.
   * @returns Whether the inner chunk is changed.
   */
  async change(
    key: StoreKey,
    path: InnerPath,
    bytes: Uint8Array | undefined,
    base?: ChunkBase,
  ): Promise<boolean> {
    const batch = this.#batches.get(key) ?? this.#openBatch(key);
    const place = placeInShard(path[0]!, this.#layouts[0]!);
    // The other change in the batch replaces the bytes that this one was made of.
    if (base !== undefined && batch.changes.has(place)) return false;
    const change = { bytes, base };
    batch.changes.set(place, change);
    const outdated = await batch.outdated;
    return !outdated.has(change);
  }

  #openBatch(key: StoreKey): Batch {
    const changes = new Map<number, Change>();
    // Changes are added until the earlier writes of the shard have finished.
    const closed = this.#changes.locks.write(key, () => {
      this.#batches.delete(key);
      return Promise.resolve();
    });
    const store = async () => {
      const outdated = new Set<Change>();
      await this.write(key, (chunkAt) => {
        outdated.clear();
        const present = new Map<number, Uint8Array | undefined>();
        for (const [place, change] of changes) {
          if (isBase(change.base, chunkAt(place))) {
            present.set(place, change.bytes);
          } else outdated.add(change);
        }
        return present;
      });
      return outdated;
    };
    const batch = { changes, outdated: closed.then(store) };
    this.#batches.set(key, batch);
    return batch;
  }
}

/** The stored bytes that a change of a part of a chunk was made of; `undefined` for an absent chunk. */
export interface ChunkBase {
  readonly bytes: Uint8Array | undefined;
}

/** Whether a chunk is what a change was made of. A change of a whole chunk has no base. */
export function isBase(
  base: ChunkBase | undefined,
  present: Uint8Array | undefined,
): boolean {
  return base === undefined || isSameBytes(base.bytes, present);
}

interface Change {
  readonly bytes: Uint8Array | undefined;
  readonly base: ChunkBase | undefined;
}

/** Changes of one shard that are stored together. */
interface Batch {
  readonly changes: Map<number, Change>;
  /** Resolves to the changes that are not stored, since their chunks are not their bases. */
  readonly outdated: Promise<ReadonlySet<Change>>;
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

  /** Reads the inner chunk by the present index, to change it and write it back. */
  getPresent(key: StoreKey): Promise<Uint8Array | undefined> {
    return this.#chunks.readPresent(key, this.#path);
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

  async set(key: StoreKey, bytes: Uint8Array): Promise<void> {
    await this.#chunks.change(key, this.#path, bytes);
  }

  /** Stores the inner chunk if it is what the change was made of. Returns whether it is. */
  change(
    key: StoreKey,
    bytes: Uint8Array,
    base: ChunkBase | undefined,
  ): Promise<boolean> {
    return this.#chunks.change(key, this.#path, bytes, base);
  }

  async delete(key: StoreKey): Promise<void> {
    await this.#chunks.change(key, this.#path, undefined);
  }
}
