import { UnfinishedWriteError } from "../errors/mod.ts";
import { pause, rejectOnAbort } from "../runtime/mod.ts";
import {
  hasGroups,
  readRange,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";
import { CachedIndexes, type CachedShard } from "./index_cache.ts";
import {
  findInner,
  type InnerPath,
  readInner,
  type ShardReader,
  uncachedReader,
} from "./inner_extents.ts";
import { mayHaveRecords } from "./other_bytes.ts";
import {
  NotInBodyError,
  RangeBatches,
  type ShardBody,
  ShardChangedError,
} from "./range_batches.ts";
import type { ShardChanges } from "./shard_changes.ts";
import { shardIndexSize } from "./shard_index.ts";
import type { ShardLayout } from "./shard_layout.ts";

/** The number of times that a shard is read if others replace it meanwhile. */
const MOST_TRIES = 10;

/** Reads the shards of a store, each in one state, by indexes that are cached. */
export class ShardReads {
  readonly #store: Store;
  readonly #layouts: readonly ShardLayout[];
  readonly #body: ShardBody | null;
  readonly #changes: ShardChanges;
  readonly #indexes: CachedIndexes;
  /** How many changes of the array were noted here, and how many others the cache knows. */
  #ownChanges = 0;
  #knownChanges: number;

  /** @param body The values that hold the inner chunks; `null` if these are in several values. */
  constructor(
    store: Store,
    layouts: readonly ShardLayout[],
    body: ShardBody | null,
    changes: ShardChanges,
  ) {
    this.#store = store;
    this.#layouts = layouts;
    this.#body = body;
    this.#changes = changes;
    this.#knownChanges = changes.count;
    const hasVersions = hasGroups(store) && body !== null &&
      hasGroups(body.store) && body.store.getRangeOf !== undefined;
    this.#indexes = new CachedIndexes(
      store,
      layouts,
      new RangeBatches(store, body, sizeOfLastIndex(layouts)),
      hasVersions ? body! : undefined,
      mayHaveRecords(body, layouts[0]),
    );
  }

  /** Forgets all cached indexes. */
  clear(): void {
    this.#indexes.clear();
  }

  /** Notes the begin or the end of a change of a shard, whose index is forgotten. Other indexes stay. */
  noteChange(key: StoreKey): void {
    this.#ownChanges++;
    this.#indexes.forget(key);
  }

  /**
   * Runs a task that reads a shard, again if the shard is replaced meanwhile.
   *
   * @param tries How often the shard was replaced. After the first time, the lock of
   * the shard is held.
   */
  async read<T>(
    key: StoreKey,
    options: StoreOptions | undefined,
    task: (shard: ShardReader) => Promise<T>,
    tries = 0,
  ): Promise<T> {
    const changes = this.#changes;
    const { count } = changes;
    if (this.#body === null && hasGroups(this.#store)) {
      return await this.#readInGroup(key, options, task);
    }
    if (tries > 0 || changes.running === 0) {
      this.#forgetChanged();
      const shard = this.#indexes.enter(key);
      try {
        const result = await task(this.#indexes.reader(shard, options));
        if (tries > 0 || this.#isUnchanged(shard, count)) return result;
      } catch (error) {
        if (error instanceof ShardChangedError) this.#indexes.drop(shard);
        else if (error instanceof NotInBodyError) {
          return await this.#readInGroup(key, options, task);
        } else if (tries > 0 || this.#isUnchanged(shard, count)) throw error;
      } finally {
        this.#indexes.leave(shard);
      }
    }
    const signal = options?.signal;
    if (tries > 0) {
      await this.#pause(key, tries, signal);
      return await this.read(key, options, task, tries + 1);
    }
    const reading = changes.locks.read(
      key,
      () => this.read(key, options, task, 1),
    );
    return await rejectOnAbort(reading, signal);
  }

  /**
   * Reads an inner chunk by the present index. Only in stores without versions does
   * this take more requests than to read by a cached one.
   */
  async readPresent(
    key: StoreKey,
    path: InnerPath,
  ): Promise<Uint8Array | undefined> {
    if (hasGroups(this.#store) || this.#store.set === undefined) {
      return await this.read(key, {}, (shard) => readInner(shard, path));
    }
    return await this.#changes.locks.read(key, async () => {
      const shard = uncachedReader(
        (range) => readRange(this.#store, key, range),
        this.#layouts,
        key,
      );
      for (let tries = 1;; tries++) {
        const before = await findInner(shard, path);
        const bytes = await readInner(shard, path)
          .catch((error) => ({ error }));
        const after = await findInner(shard, path);
        const isSame = before?.offset === after?.offset &&
          before?.length === after?.length;
        if (isSame && bytes && "error" in bytes) throw bytes.error;
        if (isSame) return bytes as Uint8Array | undefined;
        await this.#pause(key, tries);
      }
    });
  }

  /** Runs a task that reads a shard of one write, without the cache. */
  #readInGroup<T>(
    key: StoreKey,
    options: StoreOptions | undefined,
    task: (shard: ShardReader) => Promise<T>,
  ): Promise<T> {
    const group = this.#store.group!(key, [key]);
    return group.read(async (values) => {
      const size = await values.size(key, options);
      return await task(uncachedReader(
        (range) => readRange(values, key, range, options),
        this.#layouts,
        key,
        (size ?? 0) - sizeOfLastIndex(this.#layouts),
      ));
    }, options);
  }

  /** Whether a shard that was read by its index has not changed meanwhile. With a version, the store tells. */
  #isUnchanged({ version }: CachedShard, count: number): boolean {
    return version !== undefined || this.#changes.count === count;
  }

  /** Forgets the indexes if others have changed shards of the array. */
  #forgetChanged(): void {
    const others = this.#changes.count - this.#ownChanges;
    if (this.#knownChanges === others) return;
    this.#knownChanges = others;
    this.#indexes.clear();
  }

  async #pause(
    key: StoreKey,
    tries: number,
    signal?: AbortSignal,
  ): Promise<void> {
    if (tries === MOST_TRIES) {
      throw new UnfinishedWriteError(key);
    }
    if (tries > 1) await pause(2 ** (tries - 1), signal);
  }
}

/** The size of the index that shards have at their end. */
function sizeOfLastIndex([layout]: readonly ShardLayout[]): number {
  return layout?.indexLocation === "end" ? shardIndexSize(layout) : 0;
}
