import { describe } from "../errors/mod.ts";
import { copyBytes, isOwn } from "../runtime/mod.ts";
import {
  type ByteRange,
  resolveByteRange,
  type StoreKey,
} from "../stores/mod.ts";
import {
  assertComplete,
  indexRange,
  placeInShard,
  readShardIndex,
  type ReadShardRange,
} from "./read_inner_chunk.ts";
import {
  assertExtents,
  decodeShardIndex,
  ofShard,
  type ShardIndex,
} from "./shard_index.ts";
import type { ShardLayout } from "./shard_layout.ts";

/**
 * The place of an inner chunk: its grid coordinates in the shard and, where inner
 * chunks are shards themselves, those in the nested shard, and so on.
 */
export type InnerPath = readonly (readonly number[])[];

/** A range of bytes in a stored shard. */
export type Extent = Extract<ByteRange, { offset: number }>;

/** Reads one stored shard. */
export interface ShardReader {
  readonly key: StoreKey;
  /** The layouts of the shard, of the shards nested in it, and so on. */
  readonly layouts: readonly ShardLayout[];
  /**
   * Gives an index, or `undefined` for an absent shard. Without a promise if the index
   * is cached.
   *
   * @param outer The path of the nested shard; empty for the stored shard.
   * @param extent The extent of the nested shard.
   */
  index(
    outer: InnerPath,
    extent: Extent | undefined,
  ): ShardIndex | undefined | Promise<ShardIndex | undefined>;
  /** Reads bytes of an inner chunk, which fill their memory: zarrita changes them in place. */
  read(extent: Extent, path: InnerPath): Promise<Uint8Array | undefined>;
  /** Rejects if the shard is not what the cached indexes say any more. */
  confirm?(): Promise<unknown> | undefined;
}

/** The path of a stored shard, as opposed to one nested in it. */
const WHOLE_SHARD: InnerPath = [];

/** Finds an inner chunk, or `undefined` for an absent one. Without a promise if the indexes are cached. */
export function findInner(
  reader: ShardReader,
  path: InnerPath,
  level = 0,
  shard?: Extent,
): Extent | undefined | Promise<Extent | undefined> {
  const outer = level === 0 ? WHOLE_SHARD : path.slice(0, level);
  const index = reader.index(outer, shard);
  const findIn = (index: ShardIndex | undefined) => {
    const entry = index?.[placeInShard(path[level]!, reader.layouts[level]!)];
    if (entry === undefined) return undefined;
    const offset = entry.offset + (shard?.offset ?? 0);
    const extent = { offset, length: entry.length };
    return level + 1 === path.length
      ? extent
      : findInner(reader, path, level + 1, extent);
  };
  return index instanceof Promise ? index.then(findIn) : findIn(index);
}

/** Reads an inner chunk, or a range of it. */
export function readInner(
  shard: ShardReader,
  path: InnerPath,
  range?: ByteRange,
): Promise<Uint8Array | undefined> {
  const found = findInner(shard, path);
  return found instanceof Promise
    ? found.then((inner) => readExtent(shard, path, inner, range))
    : readExtent(shard, path, found, range);
}

/** Reads a range of an inner chunk that was found. Not an async function, since each promise counts for small chunks. */
function readExtent(
  shard: ShardReader,
  path: InnerPath,
  inner: Extent | undefined,
  range: ByteRange | undefined,
): Promise<Uint8Array | undefined> {
  const extent = inner && range ? partOf(inner, range) : inner;
  return extent === undefined || extent.length === 0
    ? readNothing(shard, extent && new Uint8Array())
    : shard.read(extent, path);
}

/** Returns what no bytes need be read for, if the index is still that of the shard. */
async function readNothing<T>(shard: ShardReader, nothing: T): Promise<T> {
  await shard.confirm?.();
  return nothing;
}

/** Refuses bytes of an inner chunk that are not as many as its index entry says. */
export function assertInner(
  bytes: Uint8Array | undefined,
  extent: Extent,
  path: InnerPath,
  key: StoreKey,
): void {
  if (bytes?.length === extent.length) return;
  assertComplete(bytes, extent, () => describeInner(path, key), key);
}

/**
 * Reads a shard without a cache.
 *
 * @param end Where the inner chunks end, if known.
 */
export function uncachedReader(
  read: ReadShardRange,
  layouts: readonly ShardLayout[],
  key: StoreKey,
  end = Infinity,
): ShardReader {
  return {
    key,
    layouts,
    index: (outer, extent) =>
      extent === undefined
        ? readShardIndex(read, layouts[0]!, key)
        : readNestedIndex(read, layouts[outer.length]!, outer, extent, key),
    async read(extent, path) {
      const length = Math.max(0, Math.min(extent.length, end - extent.offset));
      const bytes = await read({ offset: extent.offset, length });
      assertInner(bytes, extent, path, key);
      return isOwn(bytes) ? bytes : bytes && copyBytes(bytes);
    },
  };
}

/** Reads the index of a nested shard by a function that reads ranges of the stored one. */
export async function readNestedIndex(
  read: (range: Extent) => Promise<Uint8Array | undefined>,
  layout: ShardLayout,
  outer: InnerPath,
  extent: Extent,
  key: StoreKey,
): Promise<ShardIndex | undefined> {
  const bytes = await read(partOf(extent, indexRange(layout)));
  if (bytes === undefined) return undefined;
  const index = decodeShardIndex(bytes, layout, key);
  const of = ` of ${describeInner(outer, key)}`;
  assertExtents(index, layout, extent.length, key, of);
  return index;
}

/** A range of the bytes that an extent has. */
export function partOf(extent: Extent, range: ByteRange): Extent {
  const { start, end } = resolveByteRange(range, extent.length);
  return { offset: extent.offset + start, length: end - start };
}

/** Names an inner chunk in messages. */
export function describeInner(path: InnerPath, key: StoreKey): string {
  const names = path.map((coordinates) =>
    `inner chunk ${describe(coordinates)}`
  );
  return names.reverse().join(" of ") + ofShard(key);
}

/** The grid coordinates of an index entry: the inverse of `placeInShard`. */
export function coordinatesInShard(
  place: number,
  { chunksPerShard }: ShardLayout,
): number[] {
  return chunksPerShard.toReversed().map((count) => {
    const coordinate = place % count;
    place = (place - coordinate) / count;
    return coordinate;
  }).reverse();
}
