import { describe, isDamage } from "../errors/mod.ts";
import { isSameBytes, rejectOnAbort } from "../runtime/mod.ts";
import { exclusively, type Store, type StoreKey } from "../stores/mod.ts";
import {
  changeShard,
  type ChangeShardOptions,
  type ChangesOf,
  type InnerChanges,
  readDamagedHead,
} from "./change_shard.ts";
import { mayHaveRecords } from "./file_record.ts";
import type { ShardBody } from "./range_batches.ts";
import { ShardChanges } from "./shard_changes.ts";
import type { InnerPath, ShardLayout } from "./shard_layout.ts";
import { placeInShard, ShardReader } from "./shard_reader.ts";

/** Options of {@linkcode InnerChunks}. */
interface InnerChunksOptions {
  /** The number of bytes before the inner chunks of a new shard that has no prefix. Defaults to 0. */
  headSize?: number;
  /**
   * The values that hold the inner chunks; `null` if these are in several values.
   * Defaults to the shards themselves.
   */
  body?: ShardBody | null;
  /** The changes of the array in this process. Defaults to the changes by this object alone. */
  changes?: ShardChanges;
}

/** Reads and changes the inner chunks of the shards in a store. */
export class InnerChunks {
  /** Reads the inner chunks. */
  readonly reader: ShardReader;
  readonly #store: Store;
  readonly #layouts: readonly ShardLayout[];
  readonly #headSize: number;
  readonly #mayHaveRecords: boolean;
  readonly #changes: ShardChanges;
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
    this.reader = new ShardReader(store, layouts, body, changes);
    this.#store = store;
    this.#layouts = layouts;
    this.#headSize = headSize;
    this.#mayHaveRecords = mayHaveRecords(body, layouts[0]);
    this.#changes = changes;
  }

  /** Returns a store that has one inner chunk of each shard under the key of the shard. */
  at(path: InnerPath): Required<
    Pick<Store, "get" | "getRange" | "size" | "set" | "delete">
  > {
    return {
      get: (key, options) => this.reader.read(key, path, undefined, options),
      getRange: (key, range, options) =>
        this.reader.read(key, path, range, options),
      size: (key, options) => this.reader.size(key, path, options),
      set: async (key, bytes) => {
        await this.change(key, path, bytes as Uint8Array);
      },
      delete: async (key) => {
        await this.change(key, path, undefined);
      },
    };
  }

  /**
   * Changes an inner chunk, together with others of its shard that are changed before the
   * shard is stored.
   *
   * @param base The stored inner chunk from which `bytes` were made, if they change a part
   * of it. They are stored only if the stored inner chunk is still the same.
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
    if (base !== undefined && batch.changes.has(place)) {
      // Whether the chunk is still the base of this change depends on the other change.
      await batch.outdated.catch(() => {});
      return await this.change(key, path, bytes, base);
    }
    const change = { bytes, base };
    batch.changes.set(place, change);
    const outdated = await batch.outdated;
    return !outdated.has(change);
  }

  /** Opens a batch of changes, which others join until the lock of the shard is taken. */
  #openBatch(key: StoreKey): Batch {
    const changes = new Map<number, InnerChange>();
    const close = () => {
      if (this.#batches.get(key) === batch) this.#batches.delete(key);
    };
    const store = async () => {
      const outdated = new Set<InnerChange>();
      await this.write(
        key,
        (chunkAt) => {
          outdated.clear();
          const present = new Map<number, Uint8Array | undefined>();
          for (const [place, change] of changes) {
            const { base, bytes } = change;
            const isPresent = base === undefined ||
              isSameBytes(base.bytes, chunkAt(place));
            if (isPresent) present.set(place, bytes);
            else outdated.add(change);
          }
          return present;
        },
        {},
        close,
      ).finally(close);
      return outdated;
    };
    const batch: Batch = { changes, outdated: Promise.resolve().then(store) };
    this.#batches.set(key, batch);
    return batch;
  }

  /**
   * Changes some inner chunks of a shard. The shard is read and stored under its lock.
   *
   * @param begin Called once the lock of the shard is taken.
   */
  write(
    key: StoreKey,
    changes: InnerChanges | ChangesOf,
    options: ChangeShardOptions = {},
    begin?: () => void,
  ): Promise<void> {
    const { signal } = options;
    return rejectOnAbort(this.#write(key, changes, options, begin), signal);
  }

  async #write(
    key: StoreKey,
    changes: InnerChanges | ChangesOf,
    options: ChangeShardOptions,
    begin: (() => void) | undefined,
  ): Promise<void> {
    const [layout, ...nested] = this.#layouts;
    if (nested.length > 0) {
      throw new TypeError(
        `Shard ${
          describe(key)
        } is made of shards: such arrays can be read, and not written`,
      );
    }
    const store = this.#store;
    const [headSize, mayHaveRecords] = [this.#headSize, this.#mayHaveRecords];
    const { signal } = options;
    const reading = signal ? { signal } : {};
    const isReplaceable = (error: unknown) =>
      options.isWhole && isDamage(error);
    const underLock = (task: (change: Change) => Promise<void>) =>
      exclusively(store, key, (locked) => {
        begin?.();
        const change = (head?: Uint8Array) => {
          const given = { headSize, mayHaveRecords, head, ...options };
          return changeShard(locked, key, layout!, changes, given);
        };
        return this.#changes.run(
          () => task(change),
          () => this.reader.noteChange(key),
        );
      }, reading);
    try {
      await underLock((change) => change());
    } catch (error) {
      if (!isReplaceable(error)) throw error;
      // Parts of a damaged shard can be read alone, without its lock.
      const head = await readDamagedHead(
        store,
        key,
        layout!,
        headSize,
        reading,
      );
      await underLock(async (change) => {
        try {
          await change(); // Others may have replaced the damaged shard.
        } catch (error) {
          if (!isReplaceable(error)) throw error;
          await change(head);
        }
      });
    }
  }
}

/** The stored chunk from which a changed chunk was made; `undefined` bytes for an absent one. */
export interface ChunkBase {
  readonly bytes: Uint8Array | undefined;
}

/** Stores a shard with its changes. `head` replaces the first bytes of a damaged shard. */
type Change = (head?: Uint8Array) => Promise<void>;

/** The change of one inner chunk. */
interface InnerChange {
  readonly bytes: Uint8Array | undefined;
  readonly base: ChunkBase | undefined;
}

/** Changes of one shard that are stored together. */
interface Batch {
  readonly changes: Map<number, InnerChange>;
  /** Resolves to the changes that are not stored, since the stored chunks differ from their bases. */
  readonly outdated: Promise<ReadonlySet<InnerChange>>;
}
