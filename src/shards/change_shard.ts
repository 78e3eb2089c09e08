import { readValue, remove, write } from "../stores/capabilities.ts";
import type { Store, StoreKey } from "../stores/store.ts";
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
  { isWhole = false, prefix, alignment }: ChangeShardOptions = {},
): Promise<void> {
  const kept = isWhole ? undefined : await readShard(store, key, layout);
  const chunks = kept?.chunks ?? Array(chunkCount(layout)).fill(undefined);
  for (const [place, bytes] of changes) chunks[place] = bytes;
  if (chunks.some((chunk) => chunk !== undefined)) {
    const shard = encodeShard(chunks, layout, {
      prefix: prefix ?? kept?.prefix,
      alignment,
    });
    await write(store, key, shard);
  } else if (kept !== undefined) {
    await remove(store, key);
  }
}

async function readShard(
  store: Store,
  key: StoreKey,
  layout: ShardLayout,
): Promise<KeptShard | undefined> {
  const shard = await readValue(store, key);
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
