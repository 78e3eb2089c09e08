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
 * Which inner chunk of a shard: its grid coordinates in the shard, and where that
 * is a shard itself, those in it, and so on.
 */
export type InnerPath = readonly (readonly number[])[];

/** The path of a shard that is stored, and not nested in another one. */
const WHOLE_SHARD: InnerPath = [];

/** Bytes of a shard that is stored. */
export type Extent = Extract<ByteRange, { offset: number }>;

/** Where inner chunks lie in the shards of a store, as their indexes say, which are kept. */
export class InnerExtents {
  readonly #store: Store;
  readonly #layouts: readonly ShardLayout[];
  readonly #indexes = new IndexCache();

  /** @param layouts Those of the shards, of the shards in them, and so on. */
  constructor(store: Store, layouts: readonly ShardLayout[]) {
    this.#store = store;
    this.#layouts = layouts;
  }

  /** Forgets the index of a shard, since it changes. */
  forget(key: StoreKey): void {
    this.#indexes.forget(key);
  }

  /** Forgets all indexes. */
  refresh(): void {
    this.#indexes.clear();
  }

  /** Where an inner chunk lies, or `undefined` if it is absent; at once if the indexes are cached. */
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

  /** The inner chunks that a shard has. */
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

  /** The index of a shard, or of one in it. */
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

  /** Reads ranges of the shard that is stored, or of one that lies in it. */
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

/** An inner chunk in messages. */
export function describeInner(path: InnerPath, key: StoreKey): string {
  const names = path.map((coordinates) =>
    `inner chunk ${describe(coordinates)}`
  );
  return names.reverse().join(" of ") + ofShard(key);
}

/** Where an entry of an index lies in the shard that is stored. */
function inside(
  entry: Extent,
  shard: Extent | undefined,
  outer: InnerPath,
  key: StoreKey,
): Extent {
  if (shard === undefined) return entry;
  if (entry.offset + entry.length > shard.length) {
    throw new RangeError(
      `The index of ${
        describeInner(outer, key)
      } has ${entry.length} bytes from ${entry.offset} on, where it has ${shard.length} in all`,
    );
  }
  return { offset: shard.offset + entry.offset, length: entry.length };
}

/** The coordinates of an entry of an index, the inverse of `placeInShard`. */
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
