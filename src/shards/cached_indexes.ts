import { readRange } from "../stores/capabilities.ts";
import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";
import type { StoreVersion } from "../stores/store_group.ts";
import {
  type CachedShard,
  IndexCache,
  type LoadedIndex,
} from "./index_cache.ts";
import {
  type Extent,
  type InnerPath,
  readNestedIndex,
  type ShardReader,
} from "./inner_extents.ts";
import type { RangeBatches, ShardBody } from "./range_batches.ts";
import { readShardIndex } from "./read_inner_chunk.ts";
import {
  noteRecord,
  readRecordedIndex,
  type RecordedIndex,
} from "./recorded_index.ts";
import type { ShardIndex } from "./shard_index.ts";
import type { ShardLayout } from "./shard_layout.ts";

/** Reads the indexes of the shards of a store, and caches them with the version of the shard. */
export class CachedIndexes extends IndexCache {
  readonly layouts: readonly ShardLayout[];
  readonly ranges: RangeBatches;
  readonly #store: Store;
  /** The values whose versions the indexes are kept with, in a store that has versions. */
  readonly #versioned: ShardBody | undefined;
  readonly #mayHaveRecords: boolean;

  /** @param mayHaveRecords Whether the shards may be files with a record before the index. */
  constructor(
    store: Store,
    layouts: readonly ShardLayout[],
    ranges: RangeBatches,
    versioned: ShardBody | undefined,
    mayHaveRecords: boolean,
  ) {
    super();
    this.#store = store;
    this.layouts = layouts;
    this.ranges = ranges;
    this.#versioned = versioned;
    this.#mayHaveRecords = mayHaveRecords;
  }

  /**
   * Asks whether a shard still has its version, where no bytes of it are needed. A
   * store that can only read is not asked, since that is a server as a rule: this would
   * take a request for each absent inner chunk.
   */
  confirm(
    { key, version, isAbsent }: CachedShard,
    options: StoreOptions | undefined,
  ): Promise<unknown> | undefined {
    const body = this.#versioned;
    if (version === undefined || isAbsent) return undefined;
    if (body!.store.set === undefined) return undefined;
    const nothing = { offset: body!.offset, length: 0 };
    return this.ranges.read(key, nothing, options, version);
  }

  /** Reads a shard that was entered, until it is left. */
  reader(shard: CachedShard, options: StoreOptions | undefined): ShardReader {
    return new CachedReader(this, shard, options);
  }

  /** Gives an index of a shard that was entered. */
  indexOf(
    shard: CachedShard,
    outer: InnerPath,
    extent: Extent | undefined,
    options: StoreOptions | undefined,
  ): ShardIndex | undefined | Promise<ShardIndex | undefined> {
    const name = extent === undefined
      ? ""
      : outer.map((coordinates) => `/${coordinates}`).join("");
    const signal = options?.signal;
    return this.isLoaded(shard, name, signal)
      ? shard.get(name)!.index
      : this.load(
        shard,
        name,
        (options) =>
          extent === undefined
            ? this.#loadOwn(shard.key, options)
            : this.#loadNested(shard, outer, extent, options),
        signal,
      );
  }

  async #loadOwn(key: StoreKey, options: StoreOptions): Promise<LoadedIndex> {
    if (this.#versioned !== undefined) {
      return await this.#loadVersioned(key, this.#versioned, options);
    }
    const { index } = await this.#readIndex(this.#store, key, options);
    return { index, isLasting: true };
  }

  async #readIndex(
    values: Pick<Store, "get" | "getRange" | "size">,
    key: StoreKey,
    options: StoreOptions,
  ): Promise<RecordedIndex> {
    const layout = this.layouts[0]!;
    if (this.#mayHaveRecords) {
      const isReadOnly = this.#store.set === undefined;
      return await readRecordedIndex(values, key, layout, isReadOnly, options);
    }
    const index = await readShardIndex(
      (range) => readRange(values, key, range, options),
      layout,
      key,
    );
    return { index };
  }

  /** Reads an index together with the version of the value that it speaks of. */
  async #loadVersioned(
    key: StoreKey,
    { keySuffix }: ShardBody,
    options: StoreOptions,
  ): Promise<LoadedIndex> {
    let version: StoreVersion | undefined;
    const release = () => {
      version?.release();
      version = undefined;
    };
    try {
      const group = this.#store.group!(key, [key]);
      const index = await group.read(async (values) => {
        release(); // The store may try several times.
        const { index, record } = await this.#readIndex(values, key, options);
        version = values.version(`${key}${keySuffix}`);
        noteRecord(version, record);
        return index;
      }, options);
      // An absent shard may be created at any time, unless the store says otherwise.
      const isLasting = version === undefined
        ? index !== undefined
        : (version as StoreVersion).isLasting;
      return { index, version, isLasting };
    } catch (error) {
      release();
      throw error;
    }
  }

  async #loadNested(
    { key, version }: CachedShard,
    outer: InnerPath,
    extent: Extent,
    options: StoreOptions,
  ): Promise<LoadedIndex> {
    const read = (range: Extent) =>
      this.ranges.request(key, range, options, version);
    const layout = this.layouts[outer.length]!;
    const index = await readNestedIndex(read, layout, outer, extent, key);
    return { index, isLasting: true };
  }
}

/** Reads a shard that was entered. A class, since one is made for each inner chunk that is read. */
class CachedReader implements ShardReader {
  readonly #indexes: CachedIndexes;
  readonly #shard: CachedShard;
  readonly #options: StoreOptions | undefined;

  constructor(
    indexes: CachedIndexes,
    shard: CachedShard,
    options: StoreOptions | undefined,
  ) {
    this.#indexes = indexes;
    this.#shard = shard;
    this.#options = options;
  }

  get key(): StoreKey {
    return this.#shard.key;
  }

  get layouts(): readonly ShardLayout[] {
    return this.#indexes.layouts;
  }

  index(
    outer: InnerPath,
    extent: Extent | undefined,
  ): ShardIndex | undefined | Promise<ShardIndex | undefined> {
    return this.#indexes.indexOf(this.#shard, outer, extent, this.#options);
  }

  read(
    extent: Extent,
    path: InnerPath,
  ): Promise<Uint8Array | undefined> {
    const { key, version } = this.#shard;
    return this.#indexes.ranges.read(
      key,
      extent,
      this.#options,
      version,
      path,
    );
  }

  confirm(): Promise<unknown> | undefined {
    return this.#indexes.confirm(this.#shard, this.#options);
  }
}
