import { DamageError } from "../errors/damage_error.ts";
import { describe } from "../metadata/describe.ts";
import { resolveByteRange } from "../stores/byte_range.ts";
import { readRange } from "../stores/capabilities.ts";
import type {
  ByteRange,
  Store,
  StoreKey,
  StoreOptions,
} from "../stores/store.ts";
import { IndexCache } from "./index_cache.ts";
import {
  placeInShard,
  readShardIndex,
  type ReadShardRange,
} from "./read_inner_chunk.ts";
import { ofShard, type ShardIndex } from "./shard_index.ts";
import type { ShardLayout } from "./shard_layout.ts";

/**
 * The place of an inner chunk: its grid coordinates in the shard and, where inner
 * chunks are shards themselves, those in the nested shard, and so on.
 */
export type InnerPath = readonly (readonly number[])[];

/** The path of a stored shard, as opposed to one nested in it. */
const WHOLE_SHARD: InnerPath = [];

/** A range of bytes in a stored shard. */
export type Extent = Extract<ByteRange, { offset: number }>;

/** Finds inner chunks in the shards of a store by their indexes, which are cached. */
export class InnerExtents {
  readonly #store: Store;
  readonly #layouts: readonly ShardLayout[];
  readonly #indexes = new IndexCache();

  /** @param layouts The layouts of the shards, of the shards nested in them, and so on. */
  constructor(store: Store, layouts: readonly ShardLayout[]) {
    this.#store = store;
    this.#layouts = layouts;
  }

  /** Forgets the index of a shard that changes. */
  forget(key: StoreKey): void {
    this.#indexes.forget(key);
  }

  /** Forgets all indexes. */
  refresh(): void {
    this.#indexes.clear();
  }

  /** Finds an inner chunk, or `undefined` for an absent one. Without a promise if the indexes are cached. */
  find(
    key: StoreKey,
    path: InnerPath,
    options: StoreOptions | undefined,
    level = 0,
    shard?: Extent,
  ): Extent | undefined | Promise<Extent | undefined> {
    const outer = level === 0 ? WHOLE_SHARD : path.slice(0, level);
    const index = this.#index(key, outer, shard, options);
    const findIn = (index: ShardIndex | undefined) => {
      const entry = index?.[placeInShard(path[level]!, this.#layouts[level]!)];
      if (entry === undefined) return undefined;
      const extent = inside(entry, shard, outer, key);
      return level + 1 === path.length
        ? extent
        : this.find(key, path, options, level + 1, extent);
    };
    return index instanceof Promise ? index.then(findIn) : findIn(index);
  }

  /** Lists the inner chunks of a shard. */
  async *list(
    key: StoreKey,
    options: StoreOptions | undefined,
    outer: InnerPath = [],
    extent?: Extent,
  ): AsyncGenerator<InnerPath> {
    const layout = this.#layouts[outer.length]!;
    const index = await this.#index(key, outer, extent, options);
    for (const [place, entry] of index?.entries() ?? []) {
      if (entry === undefined) continue;
      const path = [...outer, coordinatesInShard(place, layout)];
      if (path.length === this.#layouts.length) yield path;
      else {
        const within = inside(entry, extent, outer, key);
        yield* this.list(key, options, path, within);
      }
    }
  }

  /** The index of a stored shard or of a nested one. */
  #index(
    key: StoreKey,
    outer: InnerPath,
    extent: Extent | undefined,
    options: StoreOptions | undefined,
  ): ShardIndex | undefined | Promise<ShardIndex | undefined> {
    const layout = this.#layouts[outer.length]!;
    return this.#indexes.get(
      key,
      outer.length === 0
        ? ""
        : outer.map((coordinates) => `/${coordinates}`).join(""),
      (options) =>
        readShardIndex(this.#ranges(key, extent, options), layout, key),
      options?.signal,
    );
  }

  /** Reads ranges of a stored shard or of a nested one. */
  #ranges(
    key: StoreKey,
    extent: Extent | undefined,
    options: StoreOptions,
  ): ReadShardRange {
    return (range) => {
      if (extent === undefined) {
        return readRange(this.#store, key, range, options);
      }
      const { start, end } = resolveByteRange(range, extent.length);
      const inner = { offset: extent.offset + start, length: end - start };
      return readRange(this.#store, key, inner, options);
    };
  }
}

/** Names an inner chunk in messages. */
export function describeInner(path: InnerPath, key: StoreKey): string {
  const names = path.map((coordinates) =>
    `inner chunk ${describe(coordinates)}`
  );
  return names.reverse().join(" of ") + ofShard(key);
}

/** The extent of an index entry in the stored shard. */
function inside(
  entry: Extent,
  shard: Extent | undefined,
  outer: InnerPath,
  key: StoreKey,
): Extent {
  if (shard === undefined) return entry;
  if (entry.offset + entry.length > shard.length) {
    throw new DamageError(
      `The index of ${
        describeInner(outer, key)
      } has ${entry.length} bytes from ${entry.offset} on, where it has ${shard.length} in all`,
      { key },
    );
  }
  return { offset: shard.offset + entry.offset, length: entry.length };
}

/** The grid coordinates of an index entry: the inverse of `placeInShard`. */
function coordinatesInShard(
  place: number,
  { chunksPerShard }: ShardLayout,
): number[] {
  return chunksPerShard.toReversed().map((count) => {
    const coordinate = place % count;
    place = (place - coordinate) / count;
    return coordinate;
  }).reverse();
}
