import { readRange, readValue, remove, write } from "../stores/capabilities.ts";
import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";
import { assertShardIndex } from "./assert_shard_index.ts";
import { encodeShard, type EncodeShardOptions } from "./encode_shard.ts";
import {
  chunkCount,
  decodeShardIndex,
  type ShardIndex,
  shardIndexSize,
} from "./shard_index.ts";
import type { ShardLayout } from "./shard_layout.ts";

/** Inner chunks to be stored, by their places in the index; `undefined` for those to be removed. */
export type ShardChanges = ReadonlyMap<number, Uint8Array | undefined>;

/** How a shard is changed. */
export interface ChangeShardOptions extends EncodeShardOptions {
  /** Whether nothing is kept of the shard that is there. */
  isWhole?: boolean | undefined;
  /** How many bytes before the inner chunks are kept also then. */
  headSize?: number | undefined;
  /** Aborts the change. */
  signal?: AbortSignal | undefined;
}

/** What is kept of a shard: all it holds, in views of it. */
interface KeptShard {
  readonly prefix?: Uint8Array | undefined;
  readonly chunks: (Uint8Array | undefined)[];
}

/**
 * Stores a shard with some inner chunks changed, and the others and its prefix as
 * they were. A shard without inner chunks is removed.
 */
export async function changeShard(
  store: Store,
  key: StoreKey,
  layout: ShardLayout,
  changes: ShardChanges,
  { isWhole = false, headSize = 0, prefix, alignment, signal }:
    ChangeShardOptions = {},
): Promise<void> {
  const options = signal ? { signal } : {};
  const kept = isWhole
    ? undefined
    : await readShard(store, key, layout, options);
  const chunks = kept?.chunks ?? Array(chunkCount(layout)).fill(undefined);
  for (const [place, bytes] of changes) chunks[place] = bytes;
  if (chunks.some((chunk) => chunk !== undefined)) {
    prefix ??= kept?.prefix ??
      await readHead(store, key, layout, headSize, options);
    const shard = encodeShard(chunks, layout, { prefix, alignment });
    await write(store, key, shard, options);
  } else if (kept !== undefined) {
    await remove(store, key, options);
  }
}

/** What a shard starts with; zeros where there is none. */
async function readHead(
  store: Store,
  key: StoreKey,
  { indexLocation }: ShardLayout,
  headSize: number,
  options: StoreOptions,
): Promise<Uint8Array | undefined> {
  if (headSize === 0 || indexLocation === "start") return undefined;
  const range = { offset: 0, length: headSize };
  return await readRange(store, key, range, options) ??
    new Uint8Array(headSize);
}

async function readShard(
  store: Store,
  key: StoreKey,
  layout: ShardLayout,
  options: StoreOptions,
): Promise<KeptShard | undefined> {
  const shard = await readValue(store, key, options);
  if (shard === undefined) return undefined;
  const size = shardIndexSize(layout);
  const isAtStart = layout.indexLocation === "start";
  const index = decodeShardIndex(
    isAtStart ? shard.subarray(0, size) : shard.subarray(-size),
    layout,
    key,
  );
  assertShardIndex(index, layout, shard.length, key);
  const prefixSize = firstOffset(index) ?? shard.length - size;
  return {
    prefix: isAtStart ? undefined : shard.subarray(0, prefixSize),
    chunks: index.map((entry) =>
      entry && shard.subarray(entry.offset, entry.offset + entry.length)
    ),
  };
}

/** Where the first inner chunk starts, if there is one. */
function firstOffset(index: ShardIndex): number | undefined {
  return index.reduce<number | undefined>(
    (first, entry) =>
      entry?.length ? Math.min(first ?? entry.offset, entry.offset) : first,
    undefined,
  );
}
